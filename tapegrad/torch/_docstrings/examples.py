"""Examples of operations, a line each: for the docstrings of operations that have none.

A line is a call without `torch.` before it, and what it prints: `roll([1, 2, 3], 1) -> [3, 1, 2]`.
A list stands for a tensor, unless the line has `torch.` before the arrow. `x = ...; f(x) -> ...`
are two lines of a program, and `values=...; indices=...` is a named tuple. Longer examples stand
in the docstrings. The lines are in the order of their words. Knows no operation.
"""

from __future__ import annotations

import re

_LINES = """\
abs([-1.5, 2.0]) -> [1.5000, 2.0000]
add([1.0, 2.0], [0.5, 0.5], alpha=2) -> [2., 3.]
addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)) -> [[6.]]
addcmul(torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), value=2) -> [ 7., 17.]
addmm(torch.ones(1, 1), torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])) -> [[12.]]
addmv(torch.ones(1), torch.tensor([[1.0, 2.0]]), torch.tensor([3.0, 4.0])) -> [12.]
addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])) -> [[3., 4.], [6., 8.]]
adjoint([[1 + 1j, 2j]]) -> [[1.-1.j], [0.-2.j]]
alias_copy([1, 2]) -> [1, 2]
all([[True, False], [True, True]], dim=1) -> [False,  True]
allclose([1.0], [1.0 + 1e-6]) -> True
aminmax([3.0, 1.0, 2.0]) -> min=tensor(1.); max=tensor(3.)
angle([1.0, -1.0]) -> [0.0000, 3.1416]
angle([1j, 1 + 1j]) -> [1.5708, 0.7854]
any([[True, False], [False, False]], dim=1) -> [ True, False]
arange(5) -> [0, 1, 2, 3, 4]
arange(1, 2, 0.25) -> [1.0000, 1.2500, 1.5000, 1.7500]
argsort([3.0, 1.0, 2.0]) -> [1, 2, 0]
argwhere([[0, 1], [2, 0]]) -> [[0, 1], [1, 0]]
as_strided(torch.arange(6), (2, 2), (3, 1)) -> [[0, 1], [3, 4]]
as_strided_copy(torch.arange(4), (2,), (2,)) -> [0, 2]
as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,)) -> [1., 0., 1., 0.]
atleast_1d(torch.tensor(1.0)) -> [1.]
atleast_2d([1.0, 2.0]) -> [[1., 2.]]
atleast_3d([1.0, 2.0]).shape -> torch.Size([1, 2, 1])
baddbmm(torch.zeros(1, 1, 1), torch.ones(1, 1, 3), torch.ones(1, 3, 1)) -> [[[3.]]]
bartlett_window(4) -> [0.0000, 0.5000, 1.0000, 0.5000]
bernoulli([0.0, 1.0]) -> [0., 1.]
bincount([0, 2, 2]) -> [1, 0, 2]
binomial([3.0, 5.0], [1.0, 0.0]) -> [3., 0.]
bitwise_not([0, 1, 5]) -> [-1, -2, -6]
blackman_window(5).shape -> torch.Size([5])
block_diag(torch.ones(1, 2), torch.tensor([[5.0]])) -> [[1., 1., 0.], [0., 0., 5.]]
bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape -> torch.Size([2, 1, 1])
broadcast_shapes((2, 1), (3,)) -> torch.Size([2, 3])
broadcast_to([1, 2], (2, 2)) -> [[1, 2], [1, 2]]
bucketize([0.5, 2.0, 9.0], [1.0, 2.0, 3.0]) -> [0, 1, 3]
can_cast(torch.float32, torch.int64) -> False
cartesian_prod([1, 2], [3, 4]) -> [[1, 3], [1, 4], [2, 3], [2, 4]]
cat([torch.tensor([1.0]), torch.tensor([2.0, 3.0])]) -> [1., 2., 3.]
cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]]) -> [[5., 1.]]
ceil([1.2, -1.2]) -> [ 2., -1.]
celu([-1.0, 0.5]) -> [-0.6321,  0.5000]
cholesky([[4.0, 2.0], [2.0, 5.0]]) -> [[2., 0.], [1., 2.]]
cholesky_inverse([[2.0, 0.0], [0.0, 4.0]]) -> [[0.2500, 0.0000], [0.0000, 0.0625]]
cholesky_solve([[4.0], [4.0]], [[2.0, 0.0], [0.0, 1.0]]) -> [[1.], [4.]]
chunk(torch.arange(5), 2) -> (tensor([0, 1, 2]), tensor([3, 4]))
clamp([-2.0, 0.5, 3.0], min=-1.0, max=1.0) -> [-1.0000,  0.5000,  1.0000]
clamp_max([1.0, 5.0], 2.0) -> [1., 2.]
clamp_min([1.0, 5.0], 2.0) -> [2., 5.]
x = torch.tensor([1.0, 2.0], requires_grad=True); clone(x) -> [1., 2.], grad_fn=<CloneBackward0>
column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])]) -> [[1, 3], [2, 4]]
combinations([1, 2, 3]) -> [[1, 2], [1, 3], [2, 3]]
complex([1.0], [2.0]) -> [1.+2.j]
conj([1 + 2j]) -> [1.-2.j]
conj_physical([1 + 2j]) -> [1.-2.j]
corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]) -> [[ 1., -1.], [-1.,  1.]]
count_nonzero([[0, 1], [2, 3]], 1) -> [1, 2]
cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]) -> [[ 1., -1.], [-1.,  1.]]
cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], dim=0) -> [0., 0., 1.]
cumulative_trapezoid([1.0, 2.0, 3.0]) -> [1.5000, 4.0000]
detach(torch.ones(2, requires_grad=True)).requires_grad -> False
detach_(torch.ones(2, requires_grad=True) * 2).requires_grad -> False
detach_copy([1, 2]) -> [1, 2]
diag([1, 2]) -> [[1, 0], [0, 2]]
diag([[1, 2], [3, 4]]) -> [1, 4]
diag_embed([1, 2]) -> [[1, 0], [0, 2]]
diagflat([1, 2], 1) -> [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
diagonal([[1, 2], [3, 4]]) -> [1, 4]
diagonal_copy([[1, 2], [3, 4]]) -> [1, 4]
diagonal_scatter(torch.zeros(2, 2), torch.tensor([1.0, 2.0])) -> [[1., 0.], [0., 2.]]
diff([1.0, 4.0, 9.0]) -> [3., 5.]
dist([0.0, 0.0], [3.0, 4.0]) -> tensor(5.)
div([7.0, -7.0], 2) -> [ 3.5000, -3.5000]
div([7.0, -7.0], 2, rounding_mode="floor") -> [ 3., -4.]
dot([1.0, 2.0], [3.0, 4.0]) -> tensor(11.)
dstack([torch.tensor([1, 2]), torch.tensor([3, 4])]) -> [[[1, 3], [2, 4]]]
einsum("ij,j->i", torch.ones(2, 3), torch.ones(3)) -> [3., 3.]
nn.functional.elu([-1.0, 0.5]) -> [-0.6321,  0.5000]
nn.functional.elu_([2.0]) -> [2.]
empty(2, 3).shape -> torch.Size([2, 3])
empty_like(torch.zeros(2, 3)).shape -> torch.Size([2, 3])
empty_permuted((2, 3), (1, 0)).stride() -> (1, 2)
empty_strided((2, 3), (1, 2)).stride() -> (1, 2)
equal([1.0, 2.0], [1.0, 2.0]) -> True
expand_copy([1, 2], (2, 2)) -> [[1, 2], [1, 2]]
eye(2) -> [[1., 0.], [0., 1.]]
fft.fftshift([0, 1, -2, -1]) -> [-2, -1,  0,  1]
fft.ifftshift([-2, -1, 0, 1]) -> [ 0,  1, -2, -1]
fill(torch.zeros(2), 3.0) -> [3., 3.]
fill_(torch.zeros(2), 3.0) -> [3., 3.]
flatten(torch.zeros(2, 3, 4), 1).shape -> torch.Size([2, 12])
flip([[1, 2], [3, 4]], (0, 1)) -> [[4, 3], [2, 1]]
fliplr([[1, 2], [3, 4]]) -> [[2, 1], [4, 3]]
flipud([[1, 2], [3, 4]]) -> [[3, 4], [1, 2]]
floor([1.2, -1.2]) -> [ 1., -2.]
floor_divide([7.0, -7.0], 2.0) -> [ 3., -4.]
fmax(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0])) -> [3., 2.]
fmin(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0])) -> [1., 2.]
fmod([7.0, -7.0], 3.0) -> [ 1., -1.]
frac([1.5, -2.25]) -> [ 0.5000, -0.2500]
frexp([6.0, 0.5]) -> mantissa=[0.7500, 0.5000]; exponent=[3, 0], dtype=torch.int32
frobenius_norm([[3.0, 4.0]], (0, 1)) -> tensor(5.)
frombuffer(bytearray([1, 2, 3]), dtype=torch.uint8) -> [1, 2, 3], dtype=torch.uint8
full((2, 2), 7) -> [[7, 7], [7, 7]]
full_like(torch.zeros(2), 7.0) -> [7., 7.]
gather([[1, 2], [3, 4]], 1, [[0], [1]]) -> [[1], [4]]
nn.functional.gelu([-1.0, 0.5]) -> [-0.1587,  0.3457]
geqrf([[3.0], [4.0]]) -> a=[[-5.0000], [ 0.5000]]; tau=[1.6000]
get_device(torch.ones(2)) -> -1
nn.functional.glu([1.0, 2.0, 0.0, 0.0]) -> [0.5000, 1.0000]
gradient([1.0, 4.0, 9.0, 16.0]) -> (tensor([3., 4., 6., 7.]),)
hamming_window(4) -> [0.0800, 0.5400, 1.0000, 0.5400]
hann_window(4) -> [0.0000, 0.5000, 1.0000, 0.5000]
hardshrink([-1.0, 0.3, 0.7]) -> [-1.0000,  0.0000,  0.7000]
nn.functional.hardsigmoid([-4.0, 0.0, 1.5]) -> [0.0000, 0.5000, 0.7500]
nn.functional.hardswish([-4.0, 1.0, 4.0]) -> [-0.0000, 0.6667, 4.0000]
nn.functional.hardtanh([-2.0, 0.5]) -> [-1.0000,  0.5000]
nn.functional.hardtanh_([2.0]) -> [1.]
heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5)) -> [0.0000, 0.5000, 1.0000]
histc([1.0, 2.0, 2.5, 4.0], 3) -> [1., 2., 1.]
histogram([1.0, 2.0, 1.0], bins=2) -> hist=[2., 1.]; bin_edges=[1.0000, 1.5000, 2.0000]
histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist -> [[0., 1.], [1., 0.]]
hstack([torch.tensor([1, 2]), torch.tensor([3])]) -> [1, 2, 3]
i0([0.0, 1.0]) -> [1.0000, 1.2661]
igamma([1.0, 2.0], [1.0, 1.0]) -> [0.6321, 0.2642]
igammac([1.0, 2.0], [1.0, 1.0]) -> [0.3679, 0.7358]
imag([1 + 2j, 3 - 1j]) -> [ 2., -1.]
index_copy(torch.zeros(3), 0, torch.tensor([0, 2]), torch.tensor([1.0, 2.0])) -> [1., 0., 2.]
index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 5.0) -> [5., 0., 5.]
index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor(5.0)) -> [5., 0., 5.]
index_select([5, 6, 7], 0, [2, 0]) -> [7, 5]
inner([1.0, 2.0], [3.0, 4.0]) -> tensor(11.)
is_complex(torch.tensor(1j)) -> True
is_conj(torch.tensor(1j).conj()) -> False
is_floating_point([1.0]) -> True
is_inference([1.0]) -> False
is_neg([-1.0]) -> False
is_nonzero([2.0]) -> True
is_same_size(torch.zeros(2), torch.ones(2)) -> True
is_signed(torch.tensor([1], dtype=torch.uint8)) -> False
isclose([1.0, 2.0], [1.0 + 1e-6, 3.0]) -> [ True, False]
isfinite(torch.tensor([1.0, -torch.inf, torch.nan])) -> [ True, False, False]
isin([1, 2, 3], [2, 5]) -> [False,  True, False]
isinf(torch.tensor([1.0, -torch.inf, torch.nan])) -> [False,  True, False]
isnan(torch.tensor([1.0, -torch.inf, torch.nan])) -> [False, False,  True]
isneginf(torch.tensor([1.0, -torch.inf, torch.nan])) -> [False,  True, False]
isposinf(torch.tensor([1.0, -torch.inf, torch.nan])) -> [False, False, False]
isreal([1 + 0j, 1j]) -> [ True, False]
kaiser_window(4) -> [5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01]
kron([1, 2], [1, 10]) -> [ 1, 10,  2, 20]
kthvalue([3.0, 1.0, 2.0], 2) -> values=tensor(2.); indices=tensor(2)
ldexp([1.0, 1.5], [3, -1]) -> [8.0000, 0.7500]
nn.functional.leaky_relu([-2.0, 0.5], 0.25) -> [-0.5000,  0.5000]
nn.functional.leaky_relu_([2.0]) -> [2.]
lerp([0.0, 10.0], [1.0, 20.0], 0.25) -> [ 0.2500, 12.5000]
linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]) -> [[2., 0.], [1., 2.]]
linalg.cholesky_ex([[4.0, 2.0], [2.0, 5.0]]).L -> [[2., 0.], [1., 2.]]
linalg.cond(torch.diag(torch.tensor([1.0, 4.0]))) -> tensor(4.)
linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]) -> [0., 0., 1.]
linalg.det([[1.0, 2.0], [3.0, 4.5]]) -> tensor(-1.5000)
linalg.diagonal([[1.0, 2.0], [3.0, 4.0]]) -> [1., 4.]
linalg.eig(torch.diag(torch.tensor([2.0, 3.0]))).eigenvalues -> [2.+0.j, 3.+0.j]
linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues.round(decimals=3) -> [1., 3.]
linalg.eigvals(torch.diag(torch.tensor([2.0, 3.0]))) -> [2.+0.j, 3.+0.j]
linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(decimals=3) -> [1., 3.]
linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]]))) -> [[-0.6000], [-0.8000]]
linalg.inv([[2.0, 0.0], [0.0, 4.0]]) -> [[0.5000, 0.0000], [0.0000, 0.2500]]
linalg.inv_ex([[2.0, 0.0], [0.0, 4.0]]).inverse -> [[0.5000, 0.0000], [0.0000, 0.2500]]
linalg.ldl_factor([[2.0, 0.0], [0.0, 4.0]]).LD -> [[2., 0.], [0., 4.]]
linalg.ldl_factor_ex([[2.0, 0.0], [0.0, 4.0]]).info -> tensor(0, dtype=torch.int32)
linalg.lu([[0.0, 2.0], [4.0, 0.0]]).U -> [[4., 0.], [0., 2.]]
linalg.lu_factor_ex([[0.0, 2.0], [4.0, 0.0]]).info -> tensor(0, dtype=torch.int32)
linalg.matrix_exp([[0.0, 1.0], [0.0, 0.0]]) -> [[1., 1.], [0., 1.]]
linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]]) -> tensor(5.)
linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]) -> tensor(1)
linalg.norm([3.0, 4.0]) -> tensor(5.)
linalg.pinv([[2.0, 0.0], [0.0, 0.0]]) -> [[0.5000, 0.0000], [0.0000, 0.0000]]
linalg.slogdet([[0.0, 2.0], [4.0, 0.0]]) -> sign=tensor(-1.); logabsdet=tensor(2.0794)
linalg.solve(2 * torch.eye(2), torch.ones(2)) -> [0.5000, 0.5000]
linalg.solve_ex(2 * torch.eye(2), torch.ones(2)).result -> [0.5000, 0.5000]
linalg.solve_triangular(torch.eye(2) * 2, torch.ones(2, 1), upper=True) -> [[0.5000], [0.5000]]
linalg.svd(torch.diag(torch.tensor([2.0, 3.0]))).S.round(decimals=3) -> [3., 2.]
linalg.svdvals(torch.diag(torch.tensor([2.0, 3.0]))).round(decimals=3) -> [3., 2.]
linalg.tensorinv(torch.eye(4).reshape(4, 2, 2), ind=1).shape -> torch.Size([2, 2, 4])
linalg.tensorsolve(torch.eye(4).reshape(4, 2, 2), torch.arange(4.0)) -> [[0., 1.], [2., 3.]]
linalg.vander([1, 2, 3]) -> [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
linalg.vecdot([1.0, 2.0], [3.0, 4.0]) -> tensor(11.)
linalg.vector_norm([3.0, -4.0], 1) -> tensor(7.)
linspace(0, 1, 5) -> [0.0000, 0.2500, 0.5000, 0.7500, 1.0000]
log_softmax([1.0, 2.0, 3.0], 0) -> [-2.4076, -1.4076, -0.4076]
logcumsumexp([0.0, 0.0, 0.0], 0) -> [0.0000, 0.6931, 1.0986]
logdet([[2.0, 0.0], [0.0, 4.0]]) -> tensor(2.0794)
logical_not([True, False]) -> [False,  True]
logit([0.25, 0.5]) -> [-1.0986,  0.0000]
nn.functional.logsigmoid([0.0, 2.0]) -> [-0.6931, -0.1269]
logspace(0, 2, 3) -> [  1.,  10., 100.]
logsumexp([1.0, 2.0, 3.0], 0) -> tensor(3.4076)
masked_fill([1.0, 2.0], [True, False], 0.0) -> [0., 2.]
masked_select([1.0, 2.0, 3.0], [True, False, True]) -> [1., 3.]
matrix_power([[1.0, 1.0], [0.0, 1.0]], 3) -> [[1., 3.], [0., 1.]]
maximum(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0])) -> [3., nan]
mean([[1.0, 2.0], [3.0, 4.0]], 0) -> [2., 3.]
minimum(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0])) -> [1., nan]
nn.functional.mish([-1.0, 0.5]) -> [-0.3034,  0.3752]
mm([[1.0, 2.0]], [[3.0], [4.0]]) -> [[11.]]
mode([1, 2, 2, 3]) -> values=tensor(2); indices=tensor(2)
msort([3.0, 1.0, 2.0]) -> [1., 2., 3.]
mul([1.0, 2.0], 3) -> [3., 6.]
multinomial([0.0, 1.0, 0.0], 2, replacement=True) -> [1, 1]
mv([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]) -> [3., 7.]
mvlgamma([3.0, 4.0], 2) -> [1.5502, 3.5651]
nan_to_num(torch.tensor([torch.nan, torch.inf, 1.0]), posinf=9.0) -> [0., 9., 1.]
nanmean(torch.tensor([1.0, torch.nan, 3.0])) -> tensor(2.)
nansum(torch.tensor([1.0, torch.nan, 3.0])) -> tensor(4.)
narrow(torch.arange(5), 0, 1, 3) -> [1, 2, 3]
narrow_copy(torch.arange(5), 0, 1, 3) -> [1, 2, 3]
neg([1.0, -2.0]) -> [-1.,  2.]
nonzero([0, 3, 0, 4]) -> [[1], [3]]
nonzero_static([0, 3, 4], size=3) -> [[ 1], [ 2], [-1]]
norm([3.0, 4.0]) -> tensor(5.)
norm_except_dim([[3.0, 4.0], [6.0, 8.0]]) -> [[ 5.], [10.]]
normal([1.0, 2.0], 0.0) -> [1., 2.]
nuclear_norm(torch.diag(torch.tensor([3.0, 4.5]))) -> tensor(7.5000)
numel(torch.zeros(2, 3)) -> 6
ones(2, 3) -> [[1., 1., 1.], [1., 1., 1.]]
ones_like(torch.zeros(2)) -> [1., 1.]
orgqr(*torch.geqrf(torch.tensor([[3.0], [4.0]]))) -> [[-0.6000], [-0.8000]]
ormqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])), torch.ones(2, 1)) -> [[-1.4000], [-0.2000]]
outer([1.0, 2.0], [3.0, 4.0]) -> [[3., 4.], [6., 8.]]
permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape -> torch.Size([4, 2, 3])
permute_copy([[1, 2], [3, 4]], (1, 0)) -> [[1, 3], [2, 4]]
pinverse([[2.0, 0.0], [0.0, 0.0]]) -> [[0.5000, 0.0000], [0.0000, 0.0000]]
poisson(torch.zeros(2)) -> [0., 0.]
polar([2.0], [0.0]) -> [2.+0.j]
polygamma(1, [1.0, 2.0]) -> [1.6449, 0.6449]
positive([1.0, -2.0]) -> [ 1., -2.]
pow([1.0, 2.0, 3.0], 2) -> [1., 4., 9.]
pow(2, [1.0, 2.0]) -> [2., 4.]
prelu(torch.tensor([-2.0, 3.0]), torch.tensor(0.25)) -> [-0.5000,  3.0000]
prod([2.0, 3.0, 4.0]) -> tensor(24.)
promote_types(torch.int64, torch.float32) -> torch.float32
put(torch.zeros(2, 2), torch.tensor([1, 2]), torch.tensor([5.0, 6.0])) -> [[0., 5.], [6., 0.]]
rand(2, 3).shape -> torch.Size([2, 3])
rand_like(torch.zeros(2, 3)).shape -> torch.Size([2, 3])
randint(0, 1, (3,)) -> [0, 0, 0]
randint_like(torch.zeros(2), 1) -> [0., 0.]
randn(2, 3).shape -> torch.Size([2, 3])
randn_like(torch.zeros(2, 3)).shape -> torch.Size([2, 3])
randperm(4).sort().values -> [0, 1, 2, 3]
ravel([[1, 2], [3, 4]]) -> [1, 2, 3, 4]
real([1 + 2j, 3 - 1j]) -> [1., 3.]
relu([-1.0, 2.0]) -> [0., 2.]
nn.functional.relu6([-1.0, 2.0, 7.0]) -> [0., 2., 6.]
remainder([7.0, -7.0], 3.0) -> [1., 2.]
renorm([[3.0, 4.0], [0.3, 0.4]], 2, 0, 1.0) -> [[0.6000, 0.8000], [0.3000, 0.4000]]
repeat_interleave([1, 2], 2) -> [1, 1, 2, 2]
repeat_interleave([0, 3, 1]) -> [1, 1, 1, 2]
reshape(torch.arange(4), (2, -1)) -> [[0, 1], [2, 3]]
result_type([1, 2], 1.0) -> torch.float32
roll([1, 2, 3], 1) -> [3, 1, 2]
rot90([[1, 2], [3, 4]]) -> [[2, 4], [1, 3]]
round([0.5, 1.5, -2.7]) -> [ 0.,  2., -3.]
round([1.234], decimals=1) -> [1.2000]
rrelu([-1.0, 2.0], 0.1, 0.3) -> [-0.2000,  2.0000]
nn.functional.rrelu_([2.0]) -> [2.]
rsub([1.0, 2.0], 10) -> [9., 8.]
scalar_tensor(3.0) -> tensor(3.)
scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 5.0])) -> [5., 0., 1.]
scatter_add(torch.zeros(2), 0, torch.tensor([0, 0]), torch.tensor([1.0, 5.0])) -> [6., 0.]
searchsorted([1.0, 3.0, 5.0], [2.0, 5.0]) -> [1, 2]
segment_reduce([1.0, 2.0, 3.0], "sum", lengths=[2, 1]) -> [3., 3.]
select([[1, 2], [3, 4]], 1, 0) -> [1, 3]
select_copy([[1, 2], [3, 4]], 0, 1) -> [3, 4]
select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1) -> [[0., 0.], [1., 1.]]
selu([-1.0, 1.0]) -> [-1.1113,  1.0507]
sgn([-2.0, 0.0, 3.0]) -> [-1.,  0.,  1.]
sgn(torch.tensor(3 + 4j)) -> tensor(0.6000+0.8000j)
sign([-2.0, 0.0, 3.0]) -> [-1.,  0.,  1.]
signbit([-1.0, 2.0, -0.0]) -> [ True, False,  True]
nn.functional.silu([-1.0, 0.5]) -> [-0.2689,  0.3112]
slice_copy(torch.arange(6), 0, 1, 5, 2) -> [1, 3]
slice_inverse(torch.zeros(2), torch.arange(4), 0, 0, 2) -> [0, 1, 2, 3]
slice_scatter(torch.zeros(4), torch.ones(2), start=2) -> [0., 0., 1., 1.]
slogdet([[0.0, 2.0], [4.0, 0.0]]) -> sign=tensor(-1.); logabsdet=tensor(2.0794)
softmax([1.0, 2.0, 3.0], 0) -> [0.0900, 0.2447, 0.6652]
nn.functional.softplus([0.0, 2.0]) -> [0.6931, 2.1269]
nn.functional.softshrink([-1.0, 0.25, 1.0]) -> [-0.5000,  0.0000,  0.5000]
nn.functional.softsign([-1.0, 3.0]) -> [-0.5000,  0.7500]
sort([3.0, 1.0, 2.0]) -> values=[1., 2., 3.]; indices=[1, 2, 0]
split(torch.arange(5), 2) -> (tensor([0, 1]), tensor([2, 3]), tensor([4]))
split_copy(torch.arange(4), 2) -> (tensor([0, 1]), tensor([2, 3]))
split_with_sizes(torch.arange(5), (1, 4)) -> (tensor([0]), tensor([1, 2, 3, 4]))
split_with_sizes_copy(torch.arange(4), (1, 3)) -> (tensor([0]), tensor([1, 2, 3]))
square([3.0, -2.0]) -> [9., 4.]
squeeze(torch.zeros(1, 2, 1)).shape -> torch.Size([2])
squeeze_copy([[1, 2]]) -> [1, 2]
stack([torch.tensor([1, 2]), torch.tensor([3, 4])]) -> [[1, 2], [3, 4]]
stft(torch.ones(8), 4, return_complex=True).shape -> torch.Size([3, 9])
sub([5.0, 6.0], [1.0, 2.0], alpha=2) -> [3., 2.]
sum([[1.0, 2.0], [3.0, 4.0]], 1) -> [3., 7.]
svd(torch.diag(torch.tensor([2.0, 3.0]))).S.round(decimals=3) -> [3., 2.]
swapaxes(torch.zeros(2, 3), 0, 1).shape -> torch.Size([3, 2])
swapdims(torch.zeros(2, 3), 0, 1).shape -> torch.Size([3, 2])
t([[1, 2], [3, 4]]) -> [[1, 3], [2, 4]]
t_copy([[1, 2], [3, 4]]) -> [[1, 3], [2, 4]]
take([[1, 2], [3, 4]], [0, 3]) -> [1, 4]
take_along_dim([[1, 2], [3, 4]], [[0], [1]], 1) -> [[1], [4]]
nn.functional.tanhshrink([-1.0, 0.5]) -> [-0.2384,  0.0379]
tensor_split(torch.arange(5), 2) -> (tensor([0, 1, 2]), tensor([3, 4]))
tensordot(torch.ones(2, 3), torch.ones(3, 2), dims=1) -> [[3., 3.], [3., 3.]]
threshold([0.5, 2.0], 1.0, -1.0) -> [-1.,  2.]
tile([1, 2], (2, 2)) -> [[1, 2, 1, 2], [1, 2, 1, 2]]
topk([3.0, 1.0, 2.0], 2) -> values=[3., 2.]; indices=[0, 2]
trace([[1.0, 2.0], [3.0, 4.0]]) -> tensor(5.)
transpose([[1, 2], [3, 4]], 0, 1) -> [[1, 3], [2, 4]]
transpose_copy([[1, 2], [3, 4]], 0, 1) -> [[1, 3], [2, 4]]
trapezoid([1.0, 2.0, 3.0]) -> tensor(4.)
triangular_solve(torch.ones(2, 1), torch.eye(2) * 2).solution -> [[0.5000], [0.5000]]
tril([[1, 2], [3, 4]]) -> [[1, 0], [3, 4]]
tril_indices(2, 2) -> [[0, 1, 1], [0, 0, 1]]
triu([[1, 2], [3, 4]]) -> [[1, 2], [0, 4]]
triu_indices(2, 2) -> [[0, 0, 1], [0, 1, 1]]
trunc([1.2, -1.2]) -> [ 1., -1.]
typename([1.0]) -> 'torch.FloatTensor'
unbind([[1, 2], [3, 4]]) -> (tensor([1, 2]), tensor([3, 4]))
unbind_copy([[1, 2], [3, 4]]) -> (tensor([1, 2]), tensor([3, 4]))
unflatten(torch.zeros(6, 2), 0, (2, -1)).shape -> torch.Size([2, 3, 2])
unfold_copy(torch.arange(4), 0, 2, 2) -> [[0, 1], [2, 3]]
unique([3, 1, 3], return_counts=True) -> (tensor([1, 3]), tensor([1, 2]))
unique_consecutive([1, 1, 2, 1]) -> [1, 2, 1]
unravel_index([3, 5], (2, 3)) -> (tensor([1, 1]), tensor([0, 2]))
unsafe_chunk(torch.arange(4), 2) -> (tensor([0, 1]), tensor([2, 3]))
unsafe_split(torch.arange(4), 2) -> (tensor([0, 1]), tensor([2, 3]))
unsafe_split_with_sizes(torch.arange(4), (1, 3)) -> (tensor([0]), tensor([1, 2, 3]))
unsqueeze(torch.zeros(2, 3), 1).shape -> torch.Size([2, 1, 3])
unsqueeze_copy([1, 2], 0) -> [[1, 2]]
vander([1, 2, 3]) -> [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
vdot([1j, 2.0], [1j, 3.0]) -> tensor(7.+0.j)
view_as_complex([[1.0, 2.0]]) -> [1.+2.j]
view_as_complex_copy([1.0, 2.0]) -> tensor(1.+2.j)
view_as_real([1 + 2j]) -> [[1., 2.]]
view_as_real_copy(torch.tensor(1 + 2j)) -> [1., 2.]
view_copy(torch.arange(4), (2, 2)) -> [[0, 1], [2, 3]]
vstack([torch.tensor([1, 2]), torch.tensor([3, 4])]) -> [[1, 2], [3, 4]]
x = [-1.0, 2.0, -3.0]; where(x > 0, x, 0.0) -> [0., 2., 0.]
zero_(torch.ones(2)) -> [0., 0.]
zeros(2, 3) -> [[0., 0., 0.], [0., 0., 0.]]
zeros_like(torch.ones(2)) -> [0., 0.]
"""

_ENDS = re.compile(r"(\]+), *\[")
_FIELD = re.compile(r"\w+=")


def _shown(calls: str, result: str) -> str:
    """An example as it stands in a docstring."""
    if "torch." not in calls:
        calls = _with_tensors(calls)
    *before, call = calls.split("; ")
    if call.partition(".")[0] not in [line.partition(" = ")[0] for line in before]:
        call = f"torch.{call}"
    lines = [f">>> {line}" for line in (*before, call)]
    return "\n".join([*lines, _printed(word_of(calls), result)])


def _printed(word: str, result: str) -> str:
    """A result as Python prints it."""
    if _FIELD.match(result):
        parts = [part.partition("=") for part in result.split("; ")]
        fields = [f"{name}={_printed(word, value)}" for name, _, value in parts]
        return f"torch.return_types.{word}(\n{f',{chr(10)}'.join(fields)})"
    if result[0] != "[":
        return result
    depth = len(result) - len(result.lstrip("["))

    def on_new_line(ends: re.Match[str]) -> str:
        count = len(ends[1])
        return f"{ends[1]},{chr(10) * count}{' ' * (7 + depth - count)}["

    return f"tensor({_ENDS.sub(on_new_line, result)})"


def _with_tensors(call: str) -> str:
    """A call with tensors in the place of lists."""
    made, depth = "", 0
    for letter in call:
        depth -= letter == "]"
        start, end = ("torch.tensor(", ")") if not depth else ("", "")
        made += f"{start}[" if letter == "[" else f"]{end}" if letter == "]" else letter
        depth += letter == "["
    return made


def word_of(calls: str) -> str:
    """The word by which an operation declares itself: `linalg_det` of `linalg.det(A)`."""
    call = calls.rpartition("; ")[2].partition("(")[0]
    return call.removeprefix("nn.functional.").replace(".", "_")


# By the word of the operation, as they stand in docstrings.
EXAMPLES: dict[str, str] = {}
for _line in _LINES.splitlines():
    _calls, _, _result = _line.partition(" -> ")
    _known = EXAMPLES.get(word_of(_calls))
    _text = _shown(_calls, _result)
    EXAMPLES[word_of(_calls)] = _text if _known is None else f"{_known}\n{_text}"
