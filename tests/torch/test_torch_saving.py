"""torch.save and torch.load: round trips, what is refused, and files that PyTorch wrote."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import sys
import time
import tracemalloc
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128,
]  # fmt: skip


def again(value: Any) -> Any:
    held = io.BytesIO()
    torch.save(value, held)
    held.seek(0)
    return torch.load(held)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
def test_tensors_come_back(dtype: Any, shape: tuple[int, ...]) -> None:
    x = torch.testing.make_tensor(shape, dtype=dtype)
    found = again(x)
    torch.testing.assert_close(found, x, rtol=0, atol=0)
    assert type(found) is torch.Tensor
    found.zero_()  # its memory can be written to


PLAIN = [
    None, True, 3, 2.5, float("inf"), 1 - 2j, "é\n", b"\x00\xff", bytearray(b"\x00\xff"),
    [1, [2]], (1, (2, 3)), {1, 2},
    {"a": 1, 2: "b", (1, "c"): None, None: 2.0}, OrderedDict(b=1, a=2), Counter("hello"),
    torch.Size([2, 3]), torch.float16, torch.device("cpu"), 2**80, {"list": [1]}, {"tensor": 0},
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_and_containers_come_back(value: Any) -> None:
    found = again({"inner": value})["inner"]
    assert found == value
    assert type(found) is type(value)
    if isinstance(value, dict):
        assert list(found) == list(value)


def test_parameters_gradients_and_identity() -> None:
    w = nn.Parameter(torch.ones(2))
    x = torch.ones(3, requires_grad=True)
    found = again([w, w, x, nn.Parameter(torch.zeros(1), requires_grad=False)])
    assert found[0] is found[1]
    assert type(found[0]) is nn.Parameter
    assert [v.requires_grad for v in found] == [True, True, True, False]
    assert again(x * 2).is_leaf


def test_shared_memory_is_shared_again() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    whole, row, turned, piece = again((x, x[1], x.T, x[1:, ::2]))
    torch.testing.assert_close(turned, x.T)
    torch.testing.assert_close(piece, x[1:, ::2])
    whole[1, 2] = -1.0
    assert row[2].item() == turned[2, 1].item() == piece[0, 1].item() == -1
    held = io.BytesIO()
    torch.save(torch.zeros(10000)[:2], held)  # as in PyTorch, a view takes all memory along
    assert 40_000 < len(held.getvalue()) < 42_000


def test_memory_in_any_order_comes_back() -> None:
    base = torch.arange(48.0).reshape(2, 3, 4, 2)
    last = base.contiguous(memory_format=torch.channels_last)
    c = torch.arange(4.0) + 1j
    tensors = [last, last[:, 1], base.permute(3, 1, 0, 2), c.real, c.imag, base[:, :, ::2]]
    tensors += [torch.from_numpy(np.arange(6.0)[::2]), torch.zeros(1).expand(3, 4)]
    for found, x in zip(again(tensors), tensors, strict=True):
        torch.testing.assert_close(found, x, rtol=0, atol=0)
    assert again(last).stride() == last.stride()


def test_training_goes_on_from_a_file(tmp_path: Any) -> None:
    def made() -> tuple[Any, Any, Any]:
        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
        return net, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)

    def trained(net: Any, optimizer: Any, scheduler: Any) -> list[float]:
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = (net(torch.ones(5, 2)) - 3).pow(2).mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return losses

    parts, others = made(), made()
    trained(*parts)
    path = tmp_path / "checkpoint.pt"
    torch.save([part.state_dict() for part in parts], path)
    for part, state in zip(others, torch.load(path, weights_only=True), strict=True):
        part.load_state_dict(state)
    assert trained(*parts) == trained(*others)


class Anything:
    pass


@pytest.mark.parametrize("value", [lambda x: x, nn.Sequential(), (x for x in ())])
def test_what_has_no_name_is_not_saved(value: Any) -> None:
    if isinstance(value, nn.Module):
        value.activation = lambda x: x
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match="pickle"):
        torch.save(value, io.BytesIO())


def test_files_of_no_known_format(tmp_path: Any) -> None:
    held = io.BytesIO(pickle.dumps({"a": 1}))
    with pytest.raises(pickle.UnpicklingError, match="expected a zip file"):
        torch.load(held)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(pickle.UnpicklingError, match=r"data\.pkl"):
        torch.load(io.BytesIO(other.getvalue()))
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "absent.pt")
    with pytest.raises(AttributeError, match="read"):
        torch.load(3)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes by a path")
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Any) -> None:
    os.mkfifo(tmp_path / "pipe.pt")
    with pytest.raises(OSError, match="expected a regular file, got a named pipe"):
        torch.load(tmp_path / "pipe.pt")
    with pytest.raises(OSError, match="expected a regular file, got a device"):
        torch.load("/dev/zero")
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)
    torch.save([1], tmp_path / "epoch-3.pt")
    (tmp_path / "last.pt").symlink_to(tmp_path / "epoch-3.pt")
    assert torch.load(tmp_path / "last.pt") == [1]


@pytest.mark.parametrize("seed", range(30))
def test_damaged_files_are_refused_or_read(seed: int) -> None:
    """Any byte may have changed: no other exception comes, and nothing is read out of bounds."""
    draw = np.random.default_rng(seed)
    held = io.BytesIO()
    torch.save({"a": torch.arange(6.0), "b": [1, (2.5, "c")]}, held)
    data = bytearray(as_pytorch({"a": [1, "b", {2}]}).getvalue() if seed % 2 else held.getvalue())
    for place in draw.integers(len(data), size=3):
        data[place] = draw.integers(256)
    with contextlib.suppress(pickle.UnpicklingError):
        torch.load(io.BytesIO(data))


def as_pytorch(value: Any) -> io.BytesIO:
    """A zip file as PyTorch writes it, around any pickle."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, protocol=2))
    held.seek(0)
    return held


class Evil:
    """Runs a command where it is unpickled."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("weights_only", [True, None])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (Evil(os.system, "touch evil"), "unsupported GLOBAL (posix|nt).system whose module"),
        (Evil(sys.exit), r"unsupported GLOBAL sys\.exit whose module"),
        (Evil(eval, "1"), "Unsupported global: GLOBAL eval was"),
        (Evil(getattr, 1, "real"), "Unsupported global: GLOBAL getattr was"),
        (Anything(), r"Unsupported global: GLOBAL .*\.Anything was"),
        (np.float64(1.0), "Unsupported global: GLOBAL numpy"),
    ],
)
def test_nothing_of_a_file_is_executed(call: Any, name: str, weights_only: bool | None) -> None:
    held = as_pytorch({"weights": [call]})
    with pytest.raises(pickle.UnpicklingError, match=name):
        torch.load(held, weights_only=weights_only)


def test_a_file_that_is_trusted_is_unpickled() -> None:
    assert torch.load(as_pytorch([Evil(getattr, 1, "real")]), weights_only=False) == [1]
    held = saved(torch.zeros(1).expand(10**8))
    with pytest.raises(pickle.UnpicklingError, match="max_bytes="):
        torch.load(held)
    held.seek(0)
    assert torch.load(held, weights_only=False).shape == (10**8,)
    held.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="max_bytes="):
        torch.load(held, weights_only=False, max_bytes=1000)


# --- Whole modules ------------------------------------------------------------------------------


def saved(value: Any, **options: Any) -> io.BytesIO:
    held = io.BytesIO()
    torch.save(value, held, **options)
    held.seek(0)
    return held


class Small(nn.Module):
    """A user's module, with a hook and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList([nn.Linear(2, 3), nn.LSTM(3, 2)])
        self.register_buffer("scale", torch.full((2,), 2.0))
        self.act = torch.nn.functional.gelu
        self.register_forward_hook(doubled)

    def forward(self, x: Any) -> Any:
        return self.act(self.inner[1](self.inner[0](x))[0]) * self.scale


def doubled(module: Any, args: Any, output: Any) -> Any:
    return output * 2


@pytest.mark.parametrize("pickle_protocol", [2, 4])
def test_a_module_is_rebuilt_of_the_classes_that_are_named(pickle_protocol: int) -> None:
    model, x = Small(), torch.ones(4, 1, 2)
    held = saved(model, pickle_protocol=pickle_protocol)
    names = torch.serialization.get_unsafe_globals_in_checkpoint(held)
    here = [f"{__name__}.Small", f"{__name__}.doubled"]
    assert names == sorted(
        [
            *here,
            "torch.nn.modules.container.ModuleList",
            "torch.nn.modules.linear.Linear",
            "torch.nn.modules.rnn.LSTM",
            "torch.nn.functional.gelu",
        ]
    )
    classes = [Small, nn.ModuleList, nn.Linear, nn.LSTM, doubled]
    held.seek(0)
    with torch.serialization.safe_globals(classes):
        assert torch.serialization.get_safe_globals() == classes
        with pytest.raises(
            pickle.UnpicklingError,
            match=r"`torch\.serialization\.safe_globals\(\[torch\.nn\.functional\.gelu\]\)`",
        ):
            torch.load(held)
        torch.serialization.add_safe_globals([(model.act, "torch.nn.functional.gelu")])
        held.seek(0)
        found = torch.load(held)
    assert torch.serialization.get_safe_globals() == []
    held.seek(0)
    for each in (found, torch.load(held, weights_only=False)):
        assert repr(each) == repr(model)
        torch.testing.assert_close(each(x), model(x), rtol=0, atol=0)
        each(x).sum().backward()


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ([1], TypeError, "expected classes and functions"),
        ([(len,)], ValueError, "tuple of length 2"),
        ([(1, "a")], TypeError, "of form"),
    ],
)
def test_what_cannot_be_named(given: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        torch.serialization.add_safe_globals(given)
    with pytest.raises(ValueError, match=r"checkpoint returned by torch\.save"):
        torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"a"))


def test_a_class_that_is_named_is_made_without_its_init() -> None:
    value = Anything()
    value.part = torch.ones(2)  # type: ignore[attr-defined]
    torch.serialization.add_safe_globals([Anything])
    try:
        found = again([value, value])
    finally:
        torch.serialization.clear_safe_globals()
    assert found[0] is found[1]
    assert found[0].part.tolist() == [1.0, 1.0]
    deep = b"]" * 501 + b"a" * 500
    code = named(f"{__name__} Anything") + b")\x81}" + text("part") + deep + b"sb."
    with (
        torch.serialization.safe_globals([Anything]),
        pytest.raises(pickle.UnpicklingError, match="up to 500 deep"),
    ):
        torch.load(as_pytorch_bytes(code))


class Marked(torch.Tensor):
    """A user's class of tensors."""


def test_tensors_of_classes_and_with_attributes() -> None:
    x = torch.ones(2).as_subclass(Marked)
    x.note = [1, "a"]
    w = nn.Parameter(torch.zeros(2), requires_grad=False)
    w.note = {"b": 2}
    lazy = nn.UninitializedParameter()
    held = saved([x, w, torch.empty(2, 3, device="meta"), lazy])
    with torch.serialization.safe_globals([Marked, nn.UninitializedParameter]):
        mine, parameter, meta, other = torch.load(held)
    assert type(mine) is Marked
    assert mine.note == x.note
    assert parameter.note == w.note
    assert (meta.shape, meta.device.type) == ((2, 3), "meta")
    assert type(other) is nn.UninitializedParameter
    held = io.BytesIO(held.getvalue().replace(b"note", b"node"))
    with (
        torch.serialization.safe_globals([Marked, nn.UninitializedParameter]),
        pytest.raises(pickle.UnpicklingError, match=r"damaged|attribute"),
    ):
        torch.load(held)


LAYERS: dict[str, Any] = {
    "Linear": lambda t: (t.nn.Linear(3, 2), (4, 3)),
    "Conv2d": lambda t: (t.nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"), (1, 2, 5, 5)),
    "BatchNorm2d": lambda t: (t.nn.BatchNorm2d(2, affine=False), (3, 2, 2, 2)),
    "LSTM": lambda t: (t.nn.LSTM(3, 2, bidirectional=True, proj_size=1), (4, 2, 3)),
    "GRUCell": lambda t: (t.nn.GRUCell(3, 2), (4, 3)),
    "encoder": lambda t: (t.nn.TransformerEncoderLayer(4, 2, 8, activation="gelu"), (3, 1, 4)),
    "decoder": lambda t: (t.nn.TransformerDecoder(
        t.nn.TransformerDecoderLayer(4, 2, 8), 1), (3, 1, 4), (2, 1, 4)),
    "nested": lambda t: (t.nn.Sequential(OrderedDict(
        a=t.nn.ModuleList([t.nn.PReLU()])[0], b=t.nn.LayerNorm(3), c=t.nn.Dropout(0.5))), (2, 3)),
    "loss": lambda t: (t.nn.HuberLoss(), (2, 3), (2, 3)),
    "lazy": lambda t: (t.nn.LazyLinear(3), (2, 3)),
    "optimizer": lambda t: (t.optim.AdamW(t.nn.Linear(2, 1).parameters(), lr=0.5),),
}  # fmt: skip


def called(t: Any, layer: Any, shapes: Any) -> Any:
    """A layer's outputs in evaluation; of an optimizer its settings."""
    if not shapes:
        return [np.array([layer.param_groups[0]["lr"], layer.param_groups[0]["weight_decay"]])]
    draw = np.random.default_rng(0)
    inputs = [t.from_numpy(draw.normal(size=shape).astype("f4")) for shape in shapes]
    if "Lazy" in repr(layer):
        for each in layer.parameters():
            each.materialize((3, 3)[: 1 + (each is layer.weight)])
            t.nn.init.constant_(each, 0.5)
    out = layer.eval()(*inputs)
    flat = [out] if hasattr(out, "detach") else [x for x in out if hasattr(x, "detach")]
    return [x.detach().numpy() for x in flat]


@pytest.mark.parametrize("name", LAYERS)
def test_modules_cross_from_pytorch(name: str) -> None:
    def seen(t: Any) -> Any:
        layer, *shapes = LAYERS[name](t)
        return saved_by(t, layer), repr(layer), called(t, layer, shapes)

    data, shown, theirs = of_pytorch(seen, asked=name)
    found = torch.load(io.BytesIO(data), weights_only=False)
    assert repr(found) == shown
    for x, y in zip(called(torch, found, LAYERS[name](torch)[1:]), theirs, strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_modules_cross_to_pytorch(name: str) -> None:
    torch.manual_seed(0)
    layer, *shapes = LAYERS[name](torch)
    held = saved(layer)
    names = torch.serialization.get_unsafe_globals_in_checkpoint(held)
    assert all(each.startswith(("torch.", "builtins.", "collections.")) for each in names)

    def seen(t: Any) -> Any:
        found = t.load(io.BytesIO(held.getvalue()), weights_only=False)
        return repr(found), called(t, found, shapes)

    shown, theirs = of_pytorch(seen, asked=f"{name} {names}")
    assert repr(layer) == shown
    for x, y in zip(called(torch, layer, shapes), theirs, strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-6)


def test_a_pickle_of_plain_values_is_read_without_pytorch() -> None:
    value = {
        "a": [1, 2.5, None, True, "é", (1, 2, 3, 4), {5}, 2**70, b"ab", bytearray(b"ab")],
        "b": OrderedDict(c=1),
    }
    found = torch.load(as_pytorch(value))
    assert found == value
    assert list(map(type, found["a"])) == list(map(type, value["a"]))
    loop: list[Any] = []
    loop.append(loop)
    found = torch.load(as_pytorch(loop))
    assert found[0] is found


def test_attributes_are_refused() -> None:
    evil = OrderedDict(a=1)
    evil.other = 1  # type: ignore[attr-defined]
    with pytest.raises(pickle.UnpicklingError, match="OrderedDict with attributes"):
        torch.load(as_pytorch(evil))


def test_safetensors_need_their_package(tmp_path: Any) -> None:
    path = tmp_path / "model.safetensors"
    state = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor(2)}
    try:
        import safetensors  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install safetensors"):
            torch.save(state, path)
        return
    torch.save(state, path)
    found = torch.load(path)
    for name, value in state.items():
        torch.testing.assert_close(found[name], value)
    with pytest.raises(TypeError, match="dict of tensors by their names"):
        torch.save([1], path)


# --- Files of PyTorch ---------------------------------------------------------------------------


def saved_by(t: Any, value: Any) -> bytes:
    held = io.BytesIO()
    t.save(value, held)
    return held.getvalue()


def test_a_model_of_pytorch_is_read_and_gives_the_same() -> None:
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)

    def trained(t: Any) -> Any:
        net = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 3))
        optimizer = t.optim.Adam(net.parameters())
        net(t.ones(2, 4)).sum().backward()
        optimizer.step()
        states = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
        return saved_by(t, states), saved_by(t, net), net(t.from_numpy(x)).detach().numpy()

    states, net, theirs = of_pytorch(trained)
    found = torch.load(io.BytesIO(states))
    mine = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    mine.load_state_dict(found["model"])
    ours = mine(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)
    other = torch.optim.Adam(mine.parameters())
    other.load_state_dict(found["optimizer"])
    assert found["epoch"] == 3
    assert other.state_dict()["state"][0]["step"].item() == 1
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL torch\.nn\.modules"):
        torch.load(io.BytesIO(net))
    with torch.serialization.safe_globals([nn.Sequential, nn.Linear, nn.ReLU]):
        whole = torch.load(io.BytesIO(net))
    np.testing.assert_allclose(whole(torch.from_numpy(x)).detach().numpy(), theirs, 1e-5, 1e-6)


@pytest.mark.parametrize("dtype", [str(dtype).removeprefix("torch.") for dtype in DTYPES])
def test_tensors_of_pytorch_are_read(dtype: str) -> None:
    plain = [1, 2.5, None, True, "a", b"b", {1}, 1j, (2, 3)]

    def saved(t: Any) -> Any:
        base = (t.arange(12) % 5 - 2).abs().reshape(3, 4).to(getattr(t, dtype))
        tensors = {
            "whole": base, "turned": base.T, "cut": base[1:, ::2], "empty": base[:0],
            "scalar": base[0, 0],
            "parameter": t.nn.Parameter(base.clone(), requires_grad=False),
        }  # fmt: skip
        others = {"size": base.shape, "dtype": base.dtype, "device": base.device, "plain": plain}
        shown = {name: (x.numpy().copy(), x.stride()) for name, x in tensors.items()}
        return saved_by(t, {**tensors, **others}), shown

    file, tensors = of_pytorch(saved)
    found = torch.load(io.BytesIO(file))
    for name, (values, strides) in tensors.items():
        np.testing.assert_array_equal(found[name].numpy(), values)
        assert str(found[name].dtype) == f"torch.{dtype}"
        assert found[name].stride() == strides
    assert found["plain"] == plain
    assert (found["size"], str(found["dtype"])) == (torch.Size([3, 4]), f"torch.{dtype}")
    found["whole"][1, 0] = 0
    assert found["turned"][0, 1].item() == 0
    assert type(found["parameter"]) is nn.Parameter


def test_conjugates_of_pytorch_are_read() -> None:
    """PyTorch marks them in the file, and writes the numbers as they lie."""

    def saved(t: Any) -> Any:
        z = t.tensor([1 + 2j, 3 - 1j])
        values = [z.conj(), z.clone().conj().imag, t.tensor([1, 2], dtype=t.uint16)]
        return saved_by(t, values), [value.resolve_neg().tolist() for value in values]

    file, values = of_pytorch(saved)
    assert [x.tolist() for x in torch.load(io.BytesIO(file))] == values


def test_other_devices_need_a_map() -> None:
    data = of_pytorch(lambda t: saved_by(t, t.ones(2)))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("data.pkl"):
                content = content.replace(b"\x03\x00\x00\x00cpu", b"\x06\x00\x00\x00cuda:0")
            new.writestr(name, content)
    where: Any
    for where in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, _: storage):
        loaded = torch.load(io.BytesIO(out.getvalue()), map_location=where)
        assert loaded.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(io.BytesIO(out.getvalue()))


# --- Files that ask for memory beyond theirs, or for more than they are worth --------------------


def number(n: int) -> bytes:
    return pickle.dumps(n, 2)[2:-1]


def file_of(array: Any, offset: int, shape: Any, strides: Any, dtype: str = "") -> io.BytesIO:
    """A file of one storage, and of one tensor of any geometry in it; dtype: of its elements."""
    kind = {"f4": "Float", "f8": "Double", "i2": "Short", "c16": "ComplexDouble", "?": "Bool"}
    of_storage = named(f"torch {kind[array.dtype.str.lstrip('<|').replace('b1', '?')]}Storage")
    if dtype:
        of_storage = named("torch.storage UntypedStorage")
    version, last = ("3", named(f"torch {dtype}")) if dtype else ("2", b"")
    code = named(f"torch._utils _rebuild_tensor_v{version}") + b"((" + text("storage") + of_storage
    code += text("0") + text("cpu") + number(array.nbytes if dtype else array.size) + b"tQ"
    code += number(offset)
    for sizes in (shape, strides):
        code += b"(" + b"".join(map(number, sizes)) + b"t"
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive/data.pkl", code + b"\x89N" + last + b"tR.")
        archive.writestr("archive/data/0", array.tobytes())
    held.seek(0)
    return held


def stays_inside(seed: int) -> bool:
    """Whether a view of drawn geometry is refused, or lies in the array of its file."""
    draw = np.random.default_rng(seed)
    array = np.arange(24).astype(draw.choice(["f4", "f8", "i2", "c16", "?"]))
    many = draw.integers(0, 4)
    numbers = np.array([-(2**62), -1, 0, 1, 2, 3, 7, 24, 199, 2**31, 2**62])
    shape = draw.choice(numbers, many, p=None).tolist()
    shape = [n if draw.random() < 0.2 else int(draw.integers(0, 6)) for n in shape]
    strides = [
        int(draw.choice(numbers)) if draw.random() < 0.2 else int(draw.integers(0, 6))
        for _ in range(many + (draw.random() < 0.05))
    ]
    offset = int(draw.choice(numbers)) if draw.random() < 0.2 else int(draw.integers(0, 26))
    dtype = draw.choice(["float64", "bfloat16", "int8", "complex64"]) * (draw.random() < 0.2)
    try:
        found = torch.load(file_of(array, offset, shape, strides, str(dtype)))
    except pickle.UnpicklingError:
        return True
    value = found.detach()._value
    low, high = np.lib.array_utils.byte_bounds(value)
    memory = value
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    first, last = np.lib.array_utils.byte_bounds(memory)
    return value.size == 0 or first <= low <= high <= last and memory.nbytes == array.nbytes


def test_a_tensor_lies_in_the_array_of_its_file() -> None:
    held = file_of(np.ones(24), 1, [24], [1])
    with pytest.raises(pickle.UnpicklingError, match="outside of its storage"):
        torch.load(held)
    assert torch.load(file_of(np.ones(24), 1, [23], [1])).sum() == 23
    assert all(map(stays_inside, range(500)))


@pytest.mark.slow
def test_tensors_of_many_files_lie_in_their_arrays() -> None:
    assert all(map(stays_inside, range(500, 20_000)))


def bomb(name: str) -> io.BytesIO:
    """A small file that stands for something large."""
    held = io.BytesIO()
    if name == "bytearray":
        return as_pytorch_bytes(
            b"\x80\x02c__builtin__\nbytearray\n\x8a\x05\x00\x00\x00\x00\x01\x85R."
        )
    if name == "hash":  # a key that holds a tuple twice, which holds one twice, ...
        return as_pytorch_bytes(b"\x80\x02}K\x01" + b"q\x00h\x00\x86" * 40 + b"Nsq\x00.")
    if name == "deep":
        return as_pytorch_bytes(b"\x80\x02" + b"]" * 20_000 + b"a" * 19_999 + b".")
    parts = {"archive/data.pkl": pickle.dumps(1, 2), "archive/data/0": bytes(10**8)}
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    held.seek(0)
    return held


def as_pytorch_bytes(code: bytes) -> io.BytesIO:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive/data.pkl", code)
    held.seek(0)
    return held


def text(word: str) -> bytes:
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def named(name: str) -> bytes:
    return f"c{name}\n".replace(" ", "\n").encode()


def storage(key: bytes) -> bytes:
    """A reference to a storage of floats; key: the code that makes its name."""
    return b"(" + text("storage") + named("torch FloatStorage") + key + text("cpu") + b"K\x04tQ"


DOUBLED = b")" + b"q\0h\0\x86" * 40  # a tuple that holds one twice, which holds one twice, ...
LONG = b"\x8b" + struct.pack("<I", 400_000) + b"\x7f" * 400_000
VIEW = named("torch._utils _rebuild_tensor_v2") + b"(" + storage(text("0"))
HOSTILE = {
    "a key of a storage": storage(DOUBLED) + b".",
    "a key of a storage, nested": storage(b")" + b"\x85" * 100_000) + b".",
    "the name of a global": DOUBLED + text("x") + b"\x93.",
    "a function": DOUBLED + b")R.",
    "an encoding": named("_codecs encode") + text("a") + DOUBLED + b"\x86R.",
    "a device": b"}" + named("torch device") + text("cpu") + DOUBLED + b"\x86RNs.",
    "many instructions": b"(" + b"]" * 900_000 + b"l.",
    "copies": named("_codecs encode") + b"q\1(" + text("a" * 300_000) + text("latin1")
    + b"tq\0](" + b"h\1h\0R" * 1500 + b"e.",
    "digits": named("builtins complex") + text("9" * 900_000) + b"\x85R.",
    "sizes": VIEW + b"K\0(" + LONG + b"q\7" + b"h\7" * 20 + b"t(" + b"h\7" * 21 + b"t\x89NtR.",
    "pairs of a tensor": named("collections OrderedDict") + VIEW
    + b"K\0(J@\x0d\3\0K\2t(K\0K\0t\x89NtR\x85R.",
    "keys": b"}(" + b"N" * 9000 + b"tq\0Ns" + b"h\0Ns" * 20_000 + b".",
    "a long key": b"}(" + LONG + b"q\7" + b"h\7" * 9000 + b"tNs.",
    "a mark": b"(q\0.",
    "a storage": storage(text("0")) + b".",
    "a kind": named("torch FloatStorage") + b".",
    "a name": named("torch._utils _rebuild_tensor_v2") + b".",
    "nested by a detour": b"](" + b"]q\1h\1a" * 5 + b"e" + b"]" * 600 + b"a" * 599 + b".",
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused_at_once(name: str) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive/data.pkl", HOSTILE[name])
        archive.writestr("archive/data/0", bytes(16))
    begin = time.process_time()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(held.getvalue()))
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_size_that_lies_is_found_out(method: int) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.writestr("archive/data.pkl", b" " * 30_000_000)
    data = bytearray(held.getvalue())
    data[22:26] = struct.pack("<I", 10)
    place = data.rindex(b"PK\1\2") + 24
    data[place : place + 4] = struct.pack("<I", 10)
    tracemalloc.start()
    try:
        with pytest.raises(pickle.UnpicklingError):
            torch.load(io.BytesIO(data))
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["bytearray", "hash", "deep", "zip"])
def test_a_small_file_that_asks_for_much_is_refused(name: str) -> None:
    file = bomb(name)
    begin = time.process_time()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(file)
    assert time.process_time() - begin < 1
    file.seek(0)
    tracemalloc.start()  # after the time was taken: it makes a load three times as long
    try:
        with pytest.raises(pickle.UnpicklingError):
            torch.load(file)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_contents_may_take_as_much_as_the_reader_says() -> None:
    held = io.BytesIO()
    torch.save({"w": torch.zeros(1000), "e": torch.zeros(1).expand(10**6)}, held)
    for refused in (1000, 100_000):
        held.seek(0)
        with pytest.raises(pickle.UnpicklingError, match="max_bytes="):
            torch.load(held, max_bytes=refused)
    held.seek(0)
    assert torch.load(held, max_bytes=10**7)["w"].shape == (1000,)


def test_a_large_file_may_have_many_tensors() -> None:
    """The instructions of a pickle grow with the file: a bound of its own refused checkpoints."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive/data.pkl", b"(" + b"N" * 300_000 + b"t.")
        archive.writestr("archive/data/0", bytes(50 * 300_000))
    assert torch.load(io.BytesIO(held.getvalue())) == (None,) * 300_000


@pytest.mark.parametrize("zipped", [True, False])
def test_memory_of_several_dtypes_is_refused(zipped):
    x = torch.arange(4, dtype=torch.float32)
    c = torch.ones(3, dtype=torch.complex64)
    words = {} if zipped else {"_use_new_zipfile_serialization": False}
    for views in ([x, x.view(torch.int32)[1:]], [c, torch.view_as_real(c)], {"a": c, "b": c.real}):
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            torch.save(views, io.BytesIO(), **words)
    torch.save([x.view(torch.int32), x.view(torch.int32)[1:]], io.BytesIO(), **words)
