"""The clock of profiles: nesting, and what is taken off for the watching."""

from hypothesis import given
from hypothesis import strategies as st

from tapegrad._look import bias
from tapegrad._look.clock import SHARE, Costs, Made, events_of
from tapegrad._profile.events import BACKWARD, FUNCTION, PROGRAM, Detail

TREES = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=4), max_leaves=20)
NANOSECONDS = st.integers(0, 10**6)
BY_KIND = st.fixed_dictionaries(dict.fromkeys((FUNCTION, BACKWARD, PROGRAM), NANOSECONDS))
COSTS = st.builds(Costs, NANOSECONDS, NANOSECONDS, BY_KIND, BY_KIND)


def records_of(tree, gaps, kinds, made):
    """Records of events that are nested as a tree, `gaps` after each other; expected parents."""
    records, parents = [], []
    clock, order = [0], [0]

    def visit(node, parent):
        mine = order[0] = order[0] + 1
        kind = kinds[mine % len(kinds)]
        clock[0] += gaps[clock[0] % len(gaps)]
        begin, number = clock[0], made.new(str(mine), -1)
        parents.append(parent)
        for child in node:
            visit(child, str(mine))
        clock[0] += gaps[clock[0] % len(gaps)]
        records.extend((kind, begin, clock[0], 1, mine, number, 0, 0, 0, 0))

    visit(tree, None)
    return records, parents


@given(TREES, st.lists(st.integers(0, 10**5), min_size=1, max_size=5), COSTS)
def test_times_are_never_taken_off_others(tree, gaps, costs):
    made = Made()
    records, parents = records_of(tree, gaps, (PROGRAM, FUNCTION, BACKWARD), made)
    exact = events_of(records, Costs(), made, [Detail()])
    found = events_of(records, costs, made, [Detail()])
    assert [event.parent and event.parent.name for event in found] == parents
    assert exact[0].total == sum(event.own for event in exact)
    by_name = dict(
        zip(
            (records[at + 5] for at in range(0, len(records), 10)),
            (records[at + 2] - records[at + 1] for at in range(0, len(records), 10)),
            strict=True,
        )
    )
    for event in exact:
        assert event.total == by_name[event.detail.number]
    parts = 2 * len(found)  # between begins and ends, each rounded down
    for before, after in zip(exact, found, strict=True):
        assert before.own // SHARE - parts <= after.own <= before.own
    assert found[0].total == sum(event.own for event in found)


def test_what_is_unseen_is_taken_off_the_event_in_which_it_was():
    made = Made()
    numbers = [made.new(name, -1) for name in ("all", "a", "b")]
    records = (
        *(FUNCTION, 1000, 3000, 1, 2, numbers[1], 0, 500, 0, 0),
        *(FUNCTION, 4000, 6000, 1, 3, numbers[2], 500, 500, 0, 0),
        *(PROGRAM, 0, 7000, 1, 1, numbers[0], 0, 600, 0, 0),
    )
    costs = Costs(within={FUNCTION: 200}, around={FUNCTION: 400})
    whole, a, b = events_of(records, costs, made, [Detail()])
    assert (a.own, b.own) == (2000 - 500 - 200, 2000 - 200)
    assert whole.own == 3 * 1000 - 100 - 4 * 200


def test_an_event_that_an_error_left_open_is_around_nothing():
    made = Made()
    numbers = [made.new(name, -1) for name in ("all", "closed", "left open", "within it")]
    records = (
        *(FUNCTION, 10, 20, 1, 2, numbers[1], 0, 0, 0, 0),
        *(FUNCTION, 40, 50, 1, 4, numbers[3], 0, 0, 0, 0),
        *(PROGRAM, 0, 70, 1, 1, numbers[0], 0, 0, 0, 0),
    )
    whole, closed, within = events_of(records, Costs(), made, [Detail()])
    assert closed.parent is within.parent is whole


def test_a_call_with_a_name_has_the_costs_of_its_name_within():
    made = Made()
    numbers = [made.new(name, -1) for name in ("all", "x[...] =", "np.sin")]
    records = (
        *(FUNCTION, 1000, 3000, 1, 2, numbers[1], 0, 0, 0, 0),
        *(FUNCTION, 4000, 6000, 1, 3, numbers[2], 0, 0, 0, 0),
        *(PROGRAM, 0, 7000, 1, 1, numbers[0], 0, 0, 0, 0),
    )
    costs = Costs(within={FUNCTION: 200, "x[...] =": 500}, around={FUNCTION: 400})
    whole, named, other = events_of(records, costs, made, [Detail()])
    assert (named.own, other.own) == (2000 - 500, 2000 - 200)
    assert whole.own == 3 * 1000 - 4 * 200


def test_what_is_taken_off_between_calls_was_seen_between_calls():
    """More is left there otherwise than it should be: a gap gives no more than it has."""
    turn = bias._turn()
    turn |= {"nothing": 0.0, "between calls": 50.0 * (3 * bias.STEPS + 1)}
    turn |= {"calls": 0.0, "calls, seen": 10.0**6, "calls, logged": 0, "calls, passed": 0}
    costs = bias._costs(turn)
    assert costs.around[FUNCTION] == 50
    assert costs.within[FUNCTION] + 50 == round(10.0**6 / (3 * bias.STEPS + 1))


def test_counts_of_what_is_unseen_are_those_of_the_program():
    """They are of one program, and the same in each turn, so that the least may be taken."""
    first, second = bias._turn(), bias._turn()
    counts = [name for name in first if name.endswith((", passed", ", logged"))]
    assert [first[name] for name in counts] == [second[name] for name in counts]
    assert first["calls, logged"] == 3 * bias.STEPS + 1
