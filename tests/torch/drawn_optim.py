"""Programs over optimizers and schedulers: steps, groups, closures, states, wrong arguments."""

from __future__ import annotations

import copy
from typing import Any

from drawn import Draw, Transcript, family

OPTIMIZERS: dict[str, dict[str, tuple[Any, ...]]] = {
    "SGD": {"momentum": (0.0, 0.9), "dampening": (0.0, 0.1), "nesterov": (False, True)},
    "Adam": {"betas": ((0.9, 0.999), (0.5, 0.8)), "amsgrad": (False, True), "eps": (1e-8, 1e-3)},
    "AdamW": {"betas": ((0.9, 0.999), (0.5, 0.8)), "amsgrad": (False, True)},
    "RMSprop": {"alpha": (0.99, 0.5), "centered": (False, True), "momentum": (0.0, 0.5)},
    "Adagrad": {"lr_decay": (0.0, 0.1), "initial_accumulator_value": (0.0, 0.5)},
    "Adadelta": {"rho": (0.9, 0.5), "eps": (1e-6, 1e-2)},
    "NAdam": {"momentum_decay": (4e-3, 0.1), "decoupled_weight_decay": (False, True)},
    "RAdam": {"betas": ((0.9, 0.999), (0.5, 0.8)), "decoupled_weight_decay": (False, True)},
    "Adamax": {"betas": ((0.9, 0.999), (0.5, 0.8))},
    "ASGD": {"lambd": (1e-4, 1e-2), "alpha": (0.75, 0.5), "t0": (1e6, 2)},
    "Rprop": {"etas": ((0.5, 1.2), (0.3, 1.5)), "step_sizes": ((1e-6, 50), (1e-3, 0.1))},
    "LBFGS": {
        "max_iter": (3, 5),
        "history_size": (2, 10),
        "line_search_fn": (None, "strong_wolfe"),
    },
}
COMMON: dict[str, tuple[Any, ...]] = {"maximize": (False, True), "foreach": (False, None)}
DECAYED = set(OPTIMIZERS) - {"Rprop", "LBFGS"}
BAD: dict[str, tuple[Any, ...]] = {
    "lr": (-1.0, "what", None),
    "momentum": (-0.5,),
    "weight_decay": (-1.0,),
    "betas": ((1.0, 0.5), (0.5, 1.5), 3),
    "eps": (-1.0,),
    "alpha": (-1.0,),
    "rho": (1.5,),
    "etas": ((2.0, 1.0),),
    "what": (1,),
    "nesterov": (True,),
    "fused": (True,),
    "momentum_decay": (-1.0,),
    "lr_decay": (-1.0,),
    "line_search_fn": ("what",),
}
SCHEDULERS: dict[str, Any] = {
    "StepLR": lambda d: ((d.count(1, 3),), d.some({"gamma": (0.1, 0.5)})),
    "MultiStepLR": lambda d: (([1, d.count(2, 4)],), d.some({"gamma": (0.1, 0.5)})),
    "ConstantLR": lambda d: ((), d.some({"factor": (0.5, 0.1, 2.0), "total_iters": (2, 3)})),
    "LinearLR": lambda d: (
        (),
        d.some(
            {"start_factor": (0.5, 0.1, 0), "end_factor": (1.0, 0.3, 2), "total_iters": (3, 2)}
        ),
    ),
    "ExponentialLR": lambda d: ((d.one(0.9, 0.5),), {}),
    "PolynomialLR": lambda d: ((), d.some({"total_iters": (3, 4), "power": (1.0, 2.0)})),
    "CosineAnnealingLR": lambda d: ((d.count(2, 4),), d.some({"eta_min": (0.0, 0.01)})),
    "CosineAnnealingWarmRestarts": lambda d: (
        (d.one(2, 3, 0),),
        d.some({"T_mult": (1, 2, 0), "eta_min": (0.01,)}),
    ),
    "OneCycleLR": lambda d: (
        (0.5,),
        {
            "total_steps": d.one(5, 3, -1),
            **d.some(
                {
                    "anneal_strategy": ("cos", "linear", "what"),
                    "three_phase": (True,),
                    "pct_start": (0.3, 1.5),
                    "cycle_momentum": (False,),
                }
            ),
        },
    ),
    "CyclicLR": lambda d: (
        (0.01, 0.1),
        {
            "cycle_momentum": d.one(False, False, True),
            **d.some(
                {
                    "step_size_up": (2, 3),
                    "mode": ("triangular", "triangular2", "exp_range", "what"),
                    "gamma": (0.9,),
                }
            ),
        },
    ),
    "ReduceLROnPlateau": lambda d: (
        (),
        d.some(
            {
                "mode": ("min", "max", "what"),
                "factor": (0.5, 1.0),
                "patience": (0, 1),
                "cooldown": (1,),
                "threshold_mode": ("rel", "abs", "x"),
            }
        ),
    ),
    "LambdaLR": lambda d: ((d.one(lambda e: 0.5**e, [lambda e: 1 / (e + 1)]),), {}),
    "MultiplicativeLR": lambda d: ((lambda e: 0.7,), {}),
}


def _groups(optimizer: Any) -> Any:
    return [
        {key: value for key, value in group.items() if key != "params"}
        | {"n": len(group["params"])}
        for group in optimizer.param_groups
    ]


def _settings(draw: Draw, name: str) -> dict[str, Any]:
    options = draw.some(OPTIMIZERS[name])
    if name != "LBFGS":
        options |= draw.some(COMMON)
        options |= (
            draw.some({"differentiable": (False,), "capturable": (False,)})
            if draw.chance(0.1) and name != "SGD" and name != "Adagrad"
            else {}
        )
    if name in DECAYED:
        options |= draw.some({"weight_decay": (0.0, 0.1)})
    if options.get("nesterov") and draw.chance(0.9):
        options |= {"momentum": 0.9, "dampening": 0.0}
    return options | draw.some({"lr": (0.05, 0.5, 0.01)})


class _Problem:
    """Parameters of several shapes and a loss of them."""

    def __init__(self, t: Any, draw: Draw) -> None:
        kind = getattr(t, draw.one("float64", "float64", "float64", "float32"))
        shapes = draw.several([(2,), (2, 3), (), (1, 2), (3,)], 2, 4)
        self.parameters = [
            t.nn.Parameter(
                t.from_numpy(draw.random.normal(size=s) * draw.numbers(*s)).to(kind)
                if s
                else t.tensor(float(draw.numbers()), dtype=kind)
            )
            for s in shapes
        ]
        self.targets = [t.from_numpy(draw.random.normal(size=(*s, 1))).to(kind) for s in shapes]
        self.unused = draw.chance(0.2)

    def loss(self) -> Any:
        parts = [
            ((p - q[..., 0]) ** 2).sum() + 0.1 * (p**4).sum()
            for p, q in zip(self.parameters, self.targets, strict=True)
        ]
        return sum(parts[self.unused :])


@family
def optimizers(t: Any, log: Transcript, draw: Draw) -> None:
    """Some steps, saved and loaded in the middle, with groups and a schedule."""
    name = draw.one(*OPTIMIZERS)
    options, problem = _settings(draw, name), _Problem(t, draw)
    log(name, options)
    parameters: Any = list(problem.parameters)
    later = None
    if name != "LBFGS":
        if draw.chance(0.3):
            parameters = [{"params": parameters[:1], "lr": 0.2}, {"params": parameters[1:]}]
        elif draw.chance(0.3):
            later = {"params": [parameters.pop()], "lr": 0.3}
        elif draw.chance(0.2):
            parameters = [(f"p{i}", p) for i, p in enumerate(parameters)]
    optimizer = log.attempt(lambda: getattr(t.optim, name)(parameters, **options), "made")
    if optimizer is None:
        return
    log(repr(optimizer), _groups(optimizer))
    schedule = None
    if draw.chance(0.6):
        kind = draw.one(*SCHEDULERS)
        arguments, settings = SCHEDULERS[kind](draw)
        log(kind, str(settings))
        schedule = log.attempt(
            lambda: getattr(t.optim.lr_scheduler, kind)(optimizer, *arguments, **settings), kind
        )
    steps, middle = draw.count(3, 6), draw.count(1, 3)
    with_closure, none = name == "LBFGS" or draw.chance(0.3), draw.one(True, False)
    for step in range(steps):

        def closure() -> Any:
            optimizer.zero_grad(set_to_none=none)
            value = problem.loss()
            value.backward()
            return value

        if with_closure:
            log.attempt(lambda: optimizer.step(closure), "step")
        else:
            log(closure())
            log.attempt(optimizer.step, "step")
        log([p.detach() for p in problem.parameters])
        if schedule is not None:
            plateau = type(schedule).__name__ == "ReduceLROnPlateau"
            log.attempt(
                lambda step=step: schedule.step(*([1.0 + step % 3] if plateau else [])), "schedule"
            )
            log([group["lr"] for group in optimizer.param_groups], schedule.get_last_lr())
        if step == middle:
            if later is not None and log.attempt(lambda: optimizer.add_param_group(later)) is None:
                log(_groups(optimizer))
            optimizer = _reloaded(t, log, optimizer, problem, name)
            schedule = None if optimizer is None else _rescheduled(log, draw, schedule, optimizer)
    _log_state(log, optimizer)


def _reloaded(t: Any, log: Transcript, optimizer: Any, problem: Any, name: str) -> Any:
    state = copy.deepcopy(optimizer.state_dict())
    log("saved", sorted(state), {str(k): v for k, v in state["state"].items()})
    groups = [{"params": list(g["params"])} for g in optimizer.param_groups]
    other = getattr(t.optim, name)(groups)
    log.attempt(lambda: other.load_state_dict(state), "loaded")
    log(_groups(other))
    return other


def _rescheduled(log: Transcript, draw: Draw, schedule: Any, optimizer: Any) -> Any:
    if schedule is None:
        return None
    schedule.optimizer = optimizer
    state = schedule.state_dict()
    log(
        {
            k: v
            for k, v in state.items()
            if not k.startswith("_") and isinstance(v, (int, float, list))
        }
    )
    schedule.load_state_dict(state)
    return schedule


def _log_state(log: Transcript, optimizer: Any) -> None:
    state = optimizer.state_dict()
    log({str(k): v for k, v in state["state"].items()})
    log([dict(g.items()) for g in state["param_groups"]])


@family
def bad_optimizers(t: Any, log: Transcript, draw: Draw) -> None:
    """Wrong arguments of optimizers and schedulers, wrong groups and states."""
    name, problem = draw.one(*OPTIMIZERS), _Problem(t, draw)
    what = draw.one(
        "option", "option", "parameters", "group", "state", "schedule", "chain", "hooks", "order"
    )
    log(name, what)
    optim, p = t.optim, problem.parameters
    cls = getattr(optim, name)
    if what == "option":
        for key in draw.several(BAD, 3, 6):
            value = draw.one(*BAD[key])
            log.attempt(lambda key=key, value=value: cls(p, **{key: value}), key)
        return
    if what == "parameters":
        for wrong in (
            p[0],
            [],
            [3],
            {},
            {"params": p},
            [p[0], p[0]],
            [p[0] * 2],
            [{"params": [p[0]]}, {"params": [p[0]]}],
            "what",
            None,
            set(p[:1]),
            [{"lr": 1}],
            [("a", p[0]), ("a", p[1])],
            [("a", p[0]), p[1]],
        ):
            log.attempt(lambda wrong=wrong: _groups(cls(wrong)), "parameters")
        return
    optimizer = cls(p[:-1])
    if what == "group":
        for wrong in (
            p[-1],
            {"params": p[0]},
            {"params": p[-1] * 2},
            {"params": {p[-1]}},
            {"lr": 1},
            {"params": [3]},
            {"params": p[-1], "lr": 0.7, "what": 3},
        ):
            log.attempt(lambda wrong=wrong: optimizer.add_param_group(wrong), "group")
        log(repr(optimizer))
    elif what == "state":
        state = optimizer.state_dict()
        for wrong in (
            {},
            {**state, "param_groups": []},
            {**state, "param_groups": [{**state["param_groups"][0], "params": [0]}] * 2},
            {
                **state,
                "param_groups": [{**state["param_groups"][0], "params": [0, 1, 2, 3, 4, 5, 6, 7]}],
            },
            3,
        ):
            log.attempt(lambda wrong=wrong: optimizer.load_state_dict(wrong), "state")
    elif what == "schedule":
        for kind in draw.several(SCHEDULERS, 2, 4):
            arguments, options = SCHEDULERS[kind](draw)
            schedulers = optim.lr_scheduler
            log.attempt(
                lambda kind=kind, a=arguments, o=options: (
                    getattr(schedulers, kind)(optimizer, *a, **o, last_epoch=3)
                    if kind != "ReduceLROnPlateau"
                    else schedulers.ReduceLROnPlateau(optimizer, *a, **o)
                ),
                kind,
            )
            log.attempt(lambda kind=kind, a=arguments: getattr(schedulers, kind)(3, *a), kind)
            log.attempt(lambda kind=kind: getattr(schedulers, kind)(optimizer), kind)
    elif what == "chain":
        _chains(t, log, draw, optimizer, problem)
    elif what == "order":
        schedule = optim.lr_scheduler.StepLR(optimizer, 1)
        schedule.step()
        schedule.step()
        log([g["lr"] for g in optimizer.param_groups])
        log.attempt(lambda: optimizer.step() if name != "LBFGS" else None)
        log.attempt(lambda: schedule.step(5))
        log([g["lr"] for g in optimizer.param_groups], schedule.last_epoch)
    else:
        _hooked(log, draw, optimizer, problem, name)


def _chains(t: Any, log: Transcript, draw: Draw, optimizer: Any, problem: Any) -> None:
    schedulers = t.optim.lr_scheduler
    kinds = draw.several(
        ["StepLR", "ExponentialLR", "ConstantLR", "LinearLR", "PolynomialLR", "CosineAnnealingLR"],
        2,
        3,
    )
    made = []
    for kind in kinds:
        arguments, options = SCHEDULERS[kind](draw)
        found = log.attempt(
            lambda kind=kind, a=arguments, o=options: getattr(schedulers, kind)(
                optimizer, *a, **o
            ),
            kind,
        )
        if found is not None:
            made.append(found)
    sequence, milestones = draw.chance(), sorted(draw.several(range(1, 5), 1, 2))
    if sequence:
        schedule = log.attempt(
            lambda: schedulers.SequentialLR(optimizer, made, milestones), "sequence"
        )
    else:
        schedule = log.attempt(lambda: schedulers.ChainedScheduler(made), "chain")
    if schedule is None:
        return
    for _ in range(6):
        problem.loss().backward()
        if type(optimizer).__name__ != "LBFGS":
            optimizer.step()
        log.attempt(schedule.step)
        log([g["lr"] for g in optimizer.param_groups], schedule.get_last_lr())
    log(sorted(schedule.state_dict()))


def _hooked(log: Transcript, draw: Draw, optimizer: Any, problem: Any, name: str) -> None:
    seen: list[Any] = []

    def before(o: Any, args: Any, kwargs: Any) -> None:
        seen.append(["before", type(o).__name__, len(args), sorted(kwargs)])

    def after(o: Any, args: Any, kwargs: Any) -> None:
        seen.append(["after", len(args)])

    handles = [optimizer.register_step_pre_hook(before), optimizer.register_step_post_hook(after)]
    if draw.chance(0.3):
        handles.append(optimizer.register_step_pre_hook(lambda o, a, k: 3))
    if draw.chance():
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("state"))
        optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1})
    if draw.chance():
        optimizer.register_load_state_dict_pre_hook(lambda o, s: seen.append(sorted(s)))
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))

    def closure() -> Any:
        optimizer.zero_grad()
        value = problem.loss()
        value.backward()
        return value

    log.attempt(lambda: optimizer.step(closure), "step")
    log.attempt(lambda: optimizer.load_state_dict(optimizer.state_dict()))
    draw.one(*handles).remove()
    log.attempt(lambda: optimizer.step(closure) if name == "LBFGS" else optimizer.step(), "step")
    log.attempt(lambda: optimizer.step(3), "wrong")
    log(seen)
