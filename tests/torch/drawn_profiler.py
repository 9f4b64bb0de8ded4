"""Programs under the profiler: which operators it lists, how often, with which shapes."""

from __future__ import annotations

from typing import Any

from drawn import Draw, Transcript, family

OPERATORS: tuple[Any, ...] = (
    lambda t, x, y: x + y,
    lambda t, x, y: x * 2,
    lambda t, x, y: x @ y,
    lambda t, x, y: x.sin(),
    lambda t, x, y: x.sum(),
    lambda t, x, y: x.mean(0),
    lambda t, x, y: x.t(),
    lambda t, x, y: x.view(-1),
    lambda t, x, y: x.reshape(4),
    lambda t, x, y: x[0],
    lambda t, x, y: t.cat([x, y]),
    lambda t, x, y: t.stack([x, y]),
    lambda t, x, y: x.relu(),
    lambda t, x, y: x.softmax(-1),
    lambda t, x, y: t.nn.functional.linear(x, y),
    lambda t, x, y: t.nn.functional.mse_loss(x, y),
    lambda t, x, y: x.exp().log(),
    lambda t, x, y: x.clone().add_(1),
    lambda t, x, y: x.pow(2),
    lambda t, x, y: x.abs().max(),
    lambda t, x, y: x.max(0),
    lambda t, x, y: t.where(x > 0, x, y),
    lambda t, x, y: x.detach(),
    lambda t, x, y: x.unsqueeze(0).expand(2, 2, 2),
    lambda t, x, y: x.permute(1, 0).contiguous(),
    lambda t, x, y: t.nn.functional.conv2d(x[None, None], y[None, None]),
    lambda t, x, y: t.nn.functional.max_pool2d(x[None], 2),
    lambda t, x, y: t.nn.functional.avg_pool2d(x[None], 2),
    lambda t, x, y: t.nn.functional.layer_norm(x, (2,)),
    lambda t, x, y: t.nn.functional.batch_norm(x, None, None, training=True),
    lambda t, x, y: t.nn.functional.dropout(x, 0.0),
    lambda t, x, y: t.nn.functional.gelu(x),
    lambda t, x, y: t.nn.functional.cross_entropy(x, t.tensor([0, 1])),
    lambda t, x, y: t.nn.functional.embedding(t.tensor([0, 1]), x),
    lambda t, x, y: x.cumsum(0),
    lambda t, x, y: x.sort(),
    lambda t, x, y: x.norm(),
    lambda t, x, y: x.var(),
    lambda t, x, y: x.chunk(2),
    lambda t, x, y: x.split(1),
    lambda t, x, y: x / y - x,
    lambda t, x, y: -x,
    lambda t, x, y: x.float().double(),
    lambda t, x, y: t.zeros(2),
    lambda t, x, y: t.ones_like(x),
    lambda t, x, y: x.item() if x.numel() == 1 else x.numel(),
    lambda t, x, y: x.masked_fill(x > 0, 0.0),
    lambda t, x, y: t.einsum("ij,jk->ik", x, y),
    lambda t, x, y: t.bmm(x[None], y[None]),
    lambda t, x, y: t.addmm(x, x, y),
    lambda t, x, y: x.index_select(0, t.tensor([0])),
    lambda t, x, y: x.gather(0, t.tensor([[0, 1]])),
    lambda t, x, y: x.clamp(0, 1),
    lambda t, x, y: t.sigmoid(x) * t.tanh(y),
    lambda t, x, y: t.nn.functional.pad(x, (1, 1)),
    lambda t, x, y: x.sqrt().nan_to_num(),
    lambda t, x, y: t.tensor([1.0, 2.0]),
    lambda t, x, y: x.flatten(),
    lambda t, x, y: t.nn.Linear(2, 3).double()(x),
    lambda t, x, y: t.nn.functional.normalize(x),
    lambda t, x, y: x.argmax(),
)


def outermost(profile: Any) -> list[Any]:
    """The events that no other event of the thread contains, in order of time."""
    events = [e for e in profile.events() if e.cpu_parent is None and _counts(e.name)]
    return sorted(events, key=lambda e: e.time_range.start)


def _counts(name: str) -> bool:
    """Whether it is of the program, not of the machinery of the passes."""
    return not name.startswith(("[memory]", "ProfilerStep*")) or name.startswith("ProfilerStep#")


@family
def profiles(t: Any, log: Transcript, draw: Draw) -> None:
    """Operators and labels under autograd's profiler and the newer one."""
    x, y = (t.from_numpy(draw.numbers(2, 2)).requires_grad_(draw.chance()) for _ in range(2))
    steps = [draw.one(*OPERATORS) for _ in range(draw.count(2, 6))]
    labels = [draw.one(None, None, "first", "second") for _ in steps]
    inner = [draw.chance(0.3) for _ in steps]
    backward, shapes = draw.chance(0.4), draw.chance(0.7)
    old = draw.chance()
    if old:
        profiler = t.autograd.profiler.profile(record_shapes=shapes)
    else:
        profiler = t.profiler.profile(
            record_shapes=shapes, activities=[t.profiler.ProfilerActivity.CPU]
        )
    label = t.autograd.profiler.record_function if draw.chance() else t.profiler.record_function
    with profiler as found:
        for step, name, nested in zip(steps, labels, inner, strict=True):
            if name is None:
                step(t, x, y)
                continue
            with label(name):
                step(t, x, y)
                if nested:
                    with label("inner"):
                        step(t, y, x)
        if backward and x.requires_grad:
            (x * y).sum().backward()
    events = outermost(found if old else found.profiler.function_events and found)
    log([e.name for e in events if not backward or "autograd" not in e.name])
    for event in events:
        if event.name in ("first", "second"):
            children = sorted(event.cpu_children, key=lambda e: e.time_range.start)
            log(event.name, [e.name for e in children])
            log([[c.name for c in e.cpu_children] for e in children if e.name == "inner"])
    if shapes:
        log([[e.name, e.input_shapes] for e in events if e.name.startswith("aten::")])
    averages = {e.key: e.count for e in found.key_averages()}
    outer = sorted({e.name for e in events})
    every = [e.name for e in found.events()]
    log(all(averages.get(name, 0) == every.count(name) for name in outer))
    log(all(e.cpu_time_total >= e.self_cpu_time_total >= 0 for e in found.key_averages()))
    log(sorted(f.key for f in found.key_averages() if "Backward" in f.key))


@family
def schedules_of_profiles(t: Any, log: Transcript, draw: Draw) -> None:
    """schedule(), the steps of a profile, and what arrives at on_trace_ready."""
    options = {"wait": draw.count(0, 2), "warmup": draw.count(0, 2), "active": draw.count(1, 2)}
    options |= draw.some({"repeat": (0, 1, 2), "skip_first": (0, 1, 2)})
    options |= draw.some({"active": (0, -1), "wait": (-1,)}) if draw.chance(0.1) else {}
    log(options)
    schedule = log.attempt(lambda: t.profiler.schedule(**options), "schedule")
    if schedule is None:
        return
    log([str(schedule(i)) for i in range(10)])
    log.attempt(lambda: schedule(-1))
    x, seen = t.ones(2, 2), []
    count, steps = draw.count(0, len(OPERATORS) - 1), draw.count(2, 7)
    operator, plain = OPERATORS[count], draw.chance(0.3)

    def ready(profile: Any) -> None:
        names = [e.key for e in profile.key_averages()]
        seen.append([profile.step_num, sorted(n for n in names if n.startswith("ProfilerStep"))])

    activities = [t.profiler.ProfilerActivity.CPU]
    with t.profiler.profile(
        activities=activities, schedule=None if plain else schedule, on_trace_ready=ready
    ) as prof:
        for _ in range(steps):
            x.sin()
            prof.step()
    log(seen, prof.step_num, str(prof.current_action))
    log.attempt(
        lambda: sorted(
            [e.name, str(e.input_shapes)]
            for e in outermost(prof)
            if e.name.startswith("aten::sin")
        )
    )
    log.attempt(
        lambda: [line.split() for line in prof.key_averages().table(row_limit=1).splitlines()[1:2]]
    )
    log.attempt(lambda: prof.key_averages().table(sort_by="what").splitlines()[:1])
    log.attempt(lambda: t.autograd.profiler.profile().key_averages(), "no profile")
    log.attempt(lambda: t.autograd.profiler.profile().table(), "no profile")
    log.attempt(lambda: t.autograd.profiler.record_function(3).__enter__(), "label")
    del operator
