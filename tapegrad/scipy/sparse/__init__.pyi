"""`scipy.sparse` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from typing import Any
from scipy.sparse import SparseEfficiencyWarning as SparseEfficiencyWarning
from scipy.sparse import SparseWarning as SparseWarning
from scipy.sparse import base as base
from scipy.sparse import bsr as bsr
from scipy.sparse import compressed as compressed
from scipy.sparse import construct as construct
from scipy.sparse import coo as coo
from scipy.sparse import csc as csc
from scipy.sparse import csr as csr
from scipy.sparse import data as data
from scipy.sparse import dia as dia
from scipy.sparse import dok as dok
from scipy.sparse import extract as extract
from scipy.sparse import lil as lil
from scipy.sparse import sparray as sparray
from scipy.sparse import sparsetools as sparsetools
from scipy.sparse import spmatrix as spmatrix
from scipy.sparse import sputils as sputils
from tapegrad.scipy.sparse import csgraph as csgraph
from tapegrad.scipy.sparse import linalg as linalg
from tapegrad.scipy.sparse._arrays import SparseArray as SparseArray
from tapegrad.scipy.sparse._matrices import SparseMatrix as SparseMatrix

def block_array(blocks: Any, *, format: Any = None, dtype: Any = None) -> Any: ...
def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Any: ...
def bmat(blocks: Any, format: Any = None, dtype: Any = None) -> Any: ...
bsr_array: type[Any]
bsr_matrix: type[Any]
coo_array: type[Any]
coo_matrix: type[Any]
csc_array: type[Any]
csc_matrix: type[Any]
csr_array: type[Any]
csr_matrix: type[Any]
dia_array: type[Any]
dia_matrix: type[Any]
def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: Any = None,
    format: Any = None,
    dtype: Any = ...,
) -> Any: ...
def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: Any = None,
    format: Any = None,
    dtype: Any = ...,
) -> Any: ...
dok_array: type[Any]
dok_matrix: type[Any]
def expand_dims(A: Any, /, *, axis: Any = 0) -> Any: ...
def eye(m: Any, n: Any = None, k: Any = 0, dtype: Any = ..., format: Any = None) -> Any: ...
def eye_array(
    m: Any,
    n: Any = None,
    *,
    k: Any = 0,
    dtype: Any = ...,
    format: Any = None,
) -> Any: ...
def find(A: Any) -> Any: ...
def get_index_dtype(
    arrays: Any = ...,
    maxval: Any = None,
    check_contents: bool = False,
) -> Any: ...
def hstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any: ...
def identity(n: Any, dtype: Any = 'd', format: Any = None) -> Any: ...
def issparse(x: Any) -> Any: ...
def isspmatrix(x: Any) -> Any: ...
def isspmatrix_bsr(x: Any) -> Any: ...
def isspmatrix_coo(x: Any) -> Any: ...
def isspmatrix_csc(x: Any) -> Any: ...
def isspmatrix_csr(x: Any) -> Any: ...
def isspmatrix_dia(x: Any) -> Any: ...
def isspmatrix_dok(x: Any) -> Any: ...
def isspmatrix_lil(x: Any) -> Any: ...
def kron(A: Any, B: Any, format: Any = None) -> Any: ...
def kronsum(A: Any, B: Any, format: Any = None) -> Any: ...
lil_array: type[Any]
lil_matrix: type[Any]
def load_npz(file: Any) -> Any: ...
def operate(ufunc: Any, method: Any, inputs: Any, kwargs: Any) -> Any: ...
def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any: ...
def rand(
    m: Any,
    n: Any,
    density: Any = 0.01,
    format: Any = 'coo',
    dtype: Any = None,
    rng: Any = None,
    *,
    random_state: Any = None,
) -> Any: ...
def random(
    m: Any,
    n: Any,
    density: Any = 0.01,
    format: Any = 'coo',
    dtype: Any = None,
    rng: Any = None,
    data_rvs: Any = None,
    *,
    random_state: Any = None,
) -> Any: ...
def random_array(
    shape: Any,
    *,
    density: Any = 0.01,
    format: Any = 'coo',
    dtype: Any = None,
    rng: Any = None,
    data_sampler: Any = None,
    random_state: Any = None,
) -> Any: ...
def safely_cast_index_arrays(A: Any, idx_dtype: Any = ..., msg: Any = '') -> Any: ...
def save_npz(file: Any, matrix: Any, compressed: bool = True) -> Any: ...
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Any: ...
def swapaxes(A: Any, axis1: Any, axis2: Any) -> Any: ...
def tril(A: Any, k: Any = 0, format: Any = None) -> Any: ...
def triu(A: Any, k: Any = 0, format: Any = None) -> Any: ...
def vstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any: ...
