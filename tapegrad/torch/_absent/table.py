"""The table of PyTorch's names with nothing to do here: add a name by adding it to a line.

A heading names a module, and says why it does nothing; `+` marks one that is there, and lacks the
names. A line below is an answer and the names that give it; lines that are indented go on:

    answer | names [| summary [| example -> what it prints]]

The answer is an expression of the parameters, which a name without parentheses is and a name with
them returns; `raise ...`; `refused [why]`, a NotImplementedError when it is called, of a name with
a capital letter when it is made, which may have its base in parentheses; or `from module`, where
the name is defined: one that begins with a dot is in tapegrad.torch, and another name there
follows `as`. A heading that ends in `*` is of several modules: a line there begins with the name
of one, or has pairs of one and a name, `chi2:Chi2`. Expressions may use `NAMES_IN_ANSWERS`, and
`name`; `absent` marks names that a tensor's methods have and no functions.
Must not know how names are made of it.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import math
import re
import types
import typing
from typing import Any, Self

from tapegrad._core.values import is_mapped
from tapegrad._warning import warn
from tapegrad.torch import _dtypes

_SAID: set[str] = set()
_NOTES: dict[Any, Any] = {}


def say_once(name: str, what: str) -> None:
    """Warn at the first call only that a name has no effect."""
    if name not in _SAID:
        _SAID.add(name)
        warn(f"{name} has no effect: {what}")


def same(function: Any = None) -> Any:
    """A function itself, as what a decorator returns; a decorator if it is none."""
    return function if callable(function) else lambda given: given


class Block(contextlib.ContextDecorator):
    """Context manager and decorator that changes nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class NoBlock(Block):
    """Context manager and decorator that raises RuntimeError when it is entered."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __enter__(self) -> Self:
        raise RuntimeError(self.message)


def noted(key: Any, default: Any) -> Any:
    """The last note of a key."""
    return _NOTES.get(key, default)


def note(key: Any, value: Any) -> None:
    """Note a setting that changes nothing."""
    _NOTES[key] = value


def counted(key: Any, step: int) -> int:
    """The number noted, once a step is added to it."""
    _NOTES[key] = noted(key, 0) + step
    return int(_NOTES[key])


def one_of(value: Any, *allowed: Any) -> Any:
    """The value; RuntimeError if it is none of those allowed."""
    if value not in allowed:
        words = ", ".join(map(repr, allowed[:-1]))
        raise RuntimeError(f"{value} is not one of {words}, or {allowed[-1]!r}")
    return value


def check(holds: Any, message: Any, kind: type[Exception] = RuntimeError) -> None:
    """Raise an error of a kind where something does not hold."""
    if not holds:
        words = message() if callable(message) else message
        raise kind(
            "Expected cond to be True, but got False. (Could this error message be improved? If "
            "so, please report an enhancement request to PyTorch.)"
            if words is None
            else words
        )


def groups_of(lists: Any, with_indices: bool) -> dict[Any, Any]:
    """Lists of tensors side by side, parted by the device and the dtype of the first list's."""
    groups: dict[Any, Any] = {}
    for place, row in enumerate(zip(*lists, strict=True)):
        first = next(each for each in row if each is not None)
        parts, places = groups.setdefault((first.device, first.dtype), ([[] for _ in lists], []))
        for part, each in zip(parts, row, strict=True):
            part.append(each)
        places.extend([place] * bool(with_indices))
    return groups


def scripted(function: Any) -> Any:
    """A function or module itself, said once."""
    say_once("torch.jit.script", "the model runs as it is.")
    return function


class AbsentDtype(_dtypes.dtype):
    """A dtype that tables may name, and no array has."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def numpy(self) -> Any:  # type: ignore[override]  # which nothing writes
        raise NotImplementedError(
            f"torch.{self.name}: NumPy has no such dtype, and tensors here are NumPy's"
        )

    def __reduce__(self) -> Any:
        return absent_dtype, (self.name,)


@functools.cache
def absent_dtype(name: str) -> AbsentDtype:
    """The one dtype of a name."""
    return AbsentDtype(name)


class Operator:
    """A name that tables may have, and its attributes: it is not called.

    Parameters
    ----------
    *args : object
        Not looked at.
    **kwargs : object
        Not looked at.

    Raises
    ------
    NotImplementedError
        Where it is called.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.DispatchKey.CPU == torch.DispatchKey.CUDA
    False
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("__"):
            raise AttributeError(name)
        return Operator(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError(f"torch.ops.{self.__name__}: operators are called by functions")

    def __str__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operator) and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)


class Constant(str):
    """A constant of PyTorch's enumerations, which prints as its name."""

    __slots__ = ()
    __repr__ = str.__str__


_LOW = {"cpu": "bfloat16", "xla": "bfloat16"}
NAMES_IN_ANSWERS: dict[str, Any] = {
    "Block": Block,
    "NoBlock": NoBlock,
    "Constant": Constant,
    "NoReturn": typing.NoReturn,
    "Operator": Operator,
    "SimpleNamespace": types.SimpleNamespace,
    "absent_dtype": absent_dtype,
    "check": check,
    "counted": counted,
    "enum": enum,
    "groups_of": groups_of,
    "layout": functools.cache(_dtypes.layout),
    "low": lambda kind: _dtypes.BY_NAME[_LOW.get(kind, "float16")],
    "is_mapped": is_mapped,
    "math": math,
    "note": note,
    "noted": noted,
    "one_of": one_of,
    "re": re,
    "same": same,
    "scripted": scripted,
    "typing": typing,
}

_NO_CUDA = 'raise AssertionError("Torch not compiled with CUDA enabled")'
_NO_DEVICE = 'raise RuntimeError("Cannot access accelerator device when none is available.")'
_NO_GROUP = (
    'raise ValueError("Default process group has not been initialized, please make sure to call '
    'init_process_group.")'
)

TABLE = f"""\
[] tensors are dense, and NumPy computes with them on the CPU.
layout(name) | sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn
absent_dtype(name) | complex32 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    float8_e8m0fnu float4_e2m1fn_x2 quint8 qint8 qint32 quint4x2 quint2x4 bits16 bits1x8 bits2x4
    bits4x2 bits8 bit int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7
absent_dtype("complex32") | chalf
Constant(f"torch.{{name}}") | per_channel_affine per_channel_affine_float_qparams
    per_channel_symmetric per_tensor_affine per_tensor_symmetric
torch | torch
True | has_lapack has_openmp has_spectral USE_GLOBAL_DEPS
False | has_mkl TYPE_CHECKING USE_RTLD_GLOBAL_WITH_LIBTORCH is_vulkan_available()
    is_distributed(input) set_flush_denormal(mode)
True | compiled_with_cxx11_abi()
None | init_num_threads() clear_autocast_cache() newaxis
noted(("dtype", device_type), low(device_type)) | get_autocast_dtype(device_type)
    | The dtype noted for autocast on a device, which changes nothing.
    | torch.get_autocast_dtype("cpu") -> torch.bfloat16
note(("dtype", device_type), dtype) | set_autocast_dtype(device_type,dtype)
    | Note a dtype for autocast, which changes nothing.
    | torch.set_autocast_dtype("cpu", torch.bfloat16)
noted(("on", device_type), False) | is_autocast_enabled(device_type='cuda')
    | The last setting for a device. | torch.is_autocast_enabled("cpu") -> False
note(("on", "cuda" if enabled is None else device_type),
    device_type if enabled is None else enabled) | set_autocast_enabled(device_type,enabled=None)
    | Note whether autocast is on, which changes nothing. | torch.set_autocast_enabled("cpu",
    False)
noted(("dtype", name[13:16]), low(name[13:16])) | get_autocast_cpu_dtype() get_autocast_ipu_dtype()
    get_autocast_xla_dtype() | The older form of `get_autocast_dtype`.
    | torch.get_autocast_cpu_dtype() -> torch.bfloat16
noted(("dtype", "cuda"), low("cuda")) | get_autocast_gpu_dtype()
    | The older form of `get_autocast_dtype`. | torch.get_autocast_gpu_dtype() -> torch.float16
note(("dtype", name[13:16]), dtype) | set_autocast_cpu_dtype(dtype) set_autocast_ipu_dtype(dtype)
    set_autocast_xla_dtype(dtype) | The older form of `set_autocast_dtype`.
    | torch.set_autocast_cpu_dtype(torch.bfloat16)
note(("dtype", "cuda"), dtype) | set_autocast_gpu_dtype(dtype)
    | The older form of `set_autocast_dtype`. | torch.set_autocast_gpu_dtype(torch.float16)
noted(("on", name[12:15]), False) | is_autocast_cpu_enabled() is_autocast_ipu_enabled()
    is_autocast_xla_enabled() | The older form of `is_autocast_enabled`.
    | torch.is_autocast_cpu_enabled() -> False
note(("on", name[13:16]), enabled) | set_autocast_cpu_enabled(enabled)
    set_autocast_ipu_enabled(enabled) set_autocast_xla_enabled(enabled)
    | The older form of `set_autocast_enabled`. | torch.set_autocast_cpu_enabled(False)
noted("cache", True) | is_autocast_cache_enabled() | The last setting; True at first.
    | torch.is_autocast_cache_enabled() -> True
note("cache", enabled) | set_autocast_cache_enabled(enabled)
    | Note a setting of autocast, which changes nothing. | torch.set_autocast_cache_enabled(True)
counted("blocks", 1) | autocast_increment_nesting()
    | Count a block of autocast that begins. | torch.autocast_increment_nesting() -> 1
counted("blocks", -1) | autocast_decrement_nesting()
    | Count a block of autocast that ends.
    | torch.autocast_increment_nesting() - torch.autocast_decrement_nesting() -> 1
noted("always", False) | is_warn_always_enabled() | The last setting; False at first.
    | torch.is_warn_always_enabled() -> False
note("always", b) | set_warn_always(b)
    | Note whether warnings are to come each time; Python's filters decide.
    | torch.set_warn_always(False)
noted("precision", "highest") | get_float32_matmul_precision() | The word noted last.
    | torch.get_float32_matmul_precision() -> 'highest'
note("precision", one_of(precision, "highest", "high", "medium"))
    | set_float32_matmul_precision(precision)
    | Check and note the word: products are computed in full precision.
    | torch.set_float32_matmul_precision("highest")
1 | get_num_interop_threads()
None | set_num_interop_threads(num)
math.trunc(a) | sym_int(a) | A number as an int, rounded towards zero. | torch.sym_int(2.0) -> 2
float(a) | sym_float(a) | A number as a float. | torch.sym_float(2) -> 2.0
not a | sym_not(a) | The contrary of a truth value. | torch.sym_not(True) -> False
t if b else f | sym_ite(b,t,f) | One value where b is true, else the other.
    | torch.sym_ite(True, 1, 2) -> 1
sum(args) | sym_sum(args) | The sum of numbers. | torch.sym_sum([1, 2, 3]) -> 6
math.sqrt(a) | sym_sqrt(a) | The square root of a number. | torch.sym_sqrt(4.0) -> 2.0
max(a, b) + 0 * a * b | sym_max(a,b) | The greater of two numbers, a float where one is.
    | torch.sym_max(2, 3) -> 3
min(a, b) + 0 * a * b | sym_min(a,b) | The smaller of two numbers, a float where one is.
    | torch.sym_min(2, 3) -> 2
None | sym_constrain_range(size,*,min=None,max=None)
    sym_constrain_range_for_size(size,*,min=None,max=None)
type(obj).__name__ in ("Storage", "UntypedStorage", "TypedStorage") | is_storage(obj)
    | Whether an object is the storage of a tensor.
    | torch.is_storage(torch.ones(2).untyped_storage()) -> True
(true_fn if bool(pred) else false_fn)(*operands) | cond(pred,true_fn,false_fn,operands=())
    | The result of the one function or of the other: it runs at once.
    | torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.tensor(0.0),)) -> tensor(0.)
check(cond, message) | _check(cond,message=None) | Raise RuntimeError where a condition is false.
check(cond, message, error_type) | _check_with(error_type,cond,message)
check(cond, message, IndexError) | _check_index(cond,message=None)
check(cond, message, ValueError) | _check_value(cond,message=None)
check(cond, message, TypeError) | _check_type(cond,message=None)
check(cond, message, NotImplementedError) | _check_not_implemented(cond,message=None)
check(bool(cond.all()), message) | _check_tensor_all(cond,message=None)
check(bool(cond.all()), message, error_type) | _check_tensor_all_with(error_type,cond,message=None)
check(i >= 0, message) | _check_is_size(i,message=None,*,max=None)
check(condition, message, AssertionError) | _assert(condition,message)
torch.cpu | get_device_module(device=None) | The module of the one device.
    | torch.get_device_module() is torch.cpu -> True
torch.distributions.Dirichlet(input).sample() | _sample_dirichlet(input,generator=None)
torch.tensor(input.shape) | _shape_as_tensor(input)
grad_output * output - output * (grad_output * output).sum(dim, keepdim=True) |
    _softmax_backward_data(grad_output,output,dim,input_dtype)
refused other devices have it | _scaled_mm _grouped_mm
from .torch_version | TorchVersion
from ._ops.object.memory | TypedStorage
from ._ops.object.memory as Storage | UntypedStorage Storage
from .cpu | Stream Event
from .futures | Future
from .jit | ScriptModule ScriptFunction ScriptMethod CompilationUnit
from .jit as wait | wait
from .jit as fork | fork
refused numbers are Python's | SymInt SymFloat SymBool
type(name, (RuntimeError,), {{"__module__": "tapegrad.torch"}}) | OutOfMemoryError AcceleratorError
    JITException FatalError
refused tensors are dense | sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
    sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor saddmm smm spmm sspaddmm dsmm hsmm hspmm
    resize_as_sparse_ values_copy indices_copy row_indices_copy crow_indices_copy col_indices_copy
    ccol_indices_copy
refused tensors are not quantized | choose_qparams_optimized dequantize empty_quantized
    fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight
    fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
    fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
    fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant
    int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
    qscheme quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic
    quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell
    quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell
    quantized_rnn_tanh_cell
refused other devices have it | batch_norm_backward_elemt batch_norm_backward_reduce
    batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
    batch_norm_update_stats cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
    cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
    cudnn_grid_sampler cudnn_is_acceptable miopen_batch_norm miopen_convolution
    miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
    miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d
    mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
    mkldnn_rnn_layer
refused nothing is compiled, a program runs as it is | import_ir_module
    import_ir_module_from_buffer merge_type_from_type_comment parse_ir parse_schema
    parse_type_comment unify_type_list sym_fresh_size AliasDb Argument ArgumentSpec Block CallStack
    Code CompleteArgumentSpec ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable
    ErrorReport ExecutionPlan FunctionSchema Gradient Graph GraphExecutorState IODescriptor
    LiteScriptModule Node OperatorInfo PyTorchFileReader PyTorchFileWriter ScriptClass
    ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptList
    ScriptListIterator ScriptModuleSerializer ScriptObject ScriptObjectProperty StaticModule
    TracingState Use Value DisableTorchFunction DisableTorchFunctionSubclass
    ExcludeDispatchKeyGuard
Operator(name) | DispatchKey
frozenset((key,)) | DispatchKeySet(key) | A set of one key.
    | len(torch.DispatchKeySet(torch.DispatchKey.CPU)) -> 1
refused it is not here yet | from_file get_file_path hash_tensor native_norm thread_safe_generator
refused untyped storages and those of tensors are there | BFloat16Storage BoolStorage ByteStorage
    CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage HalfStorage
    IntStorage LongStorage ShortStorage QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage
    QUInt8Storage
absent | ComplexDoubleTensor ComplexFloatTensor UInt16Tensor UInt32Tensor UInt64Tensor absolute_
    add_ addbmm_ addcdiv_ addcmul_ addmm_ addr_ arctan2_ atan2_ baddbmm_ bernoulli_ bitwise_and_
    bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ cauchy_
    copysign_ cumprod_ cumsum_ digamma_ div_ divide_ eq_ erfinv_ exponential_ fill_diagonal_
    float_power_ floor_divide_ fmod_ ge_ geometric_ gt_ heaviside_ hypot_ igamma_ igammac_
    index_add_ index_copy_ index_fill_ index_reduce_ le_ lerp_ lgamma_ log_normal_ logical_and_
    logical_not_ logical_or_ logical_xor_ lt_ masked_fill_ masked_scatter_ mul_ multiply_ mvlgamma_
    ne_ nextafter_ normal_ polygamma_ pow_ put_ random_ remainder_ renorm_ scatter_ scatter_add_
    scatter_reduce_ sgn_ sign_ sub_ subtract_ tril_ triu_ true_divide_ uniform_ unique_dim
[+Tensor] this tensor is dense, and on the CPU.
False | is_xla is_xpu is_ipu is_maia is_mtia is_vulkan is_sparse_csr is_distributed()
True | is_cpu
0 | sparse_dim()
None | record_stream(stream)
len(self.shape) | dense_dim() | The number of dimensions.
self if dtype is None else self.to(dtype) | to_dense(dtype=None,*,masked_grad=None)
    | The tensor itself, which is dense; of another dtype where one is given.
raise RuntimeError(f"{{name}} expected sparse coordinate tensor layout but got Strided") |
    indices()
    is_coalesced() coalesce()
raise RuntimeError("values expected sparse tensor layout but got Strided") | values()
raise RuntimeError(f"{{name}} expected sparse row or column compressed tensor layout but got
    Strided") | crow_indices() col_indices() ccol_indices() row_indices()
raise RuntimeError("reinforce() was removed.\\nUse torch.distributions instead.")
    | reinforce(reward=None)
[accelerator] there is no accelerator, tensors are on the CPU.
False | is_available()
0 | device_count()
None | current_accelerator(check_available=False)
{_NO_DEVICE} | current_device_idx() current_device_index() current_stream(device=None)
    empty_cache() empty_host_cache() get_device_capability(device=None)
    get_memory_info(device_index=None) max_memory_allocated(device_index=None)
    max_memory_reserved(device_index=None) memory_allocated(device_index=None)
    memory_reserved(device_index=None) memory_stats(device_index=None)
    reset_accumulated_memory_stats(device_index=None) reset_peak_memory_stats(device_index=None)
    set_device_idx(device) set_device_index(device) set_stream(stream) synchronize(device=None)
    Graph device_index
[cpu] the CPU, where each call ends before the next one begins.
True | is_available() is_initialized()
1 | device_count()
"cpu" | current_device()
None | synchronize(device=None) current_stream(device=None) set_device(device)
Block() | stream(stream) StreamContext(stream) | Context manager that changes nothing.
refused there are no streams | Stream Event
[cpu.amp] mixed precision, under an older name.
from ._mixed_precision as cpu_autocast | autocast
from ._mixed_precision as cpu_scaler | GradScaler
[cuda] there is no GPU, tensors are computed with NumPy.
False | is_available() is_initialized() is_bf16_supported(including_emulation=True)
    is_tf32_supported() is_current_stream_capturing() has_half has_magma
0 | device_count() memory_allocated(device=None) max_memory_allocated(device=None)
    memory_reserved(device=None) max_memory_reserved(device=None) memory_cached(device=None)
    max_memory_cached(device=None)
None | manual_seed(seed) manual_seed_all(seed) seed() seed_all() empty_cache()
    reset_peak_memory_stats(device=None) reset_max_memory_allocated(device=None)
    reset_max_memory_cached(device=None) reset_accumulated_memory_stats(device=None)
() | default_generators
[] | get_arch_list() get_rng_state_all()
check(not new_states, "Torch not compiled with CUDA enabled", AssertionError)
    | set_rng_state_all(new_states) | Take back the states of no device; AssertionError for others.
    | torch.cuda.set_rng_state_all([])
{{}} | memory_stats(device=None)
"" | get_gencode_flags()
Block() | stream(stream) device(device) device_of(obj) | Context manager that changes nothing.
from . | OutOfMemoryError
{_NO_CUDA} | init() current_device() get_device_name(device=None)
    get_device_properties(device=None) get_device_capability(device=None) set_device(device)
    synchronize(device=None) current_stream(device=None) default_stream(device=None)
    mem_get_info(device=None) ipc_collect() initial_seed() get_rng_state(device='cuda')
    set_rng_state(new_state,device='cuda') set_stream(stream)
    memory_summary(device=None,abbreviated=False) memory_snapshot(mempool_id=None)
    can_device_access_peer(device,peer_device) utilization(device=None)
    set_per_process_memory_fraction(fraction,device=None) make_graphed_callables Event Stream
    ExternalStream StreamContext CUDAGraph MemPool GreenContext graph cudart current_blas_handle
    get_sync_debug_mode set_sync_debug_mode graph_pool_handle
raise TypeError(f"type torch.cuda.{{name}} not available. Torch not compiled with CUDA enabled.") |
    FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor
    LongTensor BoolTensor
[cuda.amp] mixed precision, under an older name.
from ._mixed_precision as cuda_autocast | autocast
from ._mixed_precision as cuda_scaler | GradScaler
from .amp | custom_fwd custom_bwd
[cuda.amp.autocast_mode] mixed precision, under the name of PyTorch's file.
from .cuda.amp | autocast custom_fwd custom_bwd
[cuda.amp.grad_scaler] mixed precision, under the name of PyTorch's file.
from .cuda.amp | GradScaler
[cuda.amp.common] mixed precision, under the name of PyTorch's file.
True | amp_definitely_not_available()
[cuda.comm] there is no GPU to send tensors to.
{_NO_CUDA} | broadcast broadcast_coalesced reduce_add reduce_add_coalesced scatter gather
[cuda.memory] there is no GPU whose memory is counted.
from .cuda | empty_cache max_memory_allocated memory_allocated memory_reserved memory_stats
    memory_summary mem_get_info reset_peak_memory_stats
None | _record_memory_history(enabled='all',**kwargs) _dump_snapshot(filename='')
refused | _snapshot
[cuda.nccl] there is no GPU to send tensors to.
False | is_available(tensors)
[cuda.nvtx] there is no GPU whose profiler is told.
raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    | range_push(msg) range_pop() range_start(msg) range_end(range_id) mark(msg)
NoBlock("NVTX functions not installed. Are you sure you have a CUDA build?")
    | range(msg,*args,**kwargs) | Context manager that raises RuntimeError when it is entered.
[cuda.profiler] there is no GPU whose profiler is told.
Block() | profile() | Context manager that changes nothing.
{_NO_CUDA} | start() stop()
[cuda.random] there is no generator on a GPU.
from .cuda | manual_seed manual_seed_all seed seed_all initial_seed get_rng_state set_rng_state
    get_rng_state_all set_rng_state_all
[cuda.streams] there are no streams.
from .cuda | Stream Event ExternalStream
[mps] there is no GPU of Apple's.
False | is_available()
0 | device_count()
None | manual_seed(seed) seed()
raise RuntimeError("Cannot execute this without MPS backend.") | empty_cache() synchronize()
    current_allocated_memory() driver_allocated_memory() recommended_max_memory()
    set_per_process_memory_fraction(fraction) get_rng_state(device='mps') Event
[mtia] there is no such device.
False | is_available() is_initialized()
0 | device_count()
[xpu] there is no GPU of Intel's.
False | is_available() is_initialized() is_bf16_supported(including_emulation=True)
0 | device_count() memory_allocated(device=None) max_memory_allocated(device=None)
    memory_reserved(device=None)
None | manual_seed(seed) manual_seed_all(seed) empty_cache()
raise AssertionError("Torch not compiled with XPU enabled") | init() current_device()
    synchronize(device=None) get_device_name(device=None) set_device(device) Stream Event
[backends] switches that scripts set, which change nothing.
True | fp32_precision
[backends.cpu] the CPU.
"DEFAULT" | get_cpu_capability()
[backends.cuda] there is no GPU.
SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True, fp32_precision="none") | matmul
{{}} | cufft_plan_cache
False | is_built() flash_sdp_enabled() mem_efficient_sdp_enabled() cudnn_sdp_enabled()
    is_flash_attention_available()
True | math_sdp_enabled()
None | enable_flash_sdp(enabled) enable_mem_efficient_sdp(enabled) enable_math_sdp(enabled)
    enable_cudnn_sdp(enabled) preferred_linalg_library(backend=None)
    preferred_blas_library(backend=None)
Block() | sdp_kernel(*args,**kwargs) | Context manager that changes nothing.
[backends.cudnn] results are deterministic, whatever is set.
True | enabled allow_tf32
False | benchmark deterministic is_available() is_acceptable(tensor)
10 | benchmark_limit
None | version()
Block() | flags(*args,**kwargs) | Context manager that changes nothing.
[backends.cudnn.rnn] there is no cuDNN.
[backends.mkl] NumPy chooses its library of linear algebra.
False | enabled is_available()
[backends.mkldnn] NumPy chooses its library of linear algebra.
False | enabled is_available()
Block() | flags(*args,**kwargs) | Context manager that changes nothing.
[backends.mps] there is no GPU of Apple's.
False | is_available() is_built() is_macos13_or_newer(minor=0) is_macos_or_newer(major,minor)
[backends.nnpack] it is not used.
False | is_available()
[backends.openmp] NumPy chooses its library of linear algebra.
False | is_available()
[backends.opt_einsum] NumPy chooses the order of products.
False | enabled is_available()
None | strategy get_opt_einsum()
[backends.quantized] tensors are not quantized.
() | supported_engines
"none" | engine
[backends.xnnpack] it is not used.
False | enabled
[amp] mixed precision, which changes nothing.
from ._mixed_precision | GradScaler autocast
same(fwd) | custom_fwd(fwd=None,**kwargs) | The forward of a Function itself, or a decorator.
    | torch.amp.custom_fwd(device_type="cuda")(abs) is abs -> True
same(bwd) | custom_bwd(bwd=None,**kwargs) | The backward of a Function itself, or a decorator.
    | torch.amp.custom_bwd(device_type="cuda")(abs) is abs -> True
False | is_autocast_available(device_type)
[amp.autocast_mode] mixed precision, under the name of PyTorch's file.
from .amp | autocast custom_bwd custom_fwd is_autocast_available
[amp.grad_scaler] mixed precision, under the name of PyTorch's file.
from .amp | GradScaler
[functional] some functions of `torch`, under the name of PyTorch's file.
from . | Tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
    cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft
    svd_lowrank tensordot unique unique_consecutive unravel_index
[onnx] models are not exported.
False | is_in_onnx_export() is_onnxrt_backend_supported()
None | enable_log() disable_log()
    register_custom_op_symbolic(symbolic_name,symbolic_fn,opset_version)
    unregister_custom_op_symbolic(symbolic_name,opset_version)
Constant(name) | TrainingMode OperatorExportTypes
type(name, (RuntimeError,), {{"__module__": "tapegrad.torch.onnx"}}) | OnnxExporterError
refused use PyTorch for it, with the state_dict of this model | export dynamo_export
    select_model_mode_for_export ONNXProgram ExportableModule InputObserver
[onnx.errors] models are not exported.
from .onnx | OnnxExporterError
[onnx.operators] models are not exported.
tuple(x.shape) | shape_as_tensor(x) | The shape.
x.reshape(shape) | reshape_from_tensor_shape(x,shape) | The tensor in another shape.
[onnx.symbolic_helper] models are not exported.
lambda function: function | parse_args(*arg_descriptors)
    | Decorator that returns the function itself.
[onnx.utils] models are not exported.
from .onnx | export
[fx] programs are run, not traced into graphs.
fn_or_name | wrap(fn_or_name) | The function itself, or its name.
fn | has_side_effect(fn) | The function itself.
refused | symbolic_trace map_arg replace_pattern Graph GraphModule(torch.nn.Module) Interpreter
    Node Proxy Tracer Transformer
[fx._symbolic_trace] programs are run, not traced into graphs.
False | is_fx_tracing() is_fx_symbolic_tracing()
from .fx | Tracer symbolic_trace wrap
[fx.experimental] programs are run, not traced into graphs.
[fx.experimental.proxy_tensor] programs are run, not traced into graphs.
None | get_proxy_mode()
refused | make_fx
[fx.graph] programs are run, not traced into graphs.
from .fx | Graph
[fx.graph_module] programs are run, not traced into graphs.
from .fx | GraphModule
[fx.node] programs are run, not traced into graphs.
from .fx | Node map_arg
[fx.passes] programs are run, not traced into graphs.
[fx.passes.shape_prop] programs are run, not traced into graphs.
refused | ShapeProp TensorMetadata
[fx.proxy] programs are run, not traced into graphs.
from .fx | Proxy
[futures] calls end before the next one begins.
refused use concurrent.futures | Future collect_all(futures) wait_all(futures)
[hub] models are not downloaded.
refused download the file by other means, then torch.load it | load list help
    load_state_dict_from_url(url,model_dir=None,map_location=None,progress=True,check_hash=False,
    file_name=None,weights_only=False) download_url_to_file(url,dst,hash_prefix=None,progress=True)
noted("hub", "~/.cache/torch/hub") | get_dir() | The folder noted last.
    | torch.hub.get_dir() -> '~/.cache/torch/hub'
re.compile("-([a-f0-9]*)[.]") | HASH_REGEX
from urllib.parse | urlparse
iterable | tqdm(iterable=None,*args,**kwargs) | The iterable itself: no progress is shown.
    | torch.hub.tqdm([1, 2]) -> [1, 2]
noted("hub", "~/.cache/torch/hub") | _get_torch_home()
note("hub", d) | set_dir(d) | Note a folder. | torch.hub.set_dir("~/.cache/torch/hub")
[jit] nothing is compiled, a model runs as it is.
False | is_scripting() is_tracing() onednn_fusion_enabled()
scripted(obj) | script(obj,optimize=None,_frames_up=0,_rcb=None,example_inputs=None)
    | The model or function itself, which runs as it is; the first call says so.
same(fn) | export(fn) unused(fn) script_if_tracing(fn) interface(fn) _script_if_tracing(fn)
    _overload(fn) _overload_method(fn) script_method(fn) | The function itself.
    | torch.jit.export(abs) is abs -> True
same(drop) | ignore(drop=False,**kwargs) | The function itself, or a decorator that returns it.
    | torch.jit.ignore(abs) is abs -> True
the_value | annotate(the_type,the_value) | The value. | torch.jit.annotate(int, 3) -> 3
isinstance(obj, target_type) | isinstance(obj,target_type) | Whether an object is of a type.
    | torch.jit.isinstance(3, int) -> True
typing.Final | Final
mod | freeze(mod,preserved_attrs=None,optimize_numerics=True)
    optimize_for_inference(mod,other_methods=None) | The model itself. | torch.jit.freeze(3) -> 3
None | enable_onednn_fusion(enabled) set_fusion_strategy(strategy)
Block() | strict_fusion() optimized_execution(should_optimize) fuser(name)
    | Context manager that changes nothing.
func(*args, **kwargs) | fork(func,*args,**kwargs) | The result of a call, which is made at once.
    | torch.jit.fork(abs, -3) -> 3
future | wait(future) | What `fork` returned. | torch.jit.wait(3) -> 3
type(name, (RuntimeError,), {{"__module__": "tapegrad.torch.jit"}}) | Error
refused | trace trace_module save load Attribute CompilationUnit ScriptFunction ScriptMethod
    ScriptModule(torch.nn.Module)
[jit.annotations] nothing is compiled, a model runs as it is.
from typing | Any Dict List Optional Tuple Union
from ._jit_internal | BroadcastingList1 BroadcastingList2 BroadcastingList3
[_jit_internal] nothing is compiled, a model runs as it is.
from typing | Any Callable Dict Final List Optional Tuple Union
typing.List | BroadcastingList1 BroadcastingList2 BroadcastingList3 BroadcastingList4
    BroadcastingList5 BroadcastingList6
False | is_scripting()
same(fn) | export(fn) unused(fn) _overload(fn) _overload_method(fn) weak_module(fn)
    weak_script(fn) weak_script_method(fn) _copy_to_script_wrapper(fn) | The function itself.
same(drop) | ignore(drop=False,**kwargs) | The function itself, or a decorator that returns it.
lambda *args, **kwargs: (if_true if kwargs.get(arg_name, args[arg_index] if len(args) > arg_index
    else default) else if_false)(*args, **kwargs) | boolean_dispatch(arg_name,arg_index,default,
    if_true,if_false,module_name,func_name) | A function that calls one of two, as a flag says.
[compiler] there is one compiler, of NumPy's calls and machine code: torch.compile.
False | is_compiling() is_dynamo_compiling() is_exporting()
same(fn) | allow_in_graph(fn) assume_constant_result(fn) disable(fn=None,recursive=True,*,
    reason=None) wrap_numpy(fn) nested_compile_region(fn=None,*,options=None)
    | The function itself.
    | torch.compiler.disable(abs) is abs -> True
lambda fn: fn | substitute_in_graph(original_fn,*args,**kwargs)
    | Decorator that returns the function itself.
None | reset() cudagraph_mark_step_begin() set_enable_guard_collectives(enabled)
Block() | set_stance(stance='default',*args,**kwargs) | Context manager that changes nothing.
["auto", "inductor", "llvm", "numpy"] | list_backends(exclude_tags=())
from . | compile
[_dynamo] PyTorch's compiler, whose place torch.compile has.
False | is_compiling()
from .compiler | allow_in_graph assume_constant_result disable list_backends substitute_in_graph
lambda fn: fn | optimize(*args,**kwargs) | Decorator that returns the function itself.
same(fn) | run(fn=None) disallow_in_graph(fn) forbid_in_graph(fn) nonstrict_trace(traceable_fn)
    | The function itself.
None | reset() graph_break(msg='') mark_dynamic(t,index,*args,**kwargs) mark_static(t,index=None)
    mark_static_address(t,guard=False) maybe_mark_dynamic(t,index)
refused | export explain
from ._compiled | OptimizedModule
[_dynamo.config] settings of a compiler that is not there, which change nothing.
False | suppress_errors verbose capture_scalar_outputs capture_dynamic_output_shape_ops
    capture_func_transforms inline_inbuilt_nn_modules skip_fwd_side_effects_in_bwd_under_checkpoint
True | assume_static_by_default optimize_ddp
8 | cache_size_limit recompile_limit
None | automatic_dynamic_shapes
[_logging] nothing is logged.
None | set_logs(**kwargs)
[__future__] settings that change nothing.
noted("swap", False) | get_swap_module_params_on_conversion()
note("swap", value) | set_swap_module_params_on_conversion(value)
noted("overwrite", False) | get_overwrite_module_params_on_conversion()
note("overwrite", value) | set_overwrite_module_params_on_conversion(value)
[__config__] what NumPy was built with.
"NumPy computes tensors: its build is shown by numpy.show_config()" | show()
f"NumPy's library of linear algebra: {{torch.get_num_threads()}} threads" | parallel_info()
    | How many threads there are. | torch.__config__.parallel_info()[:5] -> 'NumPy'
[_vmap_internals] transforms of functions, under their first name.
from .func as vmap | vmap _vmap
[_tensor_str] how tensors are printed, under the name of PyTorch's file.
from ._ops.object.printing | PRINT_OPTS _tensor_str printoptions set_printoptions
[_dynamo.utils] PyTorch's compiler, whose place torch.compile has.
False | is_compile_supported(device_type)
[_inductor] PyTorch's compiler, whose place torch.compile has.
SimpleNamespace() | config
refused | aoti_load_package aoti_compile_and_package list_mode_options
[export] models are not exported.
refused | export save load Dim ExportedProgram
[_subclasses] programs are run on numbers; `device="meta"` has shapes alone.
refused | FakeTensor FakeTensorMode
False | is_fake(x)
[_subclasses.fake_tensor] programs are run on numbers; `device="meta"` has shapes alone.
from ._subclasses | FakeTensor FakeTensorMode is_fake
[package] models are not exported.
refused | PackageExporter PackageImporter
[_custom_ops] operations are not registered.
[library] operations are not registered.
lambda fn: fn | impl(*args,**kwargs) impl_abstract(*args,**kwargs) register_fake(*args,**kwargs)
    register_kernel(*args,**kwargs) | Decorator that returns the function itself.
None | define(qualname,schema,**kwargs) register_autograd(op,backward,**kwargs)
refused use a torch.autograd.Function | Library custom_op triton_op wrap_triton opcheck get_ctx
[distributed] there is one process.
False | is_available() is_initialized() is_torchelastic_launched() is_mpi_available()
    is_nccl_available() is_gloo_available()
SimpleNamespace(SUM=0, AVG=1, PRODUCT=2, MIN=3, MAX=4) | ReduceOp
SimpleNamespace(WORLD=None, NON_GROUP_MEMBER=None) | GroupMember group
{_NO_GROUP} | get_rank(group=None) get_world_size(group=None) get_backend(group=None)
    barrier(group=None,async_op=False) all_reduce all_gather broadcast reduce gather scatter
    all_gather_object gather_object broadcast_object_list all_to_all all_gather_into_tensor
    reduce_scatter reduce_scatter_tensor send recv isend irecv new_group monitored_barrier
    destroy_process_group(group=None)
refused run one process | init_process_group init_device_mesh get_default_backend_for_device
    all_to_all_single get_process_group_ranks ProcessGroup Store TCPStore FileStore Work Backend
[distributed.distributed_c10d] there is one process.
from .distributed | ProcessGroup ReduceOp GroupMember get_rank get_world_size
None | _get_default_group()
[distributed.autograd] there is one process.
False | is_available()
refused | context
[distributed.algorithms] there is one process.
[distributed.fsdp] there is one process.
refused run one process | FullyShardedDataParallel(torch.nn.Module) StateDictType
    FullStateDictConfig
[distributed.optim] there is one process.
refused run one process | ZeroRedundancyOptimizer
[distributed.rpc] there is one process.
False | is_available()
[distributed.rpc.api] there is one process.
func | _require_initialized(func)
[distributed.tensor] there is one process.
refused run one process | DTensor DeviceMesh
[distributed.tensor.parallel] there is one process.
refused run one process | parallelize_module ColwiseParallel RowwiseParallel SequenceParallel
[distributed.device_mesh] there is one process.
refused run one process | DeviceMesh init_device_mesh
[distributed.elastic] there is one process.
[distributed.elastic.multiprocessing] there is one process.
[distributed.elastic.multiprocessing.errors] there is one process.
same(fn) | record(fn,error_handler=None) | The function itself.
[distributed.nn] there is one process.
from .distributed.nn.functional | all_gather all_reduce broadcast
[distributed.nn.functional] there is one process.
refused run one process | all_gather all_reduce broadcast
[multiprocessing] processes are Python's.
from multiprocessing | Process Queue SimpleQueue Pool Event Lock Manager Pipe Value Array cpu_count
    get_context get_start_method set_start_method current_process active_children Barrier Condition
    Semaphore RLock JoinableQueue freeze_support
noted("sharing", "file_descriptor") | get_sharing_strategy() | The word noted last.
note("sharing", new_strategy) | set_sharing_strategy(new_strategy) | Note a word.
{{"file_descriptor", "file_system"}} | get_all_sharing_strategies()
refused use a multiprocessing.Pool | spawn start_processes ProcessContext SpawnContext
[overrides] operations are not replaced.
False | has_torch_function(relevant_args) has_torch_function_unary(x)
    has_torch_function_variadic(*tensors)
isinstance(inp, torch.Tensor) or hasattr(type(inp), "__torch_function__") | is_tensor_like(inp)
    | Whether an object is a tensor, or answers for one.
public_api(*args, **kwargs) | handle_torch_function(public_api,relevant_args,*args,**kwargs)
    | The function's own result.
refused | BaseTorchFunctionMode TorchFunctionMode
lambda fn: fn | wrap_torch_function(dispatcher) | Decorator that returns the function itself.
[masked] masks are tensors beside others.
refused | MaskedTensor masked_tensor as_masked_tensor sum prod amax amin argmax argmin mean median
    norm var std softmax log_softmax softmin normalize logsumexp logaddexp cumsum cumprod
False | is_masked_tensor(obj)
[nested] tensors are dense.
refused | nested_tensor as_nested_tensor nested_tensor_from_jagged to_padded_tensor narrow
[sparse] tensors are dense.
refused | addmm mm sum softmax log_softmax sampled_addmm spdiags to_sparse_semi_structured
    SparseSemiStructuredTensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor
    CharTensor ShortTensor IntTensor LongTensor
[monitor] nothing is recorded.
refused | Event Stat
[quantization] tensors are not quantized.
refused | QuantStub DeQuantStub QuantWrapper prepare convert quantize quantize_dynamic prepare_qat
    get_default_qconfig fuse_modules default_qconfig QConfig FakeQuantize
[ao] tensors are not quantized.
[ao.quantization] tensors are not quantized.
from .quantization | QuantStub DeQuantStub QuantWrapper prepare convert quantize quantize_dynamic
    prepare_qat get_default_qconfig fuse_modules default_qconfig QConfig FakeQuantize
[ao.nn] tensors are not quantized.
[ao.nn.quantized] tensors are not quantized.
refused | Linear Conv1d Conv2d Conv3d FloatFunctional QFunctional Quantize DeQuantize
[ops] operators are called by the names of `torch`.
raise OSError("libraries of PyTorch's operators are not loaded") | load_library(path)
[classes] there are no classes of C++.
[storage] the memory of tensors.
from . | TypedStorage UntypedStorage
[+autograd] names that the profiler has.
from .autograd.profiler | kineto_available
[+autograd.profiler] names of other versions.
from .autograd._profiler_table | format_time
[+profiler] names of other versions.
from .autograd._profiler_table | format_time
[+serialization] names of the types of parameters.
typing.Any | MAP_LOCATION FILE_LIKE
[+distributions.transforms] parts that classes outside use.
from .distributions._transform as InverseTransform | _InverseTransform
[+distributions.utils] parts that classes outside use.
torch.randn(shape, dtype=dtype, device=device) | _standard_normal(shape,dtype,device)
value if dim == 0 else value.flatten(-dim).sum(-1) | _sum_rightmost(value,dim)
[+utils.benchmark] random arguments and counts of instructions.
refused | Fuzzer FuzzedParameter FuzzedTensor ParameterAlias CallgrindStats FunctionCounts Language
[utils._foreach_utils] optimizers step through tensors in groups of a dtype.
groups_of(tensorlistlist, with_indices)
    | _group_tensors_by_device_and_dtype(tensorlistlist,with_indices=False)
["cpu"] | _get_foreach_kernels_supported_devices() _get_fused_kernels_supported_devices()
True | _device_has_foreach_support(device) _has_foreach_support(tensors,device)
[utils._python_dispatch] functions are not dispatched by modes.
False | is_traceable_wrapper_subclass(t)
refused | TorchDispatchMode
[utils._contextlib] blocks that decorate functions, under the name of PyTorch's file.
from ._graph.modes as Manager | _DecoratorContextManager
[utils.deterministic] memory is filled as NumPy does it.
[utils.hooks] what registering a hook returns.
from ._graph.hooks as Handle | RemovableHandle
f | unserializable_hook(f) | The hook itself. | torch.utils.hooks.unserializable_hook(abs)(-1) -> 1
None | warn_if_has_hooks(tensor)
refused | BackwardHook
[utils.backcompat] nothing is older than it was.
[utils.cpp_extension] nothing is compiled.
None | CUDA_HOME ROCM_HOME
False | is_ninja_available()
refused | load load_inline BuildExtension CppExtension CUDAExtension include_paths
[utils.dlpack] memory is shared with other libraries.
from . | from_dlpack
x.__dlpack__() | to_dlpack(x) | A capsule of the tensor.
[utils.mobile_optimizer] models are not exported.
refused | optimize_for_mobile
[utils.model_zoo] models are not downloaded.
from .hub as load_state_dict_from_url | load_url
from .hub | tqdm
[utils.tensorboard] events are written by other packages, as `tensorboardX`.
refused | SummaryWriter FileWriter
[utils.weak] keys are compared by identity, as those of tensors are.
from weakref as WeakKeyDictionary | WeakTensorKeyDictionary WeakIdKeyDictionary
[+nn.attention] there is one way to compute attention.
enum.IntEnum(name, "MATH FLASH_ATTENTION EFFICIENT_ATTENTION CUDNN_ATTENTION OVERRIDEABLE ERROR",
    start=0, module="tapegrad.torch.nn.attention") | SDPBackend
Block() | sdpa_kernel(backends,set_priority=False) | Context manager that changes nothing.
False | WARN_FOR_UNFUSED_KERNELS
[nn.attention.bias] there is one way to compute attention.
refused | causal_lower_right causal_upper_left CausalBias CausalVariant
[nn.attention.flex_attention] nothing is compiled; pass a mask to scaled_dot_product_attention.
refused | flex_attention create_block_mask create_mask and_masks or_masks BlockMask
[+nn.parallel] there is one device.
from .nn.parallel.distributed | DistributedDataParallel
from .nn.parallel.scatter_gather | gather scatter
refused | parallel_apply replicate
[nn.parallel.comm] there is one device.
from .cuda.comm | broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter
[nn.parallel.distributed] there is one process.
refused run one process | DistributedDataParallel(torch.nn.Module)
[nn.parallel.parallel_apply] there is one device.
refused | parallel_apply get_a_var
[nn.parallel.replicate] there is one device.
refused | replicate
[nn.parallel.scatter_gather] there is one device.
refused | gather scatter scatter_kwargs is_namedtuple
[_VF] functions of `torch`, under the name of PyTorch's table of them.
[_C] what PyTorch has written in C++.
from . | Generator Size device dtype layout memory_format Stream Event Future Value Graph Node
    DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet ScriptModule
    ScriptFunction OutOfMemoryError FunctionSchema parse_schema AliasDb is_autocast_enabled
from . as Tensor | TensorBase _TensorBase
type | _TensorMeta
from .linalg as LinAlgError | _LinAlgError
torch.device("cpu") | _get_accelerator(check=None)
False | has_cuda _has_cuda has_mkldnn has_cudnn _is_tracing() _has_torch_function(args)
    _has_torch_function_unary(x) _is_xnnpack_enabled() _cuda_isInBadFork() _get_cudnn_enabled()
    _get_nested_int()
True | has_lapack has_openmp has_spectral
0 | _cuda_getDeviceCount()
None | _get_tracing_state() _log_api_usage_once(event) _set_tracing_state(state)
    _jit_set_profiling_mode(on) _jit_set_profiling_executor(on) _jit_override_can_fuse_on_cpu(on)
    _jit_override_can_fuse_on_gpu(on) _jit_set_texpr_fuser_enabled(on)
    _debug_set_fusion_group_inlining(on) _cuda_clearCublasWorkspaces() _cuda_emptyCache()
NotImplemented | _disabled_torch_function_impl(func,types,args=(),kwargs=None)
Block() | _ExcludeDispatchKeyGuard(keys)
[_C._nn] functions of `torch.nn.functional`, under the name of PyTorch's table of them.
from .nn.module.module | _parse_to
[_C._VariableFunctions] functions of `torch`, under the name of PyTorch's table of them.
[_C._functorch] values within transforms.
is_mapped(tensor._value) | is_batchedtensor(tensor)
refused | _add_batch_dim _remove_batch_dim get_unwrapped
[_C._functions] nodes of PyTorch's own.
[_C._distributed_c10d] there is one process.
from .distributed | ProcessGroup ReduceOp Store
[_utils] parts of PyTorch that other packages use.
torch.cat([each.reshape(-1) for each in tensors]) | _flatten_dense_tensors(tensors)
    | The elements of tensors in one row.
tuple(part.view_as(like) for part, like in
    zip(flat.split([each.numel() for each in tensors]), tensors, strict=True))
    | _unflatten_dense_tensors(flat,tensors) | Parts of a row in the shapes of tensors.
[+_tensor] the class of tensors, under the name of PyTorch's file.
from . | Tensor
[_functorch] transforms of functions, under their first name.
from .func | grad grad_and_value hessian jacfwd jacrev jvp vjp vmap
from .func as stack_module_state | combine_state_for_ensemble
refused use torch.func.functional_call | make_functional make_functional_with_buffers
    FunctionalModule FunctionalModuleWithBuffers
refused | functionalize make_fx
[_functorch.experimental] transforms of functions, under their first name.
from .func | grad hessian jacfwd jacrev jvp vjp vmap
[utils.data.distributed] there is one process.
refused use torch.utils.data.RandomSampler: there is one process |
    DistributedSampler(torch.utils.data.Sampler)
[+utils.data] there is one process.
from .utils.data.distributed | DistributedSampler
[+nn] there is one process, whose batch norms see all examples.
refused use torch.nn.BatchNorm2d: there is one process | SyncBatchNorm
[nn.backends] names of PyTorch's first versions.
[nn.backends.thnn] names of PyTorch's first versions.
[+testing] older names.
torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan,
    check_dtype=False, msg=msg or None)
    | assert_allclose(actual,expected,rtol=None,atol=None,equal_nan=True,msg='')
    | Raise AssertionError where two tensors differ, whatever their dtypes.
    | torch.testing.assert_allclose(torch.ones(2), torch.ones(2))
[+nn.utils] layers are computed one after the other.
refused multiply the weights of the layer by those of the batch norm | fuse_conv_bn_eval
    fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights
[autograd.profiler_legacy] the profiler, under its old name.
from .autograd.profiler | profile
from .autograd.profiler_util | EventList FunctionEvent
[optim.*] names that PyTorch has in this file.
from .optim | adamax:Adamax adamw:AdamW nadam:NAdam radam:RAdam sparse_adam:SparseAdam
[distributions.*] names that PyTorch has in this file.
from .distributions | bernoulli:Bernoulli beta:Beta binomial:Binomial categorical:Categorical
    cauchy:Cauchy chi2:Chi2 continuous_bernoulli:ContinuousBernoulli dirichlet:Dirichlet
    exp_family:ExponentialFamily exponential:Exponential fishersnedecor:FisherSnedecor
    gamma:Gamma generalized_pareto:GeneralizedPareto geometric:Geometric gumbel:Gumbel
    half_cauchy:HalfCauchy half_normal:HalfNormal independent:Independent
    inverse_gamma:InverseGamma kumaraswamy:Kumaraswamy laplace:Laplace lkj_cholesky:LKJCholesky
    log_normal:LogNormal logistic_normal:LogisticNormal
    lowrank_multivariate_normal:LowRankMultivariateNormal mixture_same_family:MixtureSameFamily
    multinomial:Multinomial multivariate_normal:MultivariateNormal
    negative_binomial:NegativeBinomial normal:Normal one_hot_categorical:OneHotCategorical
    one_hot_categorical:OneHotCategoricalStraightThrough pareto:Pareto poisson:Poisson
    relaxed_bernoulli:RelaxedBernoulli relaxed_categorical:RelaxedOneHotCategorical
    studentT:StudentT transformed_distribution:TransformedDistribution uniform:Uniform
    von_mises:VonMises weibull:Weibull wishart:Wishart
from .distributions._relaxed | relaxed_bernoulli:LogitRelaxedBernoulli
    relaxed_categorical:ExpRelaxedCategorical
multivariate_normal from .distributions._vectors as factor_of_inverse | _precision_to_scale_tril
multivariate_normal (bmat @ bvec.unsqueeze(-1)).squeeze(-1) | _batch_mv(bmat,bvec)
[nn.modules.*] names that PyTorch has in this file.
activation from .nn | CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU
    LogSigmoid LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax
    Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
adaptive from .nn | AdaptiveLogSoftmaxWithLoss
batchnorm from .nn | BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d
    LazyBatchNorm3d SyncBatchNorm
batchnorm from .nn.normalization.modules | _BatchNorm
channelshuffle from .nn | ChannelShuffle
container from .nn | ModuleDict ModuleList ParameterDict ParameterList Sequential
conv from .nn | Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d
    LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d
conv from .nn.convolution.modules | _ConvNd _ConvTransposeNd
distance from .nn | CosineSimilarity PairwiseDistance
dropout from .nn | AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout
flatten from .nn | Flatten Unflatten
fold from .nn | Fold Unfold
instancenorm from .nn | InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d
    LazyInstanceNorm2d LazyInstanceNorm3d
instancenorm from .nn.normalization.modules | _InstanceNorm
lazy from .nn.module.lazy | LazyModuleMixin
linear from .nn | Bilinear Identity LazyLinear Linear
linear from .nn.attention.modules | NonDynamicallyQuantizableLinear
loss from .nn | BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss
    GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss
    MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss
    SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
loss from .nn.loss.modules | _Loss _WeightedLoss
module from .nn | Module
module from .nn.module.hooks as BoundHook | _WrappedHook
module from .nn.module.state as IncompatibleKeys | _IncompatibleKeys
module from .nn.module.state as EXTRA | _EXTRA_STATE_KEY_SUFFIX
module from .nn.module.global_hooks | register_module_backward_hook
    register_module_buffer_registration_hook register_module_forward_hook
    register_module_forward_pre_hook register_module_full_backward_hook
    register_module_full_backward_pre_hook register_module_module_registration_hook
    register_module_parameter_registration_hook
normalization from .nn | CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm
padding from .nn | CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
    ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
    ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
pixelshuffle from .nn | PixelShuffle PixelUnshuffle
pooling from .nn | AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
    AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d
    FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d
    MaxUnpool2d MaxUnpool3d
rnn from .nn | GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase
sparse from .nn | Embedding EmbeddingBag
transformer from .nn | Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
    TransformerEncoderLayer
upsampling from .nn | Upsample UpsamplingBilinear2d UpsamplingNearest2d
[utils.data._utils] programs import `collate` from it.
[utils.data._utils.worker] a worker is a thread.
from .utils.data | get_worker_info
refused | _generate_state WorkerInfo
[utils.data._utils.collate] names that PyTorch has in this file.
from .utils.data | default_collate default_convert
[utils.data.*] names that PyTorch has in this file.
dataloader refused | _BaseDataLoaderIter _MultiProcessingDataLoaderIter
    _SingleProcessDataLoaderIter
dataloader from .utils.data | DataLoader default_collate default_convert get_worker_info
dataset from .utils.data | ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset
    TensorDataset random_split
sampler from .utils.data | BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler
    WeightedRandomSampler
[nn.utils.*] names that PyTorch has in this file.
fusion from .nn.utils | fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval
    fuse_linear_bn_weights
rnn from .nn.recurrent.packing | PackedSequence invert_permutation pack_padded_sequence
    pack_sequence pad_packed_sequence pad_sequence unpack_sequence unpad_sequence
"""
