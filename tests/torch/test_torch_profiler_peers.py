"""Profiles beside PyTorch's: names of events, counts, columns, steps."""

from __future__ import annotations

import json
import operator
import subprocess
import sys
import warnings
from collections import Counter

import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch


def both(see):
    """Observations with either library."""
    return see(torch), of_pytorch(see)


def profiled(library, call, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with library.autograd.profiler.profile(**options) as prof:
            call(library)
    return prof


def tops(prof):
    """The names of the events that no other event contains."""
    return [event.name for event in prof.function_events if event.cpu_parent is None]


def inputs(library):
    library.manual_seed(0)
    x = library.ones(4, 3)
    return x, library.full((4, 3), 0.5), library.tensor([0, 2]), x > 0.5


CALLS = """
x+y x-y x*y x/y x**2 2**x 1-x -x abs(x) x@y.T x//y x%y x==y x<y x>=y ~b b&b b|b x.add_(1)
x.mul_(1) x.sub_(0) x.div_(1) x[0] x[1:] x[:,1] x[i] x[b] x[None] x[...,1] x.sum() x.sum(0)
x.mean() x.var() x.std() x.max() x.max(0) x.min() x.argmax() x.prod() x.cumsum(0) x.norm()
x.logsumexp(0) x.amax(0) x.any() x.all() x.sort() x.topk(2) x.median() x.exp() x.log()
x.sqrt() x.sin() x.tanh() x.sigmoid() x.relu() x.clamp(0,1) x.abs() x.neg() x.reciprocal()
x.floor() x.round() x.erf() x.pow(3) x.square() x.rsqrt() x.softmax(0) x.log_softmax(0) t.relu(x)
t.where(b,x,y) x.lerp(y,0.5) t.maximum(x,y) x.isnan() x.isfinite() x.view(3,4) x.reshape(12)
x.t() x.T x.mT x.transpose(0,1) x.permute(1,0) x.unsqueeze(0) x.squeeze() x.expand(4,3)
x.flatten() x.repeat(2,1) t.cat([x,y]) t.stack([x,y]) x.split(2) x.chunk(2) x.narrow(0,0,1)
x.flip(0) x.roll(1) x.tril() x.diag() x.contiguous() x.t().contiguous() x.clone() x.detach()
x.unbind() x.select(0,0) x.index_select(0,i) x.masked_fill(b,0) x.masked_select(b) x.nonzero()
x.double() x.to(t.float64) x.long() x.type(t.float64) x.half() t.zeros(2) t.ones(2) t.randn(2)
t.rand(2) t.arange(3) t.full((2,),1.) t.eye(2) t.linspace(0,1,3) t.zeros_like(x) t.ones_like(x)
t.empty(2) t.randint(0,3,(2,)) t.randperm(3) t.mm(x,y.t()) t.addmm(x,x,t.eye(3)) t.matmul(x,x[0])
t.einsum('ij,kj->ik',x,y) t.linalg.det(t.eye(2)) t.linalg.inv(t.eye(2)) t.linalg.norm(x)
t.linalg.svd(x) t.fft.fft(x) t.fft.fftfreq(4) t.fft.irfft2(x)
t.det(t.eye(2)) t.cdist(x,y) F.relu(x) F.sigmoid(x) F.softmax(x,1) F.gelu(x)
F.log_softmax(x,1) F.elu(x) F.leaky_relu(x) F.silu(x) F.softplus(x) F.linear(x,y) F.mish(x)
F.dropout(x) F.dropout(x,training=False) F.pad(x,(1,1)) F.avg_pool2d(x[None],2) F.one_hot(i)
F.cosine_similarity(x,y) F.hardtanh(x) F.relu6(x) F.hardswish(x) F.kl_div(x,y) F.logsigmoid(x)
F.binary_cross_entropy(y,y) F.binary_cross_entropy_with_logits(x,y) x.fill_(0.5) x.zero_()
x.copy_(y) x.normal_() x.uniform_() t.allclose(x,y) t.equal(x,y) x.isclose(y) x.bernoulli()
t.multinomial(x,2) x.argsort() x.kthvalue(1) x.tile(2) t.tensordot(x,y,2) x.triu() x.lgamma()
x.nan_to_num() x.fmod(2.) x.remainder(2.) x.atan2(y) float(x[0,0].sum()) bool(x.sum()>1)
""".split()


def test_operations_make_events_of_pytorchs_names():
    """One profile of all calls, apart by ranges."""

    def run(library):
        scope = {"t": library, "F": library.nn.functional}
        for call in CALLS:
            x, y, i, b = inputs(library)
            scope |= {"x": x, "y": y, "i": i, "b": b}
            with library.autograd.profiler.record_function(call):
                eval(call, scope)

    found = both(
        lambda library: {
            event.name: [child.name for child in event.cpu_children]
            for event in profiled(library, run).function_events
            if event.name in CALLS
        }
    )
    differing = {call for call in CALLS if found[0][call] != found[1][call]}
    assert {call: (found[0][call], found[1][call]) for call in differing - ALLOWED} == {}


# Two events of PyTorch's are one of ours.
ALLOWED = {"float(x[0,0].sum())"}


def train(library):
    library.manual_seed(0)
    nn = library.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = library.optim.SGD(net.parameters(), lr=0.1)
    x = library.ones(5, 3)
    with library.autograd.profiler.record_function("training"):
        for _ in range(3):
            optimizer.zero_grad()
            (net(x) ** 2).mean().backward()
            optimizer.step()


def test_training_has_pytorchs_events_and_counts():
    found, wanted = both(
        lambda library: Counter(map(path_of, profiled(library, train).function_events))
    )
    assert found == Counter({path: count for path, count in wanted.items() if path in found})
    # The transposed weight is no call of ours, and what a node or a step computes is its own time.
    rest = {path for path in wanted if path not in found and "TBackward0" not in path[-1]}
    own = ("Backward0", "AccumulateGrad", "SGD.step", "aten::", "detach")
    assert {path for path in rest if not any(word in path[-2] for word in own)} <= {
        ("", "aten::detach"),
        ("", "aten::empty"),
    }


def path_of(event):
    """The names of the calls within which an event was made, and its own."""
    parent = event.cpu_parent
    return (*(("",) if parent is None else path_of(parent)), event.name)


def titles(table):
    lines = table.splitlines()
    rule = next(place for place, line in enumerate(lines) if line.startswith("-"))
    found, at = [], 0
    for dashes in lines[rule].split("  ")[:-1]:
        found.append((lines[rule + 1][at : at + len(dashes)].strip(), len(dashes)))
        at += len(dashes) + 2
    return found


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({}, {}),
        ({"profile_memory": True}, {}),
        ({"record_shapes": True}, {"group_by_input_shape": True}),
        ({"record_shapes": True, "profile_memory": True}, {"group_by_input_shape": True}),
    ],
)
def test_tables_have_pytorchs_columns(options, groups):
    def run(library):
        library.ones(2, 3)

    for show in (
        lambda p: p.key_averages(**groups).table(),
        lambda p: p.key_averages(**groups).table(sort_by="cpu_time_total", header="HEAD"),
        lambda p: p.key_averages(**groups).table(max_name_column_width=9, row_limit=1),
    ):
        mine, theirs = both(lambda lib, show=show: titles(show(profiled(lib, run, **options))))
        assert [title for title, _ in mine] == [title for title, _ in theirs]
        widths = [width for title, width in mine if title not in ("Name", "Input Shapes")]
        assert widths == [w for title, w in theirs if title not in ("Name", "Input Shapes")]


def test_shapes_are_pytorchs():
    def run(library):
        x = library.ones(4, 3)
        library.nn.functional.linear(x, x, None)
        x.mm(x.t())

    def shapes(library):
        events = profiled(library, run, record_shapes=True).function_events
        found = {event.name: event.input_shapes for event in events}
        return [found[name] for name in ("aten::linear", "aten::mm", "aten::t")]

    mine, theirs = both(shapes)
    assert mine == theirs


@pytest.mark.parametrize(
    "numbers",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
        {"wait": 0, "warmup": 1, "active": 2, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
    ],
)
def test_schedules_are_pytorchs(numbers):
    def actions(library):
        schedule = library.profiler.schedule(**numbers)
        return [schedule(n).name for n in range(20)]

    mine, theirs = both(actions)
    assert mine == theirs


STEPS = """
import json, sys, warnings
warnings.simplefilter("ignore")
if sys.argv[1] == "tapegrad":
    import tapegrad.torch as torch
else:
    import torch
found = []
def ready(prof):
    names = [event.name for event in prof.events()]
    steps = [name for name in names if name.startswith("ProfilerStep")]
    found.append([names.count("aten::add"), len(steps)])
for count in (1, 3, 5, 8, 9):
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready
    ) as prof:
        for _ in range(count):
            torch.ones(2).add(1)
            prof.step()
    found.append(prof.step_num)
print(json.dumps(found))
"""


def test_steps_give_pytorchs_traces():
    def seen(library):
        program = [sys.executable, "-c", STEPS, "tapegrad" if library is torch else "torch"]
        run = subprocess.run(program, capture_output=True, text=True, check=True)
        return json.loads(run.stdout.splitlines()[-1])

    mine, theirs = both(seen)
    assert mine == theirs


def test_pytorchs_names_are_there():
    for path in ("autograd.profiler", "autograd.profiler_util"):
        assert missing(path) <= {"EventMetadata"}
    assert missing("profiler") <= {"DeviceType", "ExecutionTraceObserver"}


def missing(path):
    at = operator.attrgetter(path)
    names = of_pytorch(lambda pytorch: list(at(pytorch).__all__))
    return {name for name in names if not hasattr(at(torch), name)}
