"""The namespace `torch`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from tapegrad.torch import autograd as autograd
from tapegrad.torch import distributions as distributions
from tapegrad.torch import fft as fft
from tapegrad.torch import func as func
from tapegrad.torch import linalg as linalg
from tapegrad.torch import nn as nn
from tapegrad.torch import optim as optim
from tapegrad.torch import profiler as profiler
from tapegrad.torch import quasirandom as quasirandom
from tapegrad.torch import return_types as return_types
from tapegrad.torch import serialization as serialization
from tapegrad.torch import signal as signal
from tapegrad.torch import special as special
from tapegrad.torch import testing as testing
from tapegrad.torch import types as types
from tapegrad.torch import utils as utils
from tapegrad.torch import version as version
from tapegrad.torch import random as random
from tapegrad.torch._dtypes import Size as Size
from tapegrad.torch._dtypes import channels_last as channels_last
from tapegrad.torch._dtypes import channels_last_3d as channels_last_3d
from tapegrad.torch._dtypes import contiguous_format as contiguous_format
from tapegrad.torch._dtypes import device as device
from tapegrad.torch._dtypes import dtype as dtype
from tapegrad.torch._dtypes import finfo as finfo
from tapegrad.torch._dtypes import get_default_device as get_default_device
from tapegrad.torch._dtypes import get_default_dtype as get_default_dtype
from tapegrad.torch._dtypes import iinfo as iinfo
from tapegrad.torch._dtypes import layout as layout
from tapegrad.torch._dtypes import legacy_contiguous_format as legacy_contiguous_format
from tapegrad.torch._dtypes import memory_format as memory_format
from tapegrad.torch._dtypes import preserve_format as preserve_format
from tapegrad.torch._dtypes import set_default_device as set_default_device
from tapegrad.torch._dtypes import set_default_dtype as set_default_dtype
from tapegrad.torch._dtypes import strided as strided
from tapegrad.torch._graph.modes import enable_grad as enable_grad
from tapegrad.torch._graph.modes import inference_mode as inference_mode
from tapegrad.torch._graph.modes import is_grad_enabled as is_grad_enabled
from tapegrad.torch._graph.modes import is_inference_mode_enabled as is_inference_mode_enabled
from tapegrad.torch._graph.modes import no_grad as no_grad
from tapegrad.torch._graph.modes import set_grad_enabled as set_grad_enabled
from tapegrad.torch._install import install as install
from tapegrad.torch._install import uninstall as uninstall
from tapegrad.torch._mixed_precision import GradScaler as GradScaler
from tapegrad.torch._mixed_precision import autocast as autocast
from tapegrad.torch._tensor.tensor import Tensor as Tensor
from tapegrad.torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from tapegrad.torch.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from tapegrad.torch.func import vmap as vmap
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator as Generator
from tapegrad.torch._ops.create.legacy import _TensorType
from tapegrad.torch import accelerator as accelerator
from tapegrad.torch import amp as amp
from tapegrad.torch import ao as ao
from tapegrad.torch import backends as backends
from tapegrad.torch import classes as classes
from tapegrad.torch import compiler as compiler
from tapegrad.torch import cpu as cpu
from tapegrad.torch import cuda as cuda
from tapegrad.torch import distributed as distributed
from tapegrad.torch import export as export
from tapegrad.torch import functional as functional
from tapegrad.torch import futures as futures
from tapegrad.torch import fx as fx
from tapegrad.torch import hub as hub
from tapegrad.torch import jit as jit
from tapegrad.torch import library as library
from tapegrad.torch import masked as masked
from tapegrad.torch import monitor as monitor
from tapegrad.torch import mps as mps
from tapegrad.torch import mtia as mtia
from tapegrad.torch import multiprocessing as multiprocessing
from tapegrad.torch import nested as nested
from tapegrad.torch import onnx as onnx
from tapegrad.torch import ops as ops
from tapegrad.torch import overrides as overrides
from tapegrad.torch import package as package
from tapegrad.torch import quantization as quantization
from tapegrad.torch import sparse as sparse
from tapegrad.torch import storage as storage
from tapegrad.torch import xpu as xpu

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

__version__: _str
AcceleratorError: Any
class AliasDb:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class Argument:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ArgumentSpec:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class BFloat16Storage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class Block:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class BoolStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ByteStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class CallStack:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class CharStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class Code:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
from tapegrad.torch.jit import CompilationUnit as CompilationUnit
class CompleteArgumentSpec:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ComplexDoubleStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ComplexFloatStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ConcreteModuleType:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ConcreteModuleTypeBuilder:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class DeepCopyMemoTable:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class DisableTorchFunction:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class DisableTorchFunctionSubclass:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
DispatchKey: Any
def DispatchKeySet(key: Any) -> Any: ...
class DoubleStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ErrorReport:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
from tapegrad.torch.cpu import Event as Event
class ExcludeDispatchKeyGuard:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ExecutionPlan:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
FatalError: Any
class FloatStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class FunctionSchema:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
from tapegrad.torch.futures import Future as Future
class Gradient:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class Graph:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class GraphExecutorState:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class HalfStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class IODescriptor:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class IntStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
JITException: Any
class LiteScriptModule:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class LongStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class Node:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class OperatorInfo:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
OutOfMemoryError: Any
class PyTorchFileReader:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class PyTorchFileWriter:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class QInt32Storage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class QInt8Storage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class QUInt2x4Storage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class QUInt4x2Storage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class QUInt8Storage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptClass:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptClassFunction:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptDict:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptDictIterator:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptDictKeyIterator:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
from tapegrad.torch.jit import ScriptFunction as ScriptFunction
class ScriptList:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptListIterator:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
from tapegrad.torch.jit import ScriptMethod as ScriptMethod
from tapegrad.torch.jit import ScriptModule as ScriptModule
class ScriptModuleSerializer:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptObject:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ScriptObjectProperty:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class ShortStorage:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class StaticModule:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
Storage: Any
from tapegrad.torch.cpu import Stream as Stream
class SymBool:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class SymFloat:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class SymInt:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
TYPE_CHECKING: _bool
from tapegrad.torch.torch_version import TorchVersion as TorchVersion
class TracingState:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
from tapegrad.torch._ops.object.memory import TypedStorage as TypedStorage
USE_GLOBAL_DEPS: _bool
USE_RTLD_GLOBAL_WITH_LIBTORCH: _bool
UntypedStorage: Any
class Use:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
class Value:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
def autocast_decrement_nesting() -> Any: ...
def autocast_increment_nesting() -> Any: ...
def batch_norm_backward_elemt(*args: Any, **kwargs: Any) -> NoReturn: ...
def batch_norm_backward_reduce(*args: Any, **kwargs: Any) -> NoReturn: ...
def batch_norm_elemt(*args: Any, **kwargs: Any) -> NoReturn: ...
def batch_norm_gather_stats(*args: Any, **kwargs: Any) -> NoReturn: ...
def batch_norm_gather_stats_with_counts(*args: Any, **kwargs: Any) -> NoReturn: ...
def batch_norm_stats(*args: Any, **kwargs: Any) -> NoReturn: ...
def batch_norm_update_stats(*args: Any, **kwargs: Any) -> NoReturn: ...
bit: Any
bits16: Any
bits1x8: Any
bits2x4: Any
bits4x2: Any
bits8: Any
def ccol_indices_copy(*args: Any, **kwargs: Any) -> NoReturn: ...
chalf: Any
def choose_qparams_optimized(*args: Any, **kwargs: Any) -> NoReturn: ...
def clear_autocast_cache() -> None: ...
def col_indices_copy(*args: Any, **kwargs: Any) -> NoReturn: ...
def compiled_with_cxx11_abi() -> _bool: ...
complex32: Any
def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any=()) -> Any: ...
def crow_indices_copy(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_affine_grid_generator(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_batch_norm(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_convolution(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_convolution_add_relu(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_convolution_relu(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_convolution_transpose(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_grid_sampler(*args: Any, **kwargs: Any) -> NoReturn: ...
def cudnn_is_acceptable(*args: Any, **kwargs: Any) -> NoReturn: ...
def dequantize(*args: Any, **kwargs: Any) -> NoReturn: ...
def dsmm(*args: Any, **kwargs: Any) -> NoReturn: ...
def empty_quantized(*args: Any, **kwargs: Any) -> NoReturn: ...
def fake_quantize_per_channel_affine(*args: Any, **kwargs: Any) -> NoReturn: ...
def fake_quantize_per_tensor_affine(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_linear_fp16_weight(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_linear_fp16_weight_fp32_activation(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_linear_int8_weight(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_linear_int8_weight_fp32_activation(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_linear_quantize_weight(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_pack_gemm_matrix_fp16(*args: Any, **kwargs: Any) -> NoReturn: ...
def fbgemm_pack_quantized_matrix(*args: Any, **kwargs: Any) -> NoReturn: ...
float4_e2m1fn_x2: Any
float8_e4m3fn: Any
float8_e4m3fnuz: Any
float8_e5m2: Any
float8_e5m2fnuz: Any
float8_e8m0fnu: Any
fork: Any
def from_file(*args: Any, **kwargs: Any) -> NoReturn: ...
def fused_moving_avg_obs_fake_quant(*args: Any, **kwargs: Any) -> NoReturn: ...
def get_autocast_cpu_dtype() -> Any: ...
def get_autocast_dtype(device_type: Any) -> Any: ...
def get_autocast_gpu_dtype() -> Any: ...
def get_autocast_ipu_dtype() -> Any: ...
def get_autocast_xla_dtype() -> Any: ...
def get_device_module(device: Any=None) -> Any: ...
def get_file_path(*args: Any, **kwargs: Any) -> NoReturn: ...
def get_float32_matmul_precision() -> Any: ...
def get_num_interop_threads() -> _int: ...
has_lapack: _bool
has_mkl: _bool
has_openmp: _bool
has_spectral: _bool
def hash_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
def hsmm(*args: Any, **kwargs: Any) -> NoReturn: ...
def hspmm(*args: Any, **kwargs: Any) -> NoReturn: ...
def import_ir_module(*args: Any, **kwargs: Any) -> NoReturn: ...
def import_ir_module_from_buffer(*args: Any, **kwargs: Any) -> NoReturn: ...
def indices_copy(*args: Any, **kwargs: Any) -> NoReturn: ...
def init_num_threads() -> None: ...
int1: Any
int2: Any
int3: Any
int4: Any
int5: Any
int6: Any
int7: Any
def int_repr(*args: Any, **kwargs: Any) -> NoReturn: ...
def is_autocast_cache_enabled() -> Any: ...
def is_autocast_cpu_enabled() -> Any: ...
def is_autocast_enabled(device_type: Any='cuda') -> Any: ...
def is_autocast_ipu_enabled() -> Any: ...
def is_autocast_xla_enabled() -> Any: ...
def is_distributed(input: Any) -> _bool: ...
def is_storage(obj: Any) -> Any: ...
def is_vulkan_available() -> _bool: ...
def is_warn_always_enabled() -> Any: ...
jagged: Any
def merge_type_from_type_comment(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_batch_norm(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_convolution(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_convolution_add_relu(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_convolution_relu(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_convolution_transpose(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_ctc_loss(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_depthwise_convolution(*args: Any, **kwargs: Any) -> NoReturn: ...
def miopen_rnn(*args: Any, **kwargs: Any) -> NoReturn: ...
def mkldnn_adaptive_avg_pool2d(*args: Any, **kwargs: Any) -> NoReturn: ...
def mkldnn_convolution(*args: Any, **kwargs: Any) -> NoReturn: ...
def mkldnn_linear_backward_weights(*args: Any, **kwargs: Any) -> NoReturn: ...
def mkldnn_max_pool2d(*args: Any, **kwargs: Any) -> NoReturn: ...
def mkldnn_max_pool3d(*args: Any, **kwargs: Any) -> NoReturn: ...
def mkldnn_rnn_layer(*args: Any, **kwargs: Any) -> NoReturn: ...
def native_norm(*args: Any, **kwargs: Any) -> NoReturn: ...
newaxis: None
def parse_ir(*args: Any, **kwargs: Any) -> NoReturn: ...
def parse_schema(*args: Any, **kwargs: Any) -> NoReturn: ...
def parse_type_comment(*args: Any, **kwargs: Any) -> NoReturn: ...
per_channel_affine: Any
per_channel_affine_float_qparams: Any
per_channel_symmetric: Any
per_tensor_affine: Any
per_tensor_symmetric: Any
def q_per_channel_axis(*args: Any, **kwargs: Any) -> NoReturn: ...
def q_per_channel_scales(*args: Any, **kwargs: Any) -> NoReturn: ...
def q_per_channel_zero_points(*args: Any, **kwargs: Any) -> NoReturn: ...
def q_scale(*args: Any, **kwargs: Any) -> NoReturn: ...
def q_zero_point(*args: Any, **kwargs: Any) -> NoReturn: ...
qint32: Any
qint8: Any
def qscheme(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantize_per_channel(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantize_per_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantize_per_tensor_dynamic(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_batch_norm(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_gru(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_gru_cell(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_lstm(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_lstm_cell(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_max_pool1d(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_max_pool2d(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_max_pool3d(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_rnn_relu_cell(*args: Any, **kwargs: Any) -> NoReturn: ...
def quantized_rnn_tanh_cell(*args: Any, **kwargs: Any) -> NoReturn: ...
quint2x4: Any
quint4x2: Any
quint8: Any
def resize_as_sparse_(*args: Any, **kwargs: Any) -> NoReturn: ...
def row_indices_copy(*args: Any, **kwargs: Any) -> NoReturn: ...
def saddmm(*args: Any, **kwargs: Any) -> NoReturn: ...
def set_autocast_cache_enabled(enabled: Any) -> Any: ...
def set_autocast_cpu_dtype(dtype: Any) -> Any: ...
def set_autocast_cpu_enabled(enabled: Any) -> Any: ...
def set_autocast_dtype(device_type: Any, dtype: Any) -> Any: ...
def set_autocast_enabled(device_type: Any, enabled: Any=None) -> Any: ...
def set_autocast_gpu_dtype(dtype: Any) -> Any: ...
def set_autocast_ipu_dtype(dtype: Any) -> Any: ...
def set_autocast_ipu_enabled(enabled: Any) -> Any: ...
def set_autocast_xla_dtype(dtype: Any) -> Any: ...
def set_autocast_xla_enabled(enabled: Any) -> Any: ...
def set_float32_matmul_precision(precision: Any) -> Any: ...
def set_flush_denormal(mode: Any) -> _bool: ...
def set_num_interop_threads(num: Any) -> None: ...
def set_warn_always(b: Any) -> Any: ...
def smm(*args: Any, **kwargs: Any) -> NoReturn: ...
sparse_bsc: Any
def sparse_bsc_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
sparse_bsr: Any
def sparse_bsr_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
def sparse_compressed_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
sparse_coo: Any
def sparse_coo_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
sparse_csc: Any
def sparse_csc_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
sparse_csr: Any
def sparse_csr_tensor(*args: Any, **kwargs: Any) -> NoReturn: ...
def spmm(*args: Any, **kwargs: Any) -> NoReturn: ...
def sspaddmm(*args: Any, **kwargs: Any) -> NoReturn: ...
def sym_constrain_range(size: Any, *, min: Any=None, max: Any=None) -> None: ...
def sym_constrain_range_for_size(size: Any, *, min: Any=None, max: Any=None) -> None: ...
def sym_float(a: Any) -> Any: ...
def sym_fresh_size(*args: Any, **kwargs: Any) -> NoReturn: ...
def sym_int(a: Any) -> Any: ...
def sym_ite(b: Any, t: Any, f: Any) -> Any: ...
def sym_max(a: Any, b: Any) -> Any: ...
def sym_min(a: Any, b: Any) -> Any: ...
def sym_not(a: Any) -> Any: ...
def sym_sqrt(a: Any) -> Any: ...
def sym_sum(args: Any) -> Any: ...
def thread_safe_generator(*args: Any, **kwargs: Any) -> NoReturn: ...
torch: Any
uint1: Any
uint2: Any
uint3: Any
uint4: Any
uint5: Any
uint6: Any
uint7: Any
def unify_type_list(*args: Any, **kwargs: Any) -> NoReturn: ...
def values_copy(*args: Any, **kwargs: Any) -> NoReturn: ...
wait: Any
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
complex128: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
half: _dtype
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
long: _dtype
short: _dtype
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
BoolTensor: _TensorType
ByteTensor: _TensorType
CharTensor: _TensorType
DoubleTensor: _TensorType
FloatTensor: _TensorType
HalfTensor: _TensorType
IntTensor: _TensorType
LongTensor: _TensorType
ShortTensor: _TensorType
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""
def abs_(input: Tensor) -> Tensor:
    """`abs`, written into this tensor's own memory."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose cosine is the element."""
def acos_(input: Tensor) -> Tensor:
    """`acos`, written into this tensor's own memory."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element."""
def acosh_(input: Tensor) -> Tensor:
    """`acosh`, written into this tensor's own memory."""
def adaptive_avg_pool1d(input: Tensor, output_size: _Sizes) -> Tensor:
    """Means over windows of signals, such that the result has the size `output_size`."""
def adaptive_max_pool1d(
    input: Tensor, output_size: _Sizes, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals, such that there are `output_size`, and where they are."""
def add(
    input: Tensor, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """`input + alpha * other`."""
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha *` the sum of the products of two stacks of matrices."""
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` of matrices; input broadcasts."""
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1
) -> Tensor:
    """`addmv`, written into this tensor's own memory."""
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped, of the conjugate."""
def affine_grid_generator(
    theta: Tensor, size: Sequence[_int], align_corners: _bool, *, out: Tensor | None = None
) -> Tensor:
    """A grid of the places that an affine map takes from, without checks of the map."""
def alias_copy(input: Tensor) -> Tensor:
    """A copy of a tensor."""
def all(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Whether all elements are true, of everything or along dimensions."""
def allclose(
    input: Tensor,
    other: _Operand,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Whether `|input - other| <= atol + rtol * |other|` everywhere."""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout that keeps mean 0 and variance 1: `nn.functional.alpha_dropout`."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`alpha_dropout`, written into its argument."""
def amax(
    input: Tensor, dim: _Sizes = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The largest element; elements that tie share the gradient."""
def amin(
    input: Tensor, dim: _Sizes = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element; elements that tie share the gradient."""
def aminmax(
    input: Tensor, *, dim: _Sizes | None = None, keepdim: _bool = False
) -> return_types.aminmax:
    """The smallest and the largest element, as a named tuple (min, max)."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of complex numbers in radians; of real ones 0 or pi."""
def any(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Whether any element is true, of everything or along dimensions."""
def arange(
    start: _Number = 0,
    end: _Number | None = None,
    step: _Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Numbers from start to before end: `arange(5)`, `arange(1, 2, 0.25)`; ints give ints."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose cosine is the element."""
def arccos_(input: Tensor) -> Tensor:
    """`acos`, written into this tensor's own memory."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element."""
def arccosh_(input: Tensor) -> Tensor:
    """`acosh`, written into this tensor's own memory."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose sine is the element."""
def arcsin_(input: Tensor) -> Tensor:
    """`asin`, written into this tensor's own memory."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element."""
def arcsinh_(input: Tensor) -> Tensor:
    """`asinh`, written into this tensor's own memory."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose tangent is the element."""
def arctan2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""
def arctan_(input: Tensor) -> Tensor:
    """`atan`, written into this tensor's own memory."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element."""
def arctanh_(input: Tensor) -> Tensor:
    """`atanh`, written into this tensor's own memory."""
def are_deterministic_algorithms_enabled() -> _bool:
    """The last setting."""
def argmax(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Where the largest element is, the first of those that tie."""
def argmin(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Where the smallest element is, the first of those that tie."""
def argsort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Where the elements in order along a dimension are."""
def argwhere(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The positions of what is not 0, a row for each."""
def as_strided(
    input: Tensor, size: _Sizes, stride: _Sizes, storage_offset: _int | None = None
) -> Tensor:
    """A view of the memory of a tensor with other sizes, strides and offset."""
def as_strided_(
    input: Tensor, size: _Sizes, stride: _Sizes, storage_offset: _int | None = None
) -> Tensor:
    """Give this tensor other sizes, strides and offset over its memory."""
def as_strided_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `as_strided` returns a view of."""
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: _Sizes,
    stride: _Sizes,
    storage_offset: _int | None = None,
) -> Tensor:
    """A copy of the tensor, in which `src` is written to what `as_strided` would show."""
def as_tensor(
    data: Any, dtype: _dtype | None = None, device: _Device | None = None
) -> Tensor:
    """Data as a tensor: without a copy, and with its history, where it has the dtype already."""
def asarray(
    obj: Any,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    copy: _bool | None = None,
    requires_grad: _bool | None = None,
) -> Tensor:
    """As `as_tensor`, with a say in whether it is copied."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose sine is the element."""
def asin_(input: Tensor) -> Tensor:
    """`asin`, written into this tensor's own memory."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element."""
def asinh_(input: Tensor) -> Tensor:
    """`asinh`, written into this tensor's own memory."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians whose tangent is the element."""
def atan2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""
def atan_(input: Tensor) -> Tensor:
    """`atan`, written into this tensor's own memory."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element."""
def atanh_(input: Tensor) -> Tensor:
    """`atanh`, written into this tensor's own memory."""
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *rest: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Views with at least one dimension."""
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *rest: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Views with at least two dimensions, new ones in front."""
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *rest: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Views with at least three dimensions: a vector lies along the middle one."""
def avg_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """Means over windows of signals."""
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number = 1,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    **options: Any,
) -> Tensor:
    """A triangle from 0 to 1 and back."""
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor:
    """Each channel normalized over the batch: `nn.functional.batch_norm` in another order."""
def bernoulli(
    input: Tensor,
    p: _Operand | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Zeros and ones; each element (or `p`) is the probability of a one."""
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Products `input1 @ weight[k] @ input2` for every k, plus `bias`."""
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: _int = 0,
) -> Tensor:
    """The function of `nn.functional`, with a number for its reduction."""
def bincount(
    input: Tensor,
    weights: Tensor | None = None,
    minlength: _int = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How often each number from 0 on occurs, or the sum of its weights."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of successes in `count` trials of probability `prob`: constants."""
def bitwise_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise bitwise and of integers and bools."""
def bitwise_left_shift(
    input: Tensor, other: _Operand, *, out: Tensor | None = None
) -> Tensor:
    """Elementwise bitwise left shift of integers."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All bits inverted; of booleans, `not`."""
def bitwise_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise bitwise or of integers and bools."""
def bitwise_right_shift(
    input: Tensor, other: _Operand, *, out: Tensor | None = None
) -> Tensor:
    """Elementwise bitwise right shift of integers."""
def bitwise_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise bitwise xor of integers and bools."""
def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    **options: Any,
) -> Tensor:
    """`0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)`."""
def block_diag(*tensors: Tensor, out: Tensor | None = None) -> Tensor:
    """Matrices along the diagonal of a matrix that is zero elsewhere."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two stacks of matrices, pair by pair."""
def broadcast_shapes(*shapes: _Sizes) -> Size:
    """The shape that tensors of these shapes have together."""
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def broadcast_tensors(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Views of tensors in the shape that they have together."""
def broadcast_to(input: Tensor, *size: _Sizes, **words: Any) -> Tensor:
    """`input.expand(size)`."""
def bucketize(
    input: Tensor,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The number of the bucket between sorted boundaries in which each value is."""
def can_cast(from_: _dtype, to: _dtype) -> _bool:
    """Whether an operation in place may convert one dtype to another."""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one element of each tensor, one way a row."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along one of their dimensions."""
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary',
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The distances, by the p-norm, of every row of one matrix to every row of another."""
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise ceil; a derivative of 0."""
def ceil_(input: Tensor) -> Tensor:
    """`ceil`, written into this tensor's own memory."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """`x`, and `alpha * (e**(x / alpha) - 1)` below 0."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """`celu`, written into this tensor's own memory."""
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """`linalg.multi_dot` of matrices, its old name."""
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels in another order: the first of each group, then the second ones."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The older name of `linalg.cholesky`."""
def cholesky_inverse(L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `L @ L.mH`."""
def cholesky_solve(
    B: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """X with `L @ L.mH @ X == B`."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most so many parts along a dimension, of one size but maybe for the last."""
def clamp(
    input: Tensor,
    min: _Operand | None = None,
    max: _Operand | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements clamped to bounds: numbers or tensors, of which one may be None."""
def clamp_(input: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """`clamp`, written into this tensor's own memory."""
def clamp_max(input: Tensor, max: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The elements clamped to an upper bound."""
def clamp_max_(input: Tensor, max: _Operand) -> Tensor:
    """`clamp_max`, written into this tensor's own memory."""
def clamp_min(input: Tensor, min: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The elements clamped to a lower bound."""
def clamp_min_(input: Tensor, min: _Operand) -> Tensor:
    """`clamp_min`, written into this tensor's own memory."""
def clip(
    input: Tensor,
    min: _Operand | None = None,
    max: _Operand | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements clamped to bounds: numbers or tensors, of which one may be None."""
def clip_(input: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """`clamp`, written into this tensor's own memory."""
def clone(input: Tensor, *, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """A copy that passes the gradient on; in the memory order of the tensor by default."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dimension 1, vectors as columns."""
def combinations(
    input: Tensor, r: _int = 2, with_replacement: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """All ways to choose `r` elements of a tensor of one dimension, one way a row."""
def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = 'inductor',
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    name: _str | None = None,
) -> Any:
    """A module or function whose calls run as programs, with the results of the eager calls."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor of a real and an imaginary part."""
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along one of their dimensions."""
def concatenate(
    tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None
) -> Tensor:
    """Tensors joined along one of their dimensions."""
def conj(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; of real tensors the tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate."""
def conj_physical_(input: Tensor) -> Tensor:
    """`conj_physical`, written into this tensor's own memory."""
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _float = 0) -> Tensor:
    """The tensor with one value before and after the elements of its dimensions."""
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution of signals (cross-correlation): weighted sums over windows."""
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution of images (cross-correlation): weighted sums over windows."""
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    groups: _int = 1,
) -> Tensor:
    """Convolution of volumes (cross-correlation): weighted sums over windows."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """A convolution of sequences whose time comes first."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    output_padding: _Sizes = 0,
    groups: _int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution of signals: the derivative of `conv1d` by its input."""
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    output_padding: _Sizes = 0,
    groups: _int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution of images: the derivative of `conv2d` by its input."""
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Sizes = 1,
    padding: _Sizes | _str = 0,
    output_padding: _Sizes = 0,
    groups: _int = 1,
    dilation: _Sizes = 1,
) -> Tensor:
    """Transposed convolution of volumes: the derivative of `conv3d` by its input."""
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: _Sizes,
    padding: _Sizes | _str,
    dilation: _Sizes,
    transposed: _bool,
    output_padding: _Sizes,
    groups: _int,
) -> Tensor:
    """The convolution, or transposed one, of as many dimensions as the weight has."""
def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The size of one and the sign of the other."""
def corrcoef(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The correlation coefficients of variables in rows over observations in columns."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of each element, in radians."""
def cos_(input: Tensor) -> Tensor:
    """`cos`, written into this tensor's own memory."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of each element."""
def cosh_(input: Tensor) -> Tensor:
    """`cosh`, written into this tensor's own memory."""
def cosine_embedding_loss(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.cosine_embedding_loss`, with a number for its reduction."""
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None
) -> Tensor:
    """The cosines of the angles between vectors along a dimension."""
def count_nonzero(
    input: Tensor, dim: _Sizes | None = None, *, out: Tensor | None = None
) -> Tensor:
    """How many elements are not zero."""
def cov(
    input: Tensor,
    *,
    correction: _int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The covariances of variables in rows over observations in columns."""
def cross(
    input: Tensor, other: _Operand, dim: _int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The cross products of vectors of three elements along `dim`: the first of length 3."""
def ctc_loss(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.ctc_loss`, with a number for its reduction."""
def cummax(input: Tensor, dim: _Sizes) -> return_types.cummax:
    """The largest element so far, and where it is."""
def cummin(input: Tensor, dim: _Sizes) -> return_types.cummin:
    """The smallest element so far, and where it is."""
def cumprod(
    input: Tensor, dim: _Sizes, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The product of the elements so far along a dimension."""
def cumsum(
    input: Tensor, dim: _Sizes, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum of the elements so far along a dimension."""
def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _Number | None = None,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The integral so far of samples along a dimension by the trapezoidal rule."""
default_generator: Generator
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """`deg2rad`, written into this tensor's own memory."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of a square matrix, or of each of a stack."""
def detach(input: Tensor) -> Tensor:
    """The same memory without history."""
def detach_(input: Tensor) -> Tensor:
    """Cut a tensor from the graph that made it."""
def detach_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `detach` returns a view of."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix, as a copy; the matrix whose diagonal is a vector."""
def diag_embed(
    input: Tensor,
    offset: _int = 0,
    dim1: _int = -2,
    dim2: _int = -1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Matrices whose diagonals are the last dimension, zero elsewhere."""
def diagflat(input: Tensor, offset: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix whose diagonal is the flat tensor."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension of the result."""
def diagonal_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `diagonal` returns a view of."""
def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: _int = 0,
    dim1: _int = 0,
    dim2: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The tensor with src on a diagonal."""
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along a dimension, n times."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma at each element."""
def dist(
    input: Tensor, other: _Operand, p: _Number = 2, *, out: Tensor | None = None
) -> Tensor:
    """The p-norm of a difference."""
def div(
    input: Tensor,
    other: _Operand,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards."""
def divide(
    input: Tensor,
    other: _Operand,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements, without a conjugate."""
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Each element 0 with probability p, else divided by 1 - p."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`dropout`, written into its argument."""
def dsplit(
    input: Tensor,
    indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
    *,
    sections: _int | None = None,
    indices: _Sizes | None = None,
) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 2, evenly where a number of parts is given."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dimension 2."""
def eig(*_args: Any, **_kwargs: Any) -> Tensor:
    """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products of tensors, by letters for their dimensions: `einsum("ij,jk->ik", x, y)`."""
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """As `nn.functional.embedding`, but with the matrix first."""
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool = False,
    mode: _int = 0,
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of rows of a matrix, reduced, and what PyTorch returns besides."""
def embedding_renorm_(
    weight: Tensor, indices: Tensor, max_norm: _float, norm_type: _float = 2.0
) -> Tensor:
    """Scale the given rows of a matrix down to a norm of at most `max_norm`, in place."""
def empty(
    *sizes: _Sizes,
    size: _Sizes | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of a shape whose elements are whatever the memory holds."""
def empty_like(
    input: Tensor,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor in the shape and dtype of another one, holding whatever the memory does."""
def empty_permuted(
    size: _Sizes,
    physical_layout: _Sizes,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """An empty tensor whose dimensions lie in memory in the order of `physical_layout`."""
def empty_strided(
    size: _Sizes,
    stride: _Sizes,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """An empty tensor whose neighbours along each dimension lie `stride` elements apart."""
def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input == other`."""
def equal(input: Tensor, other: _Operand) -> _bool:
    """Whether two tensors have the same shape and elements."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element."""
def erf_(input: Tensor) -> Tensor:
    """`erf`, written into this tensor's own memory."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x) of each element."""
def erfc_(input: Tensor) -> Tensor:
    """`erfc`, written into this tensor's own memory."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf of each element."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`e` to the power of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def exp2_(input: Tensor) -> Tensor:
    """`exp2`, written into this tensor's own memory."""
def exp_(input: Tensor) -> Tensor:
    """`exp`, written into this tensor's own memory."""
def expand_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `expand` returns a view of."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) - 1` of each element, exact to rounding near 0."""
def expm1_(input: Tensor) -> Tensor:
    """`expm1`, written into this tensor's own memory."""
def eye(
    n: _int,
    m: _int | None = None,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal, zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """As `alpha_dropout`, of whole channels."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`feature_alpha_dropout`, written into its argument."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Each channel 0 with probability p, else divided by 1 - p."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`feature_dropout`, written into its argument."""
def fill(input: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """A tensor of the same shape and dtype with one value."""
def fill_(self: Tensor, value: _Operand) -> Tensor:
    """Write a number, or a tensor of no dimensions, into all elements of this tensor."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise trunc; a derivative of 0."""
def fix_(input: Tensor) -> Tensor:
    """`trunc`, written into this tensor's own memory."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim merged into one."""
def flip(input: Tensor, *dims: _Sizes, out: Tensor | None = None) -> Tensor:
    """The elements in reverse order along these dimensions."""
def fliplr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The columns in reverse order."""
def flipud(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The rows in reverse order."""
def float_power(input: Tensor, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent` in double precision."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise floor; a derivative of 0."""
def floor_(input: Tensor) -> Tensor:
    """`floor`, written into this tensor's own memory."""
def floor_divide(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down; a derivative of 0."""
def fmax(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise the larger of two; the other one where one is NaN."""
def fmin(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise the smaller of two; the other one where one is NaN."""
def fmod(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of the dividend."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fractional part, with the sign of the element."""
def frac_(input: Tensor) -> Tensor:
    """`frac`, written into this tensor's own memory."""
def frexp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Mantissas from 0.5 to before 1, and exponents of 2."""
def frobenius_norm(
    input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False
) -> Tensor:
    """The root of the sum of squares over one or two dimensions."""
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of an array of another library."""
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over the memory of a NumPy array: writes to one are seen in the other."""
def frombuffer(
    buffer: Any,
    *,
    dtype: _dtype | None,
    count: _int = -1,
    offset: _int = 0,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of one dimension over the memory of a buffer."""
def full(
    size: _Sizes,
    fill_value: _Operand,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of a shape, filled with a number, which decides on the dtype."""
def full_like(
    input: Tensor,
    fill_value: _Operand,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor in the shape and dtype of another one, filled with a number."""
def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`out[i, j] = input[index[i, j], j]` for dim 0, and so on: one element for each index."""
def gcd(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor."""
def gcd_(input: Tensor, other: _Operand) -> Tensor:
    """`gcd`, written into this tensor's own memory."""
def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input >= other`."""
def geqrf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """QR as LAPACK packs it: R above, the vectors of reflections below, and their factors tau."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of every element of one vector with every element of another."""
def get_deterministic_debug_mode() -> _int:
    """The last setting, as a number: 0, 1 or 2."""
def get_device(self: Tensor) -> _int:
    """-1: tensors are in the CPU's memory."""
def get_num_threads() -> _int:
    """The number of threads that was set, or that NumPy's linear algebra uses."""
def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes."""
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: _Sizes | None = None, edge_order: Any = 1
) -> tuple[Tensor, ...]:
    """Central differences along each dimension, or those of `dim`."""
def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input > other`."""
def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input >= other`."""
def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """As `nn.functional.grid_sample`, with numbers for the mode and the padding."""
def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """As `nn.functional.grid_sample`, with numbers for the mode and the padding."""
def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """As `nn.functional.grid_sample`, with numbers for the mode and the padding."""
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enabled: _bool = True,
) -> Tensor:
    """`nn.functional.group_norm`, which here also takes a flag for CUDA's own kernels."""
def gru(
    input: Tensor, hx: Any, params: Any, *options: Any, **words: Any
) -> tuple[Tensor, Tensor]:
    """All layers of a network, a GRU."""
def gru_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, a GRU."""
def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input > other`."""
def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    *,
    dtype: _dtype | None = None,
    **options: Any,
) -> Tensor:
    """`alpha - beta cos(2 pi k / n)`."""
def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    **options: Any,
) -> Tensor:
    """`sin(pi k / n) ** 2`."""
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`x`, but 0 where |x| is at most lambd."""
def heaviside(input: Tensor, values: _Operand, *, out: Tensor | None = None) -> Tensor:
    """0 below zero, 1 above, `values` at it; a derivative of 0."""
def hinge_embedding_loss(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.hinge_embedding_loss`, with a number for its reduction."""
def histc(
    input: Tensor,
    bins: _int = 100,
    min: _float = 0,
    max: _float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Counts in bins of equal width from min to max; where these are equal, of the data."""
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[_float] | None = None,
    weight: _Operand | None = None,
    density: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Counts, or sums of weights, of the elements in bins, and the edges of these."""
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[_float] | None = None,
    weight: _Operand | None = None,
    density: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Counts of points, with coordinates along the last dimension, in boxes; and the edges."""
def hsplit(
    input: Tensor,
    indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
    *,
    sections: _int | None = None,
    indices: _Sizes | None = None,
) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 0, 1 of matrices, evenly where a number of parts is given."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dimension 1, vectors along 0."""
def hypot(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input**2 + other**2)`."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def i0_(input: Tensor) -> Tensor:
    """`i0`, written into this tensor's own memory."""
def igamma(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function of a = input and x = other."""
def igammac(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function of a = input and x = other."""
def imag(self: Tensor) -> Tensor:
    """The imaginary parts, in the same memory."""
def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Any,
    *,
    alpha: _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """The parts of source added at these positions of a dimension."""
def index_copy(
    input: Tensor, dim: _int, index: Tensor, source: Any, *, out: Tensor | None = None
) -> Tensor:
    """The parts of source in place of those at these positions of a dimension."""
def index_fill(
    input: Tensor, dim: _int, index: Tensor, value: _Operand, *, out: Tensor | None = None
) -> Tensor:
    """One value at these positions of a dimension."""
def index_put(
    input: Tensor,
    indices: Sequence[Tensor],
    values: _Operand,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The tensor after `input[indices] = values`."""
def index_put_(
    input: Tensor, indices: Sequence[Tensor], values: _Operand, accumulate: _bool = False
) -> Tensor:
    """`index_put`, written into this tensor's own memory."""
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Any,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """The parts of source combined at these positions: prod, mean, amax or amin."""
def index_select(
    input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The parts at these positions of a dimension."""
def initial_seed() -> _int:
    """The seed that the default generator started from."""
def inner(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over the last dimensions of both; of a number, the product."""
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor:
    """Each channel of each example normalized: `nn.functional.instance_norm` in another order."""
def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix, or of each of a stack."""
def is_complex(input: Tensor) -> _bool:
    """Whether the elements are complex."""
def is_conj(self: Tensor) -> _bool:
    """False: conjugates are computed at once."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """The last `warn_only` of `use_deterministic_algorithms`."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the elements are real floats."""
def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in inference mode."""
def is_neg(self: Tensor) -> _bool:
    """False: negatives are computed at once."""
def is_nonzero(self: Tensor) -> _bool:
    """Whether the one element of a tensor is not zero."""
def is_same_size(self: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(self: Tensor) -> _bool:
    """Whether the elements may be negative."""
def is_tensor(obj: object) -> _bool:
    """Whether an object is a tensor."""
def isclose(
    input: Tensor,
    other: _Operand,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are neither infinite nor NaN."""
def isin(
    elements: Tensor,
    test_elements: Tensor,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Where an element is among the test elements."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are infinite."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are NaN."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are minus infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are plus infinity."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements have no imaginary part."""
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor:
    """The signal of which `stft` with the same parameters gives `input`."""
def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: _dtype | None = None,
    **options: Any,
) -> Tensor:
    """`i0(beta sqrt(1 - (2 k / n - 1) ** 2)) / i0(beta)`."""
def kl_div(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.kl_div`, with a number for its reduction."""
def kron(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`."""
def kthvalue(
    input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False
) -> return_types.kthvalue:
    """The k-th smallest element along a dimension, and where it is."""
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor:
    """`nn.functional.layer_norm`, which here also takes a flag for CUDA's own kernels."""
def lcm(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple."""
def lcm_(input: Tensor, other: _Operand) -> Tensor:
    """`lcm`, written into this tensor's own memory."""
def ldexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * 2**other`."""
def ldexp_(input: Tensor, other: _Operand) -> Tensor:
    """`ldexp`, written into this tensor's own memory."""
def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input <= other`."""
def lerp(
    input: Tensor, end: _Operand, weight: _Operand, *, out: Tensor | None = None
) -> Tensor:
    """`input + weight * (end - input)`."""
def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input < other`."""
def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input <= other`."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of abs(gamma(x)) of each element."""
def linspace(
    start: _Number,
    end: _Number,
    steps: _int,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """`steps` numbers evenly from start to end, both included."""
def load(
    f: _str | os.PathLike[_str] | IO[_bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: _bool | None = None,
    mmap: _bool | None = None,
    max_bytes: _int | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load a file that `save` wrote, or PyTorch."""
def lobpcg(
    A: Tensor,
    k: _int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: _int | None = None,
    iK: Tensor | None = None,
    niter: _int | None = None,
    tol: _float | None = None,
    largest: _bool | None = None,
    method: _str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: dict[_str, _int] | None = None,
    ortho_fparams: dict[_str, _float] | None = None,
    ortho_bparams: dict[_str, _bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of a symmetric matrix, and their eigenvectors."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of each element."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of each element to base 10."""
def log10_(input: Tensor) -> Tensor:
    """`log10`, written into this tensor's own memory."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + x)` of each element, exact to rounding near 0."""
def log1p_(input: Tensor) -> Tensor:
    """`log1p`, written into this tensor's own memory."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of each element to base 2."""
def log2_(input: Tensor) -> Tensor:
    """`log2`, written into this tensor's own memory."""
def log_(input: Tensor) -> Tensor:
    """`log`, written into this tensor's own memory."""
def log_softmax(
    input: Tensor, dim: _Sizes, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`log(softmax(x))`, without overflow."""
def logaddexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`log(e**x + e**y)`."""
def logaddexp2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`log2(2**x + 2**y)`."""
def logcumsumexp(input: Tensor, dim: _Sizes, *, out: Tensor | None = None) -> Tensor:
    """`log(cumsum(exp(x)))` along a dimension, without overflow."""
def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative."""
def logical_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise and of truth values; numbers but 0 are true."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are 0."""
def logical_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise or of truth values; numbers but 0 are true."""
def logical_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise xor of truth values; numbers but 0 are true."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))`, NaN outside of [0, 1]; with eps, of x clamped to [eps, 1 - eps]."""
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """`logit`, written into this tensor's own memory."""
def logspace(
    start: _Number,
    end: _Number,
    steps: _int,
    base: _float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Powers of `base` whose exponents go evenly from start to end."""
def logsumexp(
    input: Tensor, dim: _Sizes, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """`log(sum(exp(x)))` along dimensions, without overflow."""
def lstm(
    input: Tensor, hx: Any, params: Any, *options: Any, **words: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """All layers of a network, an LSTM."""
def lstm_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of a network, an LSTM."""
def lstsq(*_args: Any, **_kwargs: Any) -> Tensor:
    """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input < other`."""
def lu(
    A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Tensor | None = None
) -> Tensor:
    """The older form of `linalg.lu_factor`: LU and the swaps of rows, and codes if get_infos."""
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Tensor | None = None) -> Tensor:
    """The older form of `linalg.lu_solve`: X with `A @ X == b`."""
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """P, L and U of what `linalg.lu_factor` returned; empty ones for what is not asked for."""
def manual_seed(seed: _int) -> Generator:
    """Start the default generator anew from a seed, and return it."""
def margin_ranking_loss(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.margin_ranking_loss`, with a number for its reduction."""
def masked_fill(
    input: Tensor, mask: Tensor, value: _Operand, *, out: Tensor | None = None
) -> Tensor:
    """The tensor with one value where a mask is true."""
def masked_scatter(
    input: Tensor, mask: Tensor, source: Any, *, out: Tensor | None = None
) -> Tensor:
    """The elements of source, in order, where a mask is true."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask is true, as a vector."""
def matmul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast."""
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of a square matrix, or of each of a stack."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied n times; of its inverse where n is negative."""
def matrix_rank(*_args: Any, **_kwargs: Any) -> Tensor:
    """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest element of all, or along a dimension; or elementwise, of two tensors."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals."""
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of signals, and where they are."""
def max_pool2d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """Maxima over windows of images."""
def max_pool3d(
    input: Tensor,
    kernel_size: _Sizes,
    stride: _Sizes | None = None,
    padding: _Sizes | _str = 0,
    dilation: _Sizes = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """Maxima over windows of volumes."""
def maximum(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise the larger of two; NaN where either is."""
def mean(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of all elements, or along dimensions."""
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False) -> return_types.median:
    """The median, of two middle ones the lower."""
@overload
def meshgrid(*tensors: Tensor, indexing: _str | None = None) -> tuple[Tensor, ...]: ...
@overload
def meshgrid(
    tensors: Sequence[Tensor], /, *, indexing: _str | None = None
) -> tuple[Tensor, ...]:
    """Tensors that each vary along a dimension of their own, all of one shape."""
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest element of all, or along a dimension; or elementwise, of two tensors."""
def minimum(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise the smaller of two; NaN where either is."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False) -> return_types.mode:
    """The most frequent element along a dimension, the smallest of such, and its last place."""
def moveaxis(input: Tensor, source: _Sizes, destination: _Sizes) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
def movedim(input: Tensor, source: _Sizes, destination: _Sizes) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension."""
def mul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`."""
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the probabilities in each row of `input`, which need not sum to 1."""
def multiply(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function of dimension p; RuntimeError at most (p - 1) / 2."""
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN and infinities replaced; by default by 0 and the largest finite numbers."""
def nan_to_num_(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor:
    """`nan_to_num`, written into this tensor's own memory."""
def nanmean(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False) -> return_types.nanmedian:
    """The median of the elements that are not NaN, of two middle ones the lower."""
def nanquantile(
    input: Tensor,
    q: Tensor | _float,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = 'linear',
    out: Tensor | None = None,
) -> Tensor:
    """Those of n elements that are not NaN whose rank is q * (n - 1), interpolated; q from 0 to 1."""
def nansum(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that are not NaN."""
def narrow(input: Tensor, dim: _int, start: _Number, length: _int) -> Tensor:
    """The part of a dimension from index `start` to before `start + length`."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor:
    """A copy of what `narrow` returns a view of."""
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The batch norm, and in training the means and one over the standard deviations."""
def native_channel_shuffle(
    input: Tensor, groups: _int, *, out: Tensor | None = None
) -> Tensor:
    """As `channel_shuffle`."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """The tensor with elements replaced by 0 and the others scaled, and which ones were kept."""
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: _int,
    C: _int,
    HxW: _int,
    group: _int,
    eps: _float,
) -> tuple[Tensor, ...]:
    """The group norm, and the means and one over the standard deviations of each group."""
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The layer norm, the means, and one over the standard deviations."""
def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input != other`."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input`."""
def neg_(input: Tensor) -> Tensor:
    """`neg`, written into this tensor's own memory."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input`."""
def negative_(input: Tensor) -> Tensor:
    """`neg`, written into this tensor's own memory."""
def nextafter(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The next number in a direction."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The positions of what is not 0, a row for each; as_tuple: a tensor for each dimension."""
def nonzero_static(
    input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None
) -> Tensor:
    """The coordinates of the first `size` elements that are not 0, then rows of `fill_value`."""
def norm(
    input: Tensor,
    p: _Number | _str = 'fro',
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    dtype: _dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The p-norm of all elements or along dimensions; p="nuc": of matrices' singular values."""
def norm_except_dim(v: Tensor, pow: _float = 2, dim: _int = 0) -> Tensor:
    """The norms along all dimensions but `dim`, which stay as 1; of everything where it is -1."""
def normal(
    mean: _Operand = 0.0,
    std: _Operand = 1.0,
    size: _Sizes | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: Any = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor:
    """Normal numbers of a mean and a standard deviation: numbers with a size, or tensors."""
def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elementwise `input != other`."""
def nuclear_norm(
    input: Tensor, dim: Sequence[_int] | None = None, keepdim: _bool = False
) -> Tensor:
    """The sum of the singular values of matrices in two dimensions, the last unless given."""
def numel(input: Tensor) -> _int:
    """The number of elements."""
def ones(
    *sizes: _Sizes,
    size: _Sizes | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
def ones_like(
    input: Tensor,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones in the shape and dtype of a tensor."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The older name of `linalg.householder_product`."""
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: _Operand,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`Q @ other`, or `other @ Q` if not left, for the square Q of reflections."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of every element of one vector with every element of another."""
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The p-norms of `x1 - x2 + eps` along the last dimension."""
def pca_lowrank(
    A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of a matrix whose columns are centred unless told otherwise; q: at most 6."""
def pdist(input: Tensor, p: _float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The norms of the differences of all pairs of rows."""
def permute(input: Tensor, *dims: _Sizes, **words: Any) -> Tensor:
    """The dimensions in another order."""
def permute_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `permute` returns a view of."""
def pinverse(input: Tensor, rcond: _float = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """The pseudo-inverse: the older name of `linalg.pinv`."""
def pixel_shuffle(
    input: Tensor, upscale_factor: _int, *, out: Tensor | None = None
) -> Tensor:
    """Groups of r * r channels become pixels."""
def pixel_unshuffle(
    input: Tensor, downscale_factor: _int, *, out: Tensor | None = None
) -> Tensor:
    """Pixels become groups of r * r channels: the inverse of `pixel_shuffle`."""
def poisson(
    input: Tensor, generator: Generator | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Poisson numbers; each element is the rate of one."""
def poisson_nll_loss(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.poisson_nll_loss`, with a number for its reduction."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor of absolute values and angles."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for booleans."""
def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`."""
def prelu(input: Tensor, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`x`, and `weight * x` below 0: one weight, or one a channel (dimension 1)."""
def prod(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The product of all elements, or along a dimension."""
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """The smallest dtype that two are safely converted to."""
def put(
    input: Tensor,
    index: Tensor,
    source: Any,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements of source at these positions of the flat tensor."""
def qr(input: Tensor, some: _bool = True) -> return_types.qr:
    """`linalg.qr`, complete if not some."""
def quantile(
    input: Tensor,
    q: Tensor | _float,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = 'linear',
    out: Tensor | None = None,
) -> Tensor:
    """Those of n elements whose rank is q * (n - 1), interpolated; q from 0 to 1."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """`rad2deg`, written into this tensor's own memory."""
def rand(
    *sizes: _Sizes,
    size: _Sizes | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Uniform numbers from 0 to before 1: `rand(2, 3)` or `rand((2, 3))`."""
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Uniform numbers from 0 to before 1, in the shape and dtype of a tensor."""
@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor:
    """Whole numbers from low to before high: `randint(high, size)`, `randint(low, high, size)`."""
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
) -> Tensor:
    """Whole numbers from low to before high, in the shape and dtype of a tensor."""
def randn(
    *sizes: _Sizes,
    size: _Sizes | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1: `randn(2, 3)` or `randn((2, 3))`."""
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1, in the shape and dtype of a tensor."""
def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The whole numbers from 0 to before n, in a random order."""
def range(
    start: _Number = 0,
    end: _Number | None = None,
    step: _Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Numbers from start to end, both included: an older form of `arange`."""
def ravel(input: Tensor) -> Tensor:
    """The tensor as one dimension."""
def real(self: Tensor) -> Tensor:
    """The real parts, in the same memory; a real tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / x of each element."""
def reciprocal_(input: Tensor) -> Tensor:
    """`reciprocal`, written into this tensor's own memory."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`max(x, 0)`; the gradient at 0 is 0."""
def relu_(input: Tensor) -> Tensor:
    """`relu`, written into this tensor's own memory."""
def remainder(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of the divisor, as Python's %; a zero has the dividend's."""
def renorm(
    input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None
) -> Tensor:
    """Each slice along a dimension, made smaller where its p-norm is larger than maxnorm."""
def repeat_interleave(
    input: Tensor,
    repeats: _Sizes | Tensor | None = None,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Each element (of the flat tensor), or each part along `dim`, so many times in a row."""
def reshape(input: Tensor, *shape: _Sizes, **words: Any) -> Tensor:
    """A view in another shape, of which one size may be -1; a copy where memory does not allow it."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negatives are computed at once."""
def result_type(tensor1: _Operand, tensor2: _Operand) -> _dtype:
    """The dtype that two tensors or numbers come to have in an operation together."""
def rms_norm(
    input: Tensor,
    normalized_shape: _Sizes,
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """The last dimensions divided by the root of their mean square, times weight."""
def rnn_relu(
    input: Tensor, hx: Any, params: Any, *options: Any, **words: Any
) -> tuple[Tensor, Tensor]:
    """All layers of a network, an RNN with relu."""
def rnn_relu_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, an RNN with relu."""
def rnn_tanh(
    input: Tensor, hx: Any, params: Any, *options: Any, **words: Any
) -> tuple[Tensor, Tensor]:
    """All layers of a network, an RNN with tanh."""
def rnn_tanh_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, an RNN with tanh."""
def roll(
    input: Tensor, shifts: _Sizes, dims: _Sizes | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The elements shifted along dimensions; those beyond one end come back at the other."""
def rot90(
    input: Tensor, k: _int = 1, dims: _Sizes = (0, 1), *, out: Tensor | None = None
) -> Tensor:
    """A rotation by k * 90 degrees in the plane of two dims, from the first to the second."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with so many decimals, halves to even; a derivative of 0."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """`round`, written into this tensor's own memory."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dimension 0, vectors as rows."""
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor:
    """Leaky relu with slopes drawn between two numbers; without training their mean."""
def rrelu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`rrelu`, written into its argument."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(x) of each element."""
def rsqrt_(input: Tensor) -> Tensor:
    """`rsqrt`, written into this tensor's own memory."""
def rsub(
    input: Tensor, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """`other - alpha * input`."""
def save(
    obj: Any,
    f: _str | os.PathLike[_str] | IO[_bytes],
    pickle_module: Any = None,
    pickle_protocol: _int = 2,
    _use_new_zipfile_serialization: _bool = True,
) -> None:
    """Write a value to a file that PyTorch's `load` reads, too."""
def scalar_tensor(
    s: _Number,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of no dimensions."""
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor | None = None,
    *,
    value: _Operand | None = None,
    reduce: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of gather: elements of src (or one number) written to the positions in `index`."""
def scatter_add(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Elements of src added at the positions in `index`."""
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """Elements of src combined at the positions in `index`; those at no position are unchanged."""
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: _str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where values would have to be put into a sorted sequence, row by row."""
def seed() -> _int:
    """Start the default generator anew from a seed of the operating system's; returns it."""
def segment_reduce(
    data: Any,
    reduce: _str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Consecutive segments along an axis reduced: "sum", "mean", "max", "min" or "prod"."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The part at one index of a dimension; the result lacks that dimension."""
def select_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `select` returns a view of."""
def select_scatter(
    input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = None
) -> Tensor:
    """The tensor with src at one place of a dimension."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """`elu`, scaled so that it keeps mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """`selu`, written into this tensor's own memory."""
def set_default_tensor_type(t: _dtype | _str | None) -> None:
    """Older name of `set_default_dtype`, for a type of tensors."""
def set_deterministic_debug_mode(debug_mode: _int | _str) -> None:
    """Note a mode, "default", "warn" or "error": what is computed here is deterministic anyway."""
def set_num_threads(num: _int) -> None:
    """Let NumPy's linear algebra use so many threads, through threadpoolctl where it is there."""
def set_printoptions(
    precision: _int | None = None,
    threshold: _float | None = None,
    edgeitems: _int | None = None,
    linewidth: _int | None = None,
    profile: _str | None = None,
    sci_mode: _bool | None = None,
) -> None:
    """Set how tensors print."""
def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator to one that `get_rng_state` returned."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign; of complex numbers x / |x|."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function of each element, 1 / (1 + exp(-x))."""
def sigmoid_(input: Tensor) -> Tensor:
    """`sigmoid`, written into this tensor's own memory."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; a derivative of 0."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the sign is a minus, that of -0.0 too."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of each element, in radians."""
def sin_(input: Tensor) -> Tensor:
    """`sin`, written into this tensor's own memory."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(pi x) / (pi x)` of each element, and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """`sinc`, written into this tensor's own memory."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of each element."""
def sinh_(input: Tensor) -> Tensor:
    """`sinh`, written into this tensor's own memory."""
def slice_copy(
    input: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """A copy of the elements from start to before end along a dimension."""
def slice_inverse(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """The tensor of which `input` is a slice: `src`."""
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The tensor with src at a slice of a dimension."""
def slogdet(input: Tensor) -> return_types.slogdet:
    """The sign of the determinant, and the logarithm of its absolute value."""
def softmax(
    input: Tensor, dim: _Sizes, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`exp(x)` over its sum along a dimension."""
def solve(*_args: Any, **_kwargs: Any) -> Tensor:
    """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
def sort(
    input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool | None = None
) -> return_types.sort:
    """The elements in order along a dimension, and where they were: (values, indices)."""
def split(
    tensor: Tensor, split_size_or_sections: _Sizes, dim: _int = 0
) -> tuple[Tensor, ...]:
    """Parts along a dimension: of one size, the last maybe smaller, or of these sizes."""
def split_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `split` returns a view of."""
def split_with_sizes(input: Tensor, split_sizes: _Sizes, dim: _int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, of these sizes."""
def split_with_sizes_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `split_with_sizes` returns a view of."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of each element."""
def sqrt_(input: Tensor) -> Tensor:
    """`sqrt`, written into this tensor's own memory."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`x * x` of each element."""
def square_(input: Tensor) -> Tensor:
    """`square`, written into this tensor's own memory."""
def squeeze(input: Tensor, dim: _Sizes | None = None) -> Tensor:
    """The tensor without dimensions of size 1: all of them, or those named if they are."""
def squeeze_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `squeeze` returns a view of."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
def std(
    input: Tensor,
    dim: _Sizes | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation of all elements, or along dimensions; correction=1 divides by n - 1."""
def std_mean(
    input: Tensor,
    dim: _Sizes | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
) -> tuple[Tensor, Tensor]:
    """`std` and the mean, as a tuple."""
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: _str = 'reflect',
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor:
    """The Fourier transforms of overlapping windows: frequencies along -2, windows along -1."""
def sub(
    input: Tensor, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """`input - alpha * other`."""
def subtract(
    input: Tensor, other: _Operand, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor:
    """`input - alpha * other`."""
def sum(
    input: Tensor,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of all elements, or along dimensions; of integers and booleans as int64."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
    """U, S and V with `input == U @ diag(S) @ V.mH`; U and V are zeros if not compute_uv."""
def svd_lowrank(
    A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of a matrix of rank q or nearly so: A is U @ diag(S) @ V.mH."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """NumPy's word for transpose."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Another word for transpose."""
def symeig(*_args: Any, **_kwargs: Any) -> Tensor:
    """RuntimeError, as in PyTorch, which has removed it: see `linalg`."""
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector or a single element as it is."""
def t_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `t` returns a view of."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flat tensor at these positions."""
def take_along_dim(
    input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """One element for each index, along a dimension; the other dimensions broadcast."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of each element, in radians."""
def tan_(input: Tensor) -> Tensor:
    """`tan`, written into this tensor's own memory."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of each element."""
def tanh_(input: Tensor) -> Tensor:
    """`tanh`, written into this tensor's own memory."""
def tensor(
    data: Any,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor with a copy of data, without history."""
def tensor_split(
    input: Tensor,
    indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
    dim: _int = 0,
    *,
    sections: _int | None = None,
    indices: _Sizes | None = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Parts along a dimension: so many of nearly one size, or split before these indices."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over pairs of dimensions: the last of `a` with the first of `b`, or lists."""
def threshold(
    input: Tensor, threshold: _float, value: _float, inplace: _bool = False
) -> Tensor:
    """`x` above a threshold, else a value."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """`threshold`, written into this tensor's own memory."""
def tile(input: Tensor, *dims: _Sizes, **words: Any) -> Tensor:
    """The tensor so many times along each dimension; fewer counts are those of the last ones."""
def topk(
    input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True
) -> return_types.topk:
    """The k largest (or smallest) elements along a dimension in order, and where they are."""
def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """The tensor with two dimensions swapped."""
def transpose_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `transpose` returns a view of."""
def trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _Number | None = None,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The integral of samples along a dimension by the trapezoidal rule."""
def trapz(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _Number | None = None,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The integral of samples along a dimension by the trapezoidal rule."""
def triangular_solve(
    b: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
) -> return_types.triangular_solve:
    """The older form of `solve_triangular`: X with `A @ X == b`, and a copy of A."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix with zeros above a diagonal."""
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The indices of the lower triangle of a matrix, as a tensor of two rows."""
def triplet_margin_loss(*args: Any, reduction: _int = 0, **kwargs: Any) -> Tensor:
    """`nn.functional.triplet_margin_loss`, with a number for its reduction."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix with zeros below a diagonal."""
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The indices of the upper triangle of a matrix, as a tensor of two rows."""
def true_divide(
    input: Tensor,
    other: _Operand,
    *,
    rounding_mode: _str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise trunc; a derivative of 0."""
def trunc_(input: Tensor) -> Tensor:
    """`trunc`, written into this tensor's own memory."""
def typename(obj: object) -> _str:
    """`torch.FloatTensor` for a tensor; for other objects the name of their type."""
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The parts at each index of a dimension; they lack that dimension."""
def unbind_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `unbind` returns a view of."""
def unflatten(input: Tensor, dim: _int, sizes: _Sizes) -> Tensor:
    """One dimension split into several, of which one size may be -1."""
def unfold_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `unfold` returns a view of."""
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool,
    return_inverse: _bool,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """The distinct elements in order, or slices along `dim`; their places; their counts."""
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any:
    """The elements, or slices along `dim`, that differ from the one before."""
def unravel_index(indices: Tensor, shape: _Sizes) -> tuple[Tensor, ...]:
    """The coordinates of flat positions in an array of a shape."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`chunk`, of which one part may be written to if no other part is used afterwards."""
def unsafe_split(tensor: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split`, of which one part may be written to if no other part is used afterwards."""
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: _Sizes, dim: _int = 0
) -> tuple[Tensor, ...]:
    """`split_with_sizes`, of which one part may be written to if no other is used afterwards."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """The tensor with a new dimension of size 1, which becomes dimension `dim`."""
def unsqueeze_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `unsqueeze` returns a view of."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Note the mode: what is computed here is deterministic anyway."""
def vander(
    x: Tensor, N: _int | None = None, increasing: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Rows of the powers of each element, the highest first."""
def var(
    input: Tensor,
    dim: _Sizes | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance of all elements, or along dimensions; correction=1 divides by n - 1."""
def var_mean(
    input: Tensor,
    dim: _Sizes | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _Number | None = None,
) -> tuple[Tensor, Tensor]:
    """`var` and the mean, as a tuple."""
def vdot(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`dot` of the conjugate of `input` and `other`."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers along the last dimension as complex ones."""
def view_as_complex_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `view_as_complex` returns a view of."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, along a new last dimension."""
def view_as_real_copy(
    input: Tensor, *args: Any, out: Tensor | None = None, **words: Any
) -> Tensor:
    """A copy of what `view_as_real` returns a view of."""
def view_copy(input: Tensor, *args: Any, out: Tensor | None = None, **words: Any) -> Tensor:
    """A copy of what `view` returns a view of."""
def vsplit(
    input: Tensor,
    indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
    *,
    sections: _int | None = None,
    indices: _Sizes | None = None,
) -> tuple[Tensor, ...]:
    """`tensor_split` along dimension 0, evenly where a number of parts is given."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dimension 0, vectors as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Tensor, input: _Operand, other: _Operand, *, out: Tensor | None = None
) -> Tensor:
    """`input` where the condition holds, else `other`; of a condition alone its positions."""
def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Sequence[Any]) -> Tensor:
    """`carried = body_fn(*carried)` while `cond_fn(*carried)` is true: it runs at once."""
def xlogy(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`x * log(y)`, and 0 where x is 0."""
def xlogy_(input: Tensor, other: _Operand) -> Tensor:
    """`xlogy`, written into this tensor's own memory."""
def zero_(self: Tensor) -> Tensor:
    """Write zeros into this tensor."""
def zeros(
    *sizes: _Sizes,
    size: _Sizes | None = None,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
def zeros_like(
    input: Tensor,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    pin_memory: _bool = False,
    memory_format: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Zeros in the shape and dtype of a tensor."""
