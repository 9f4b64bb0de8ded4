"""Calls of `torch`, of tensors' methods and of `torch.linalg` with drawn arguments.

Knows no library.
"""

from __future__ import annotations

import numpy as np
from drawn_arguments import Maker, numbers, unary, with_rest, with_shapes

TORCH: dict[str, Maker] = {
    **{
        name: unary()
        for name in "abs acos asin atan ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac isnan lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc numel nonzero det trace inverse t diag".split()
    },
    **{
        name: with_shapes((2, 3), draw_shape)
        for draw_shape in ((2, 3), (3,), (4, 3))
        for name in (
            "add",
            "sub",
            "mul",
            "div",
            "maximum",
            "atan2",
            "pow",
            "fmod",
            "remainder",
            "logaddexp",
            "hypot",
            "eq",
            "lt",
            "where",
            "dist",
            "cross",
            "dot",
            "mv",
            "outer",
            "kron",
            "matmul",
            "mm",
            "inner",
            "vdot",
            "chain_matmul",
            "isclose",
            "equal",
        )
    },
    **{
        name: with_shapes((2, 3), dim=(0, 1, -1, 2, -3, (0, 1), None), keepdim=(True, False))
        for name in "sum mean prod amax amin logsumexp var std norm all any argmax argmin max min median nansum count_nonzero mode nanmean".split()
    },
    **{
        name: with_rest((2, 3), rest=([0], [1], [-1], [2], []))
        for name in "cumsum cumprod logcumsumexp cummax softmax log_softmax unbind squeeze unsqueeze sort argsort flip diff flatten".split()
    },
    "cat": lambda draw: (
        [[numbers(draw, 2, 3), numbers(draw, *draw.one((2, 3), (1, 3), (2, 2), (0,), (3,)))]],
        draw.some({"dim": (0, 1, -1, 2)}),
    ),
    "stack": lambda draw: (
        [[numbers(draw, 2, 3), numbers(draw, *draw.one((2, 3), (2, 2)))]],
        draw.some({"dim": (0, 1, 2, 3, -3)}),
    ),
    "hstack": lambda draw: ([[numbers(draw, 2, 3), numbers(draw, *draw.one((2, 2), (3, 2)))]], {}),
    "reshape": with_rest(
        (2, 6), rest=([(3, 4)], [(-1,)], [(5, -1)], [(-1, -1)], [(7,)], [(0, -1)])
    ),
    "transpose": with_rest((2, 3), rest=([0, 1], [0, 2], [-1, 0], [0])),
    "permute": with_rest((2, 3, 2), rest=([(2, 0, 1)], [(0, 1)], [(0, 0, 1)], [(3, 0, 1)])),
    "split": with_rest((5, 2), rest=([2], [[2, 3]], [[2, 2]], [0], [-1]), dim=(0, 1, 2)),
    "chunk": with_rest((5, 2), rest=([2], [3], [0]), dim=(0, 1, 3)),
    "index_select": with_rest(
        (3, 4),
        rest=(
            [0, np.array([0, 2])],
            [1, np.array([3])],
            [0, np.array([5])],
            [2, np.array([0])],
            [0, np.array([0.5])],
            [0, np.array([[0]])],
        ),
    ),
    "gather": with_rest(
        (3, 4),
        rest=(
            [0, np.array([[0, 1]])],
            [1, np.array([[3], [0]])],
            [1, np.array([[7]])],
            [0, np.array([1])],
            [2, np.array([[0]])],
        ),
    ),
    "scatter": with_rest(
        (3, 4),
        rest=(
            [0, np.array([[0, 1]]), np.ones((1, 2))],
            [1, np.array([[3]]), 2.0],
            [1, np.array([[7]]), 1.0],
            [0, np.array([[0, 1]]), np.ones((1, 1))],
        ),
    ),
    "take": with_rest(
        (3, 4), rest=([np.array([0, 11])], [np.array([12])], [np.array([-1])], [np.array([0.5])])
    ),
    "masked_select": with_rest(
        (3, 2), rest=([np.ones((3, 2), bool)], [np.ones((3, 3), bool)], [np.ones((3, 2))])
    ),
    "masked_fill": with_rest(
        (3, 2),
        rest=([np.ones((3, 2), bool), 2.0], [np.ones((2, 2), bool), 1.0], [np.ones((3, 2)), 1.0]),
    ),
    "clamp": with_shapes((2, 3), min=(0.0, -1, None), max=(0.5, 1, None)),
    "topk": with_rest((2, 4), rest=([2], [1], [5], [-1], [2, 0]), largest=(False,), dim=(0, 1, 2)),
    "kthvalue": with_rest((2, 4), rest=([2], [1], [5], [0]), dim=(0, 1, 2)),
    "narrow": with_rest((4, 3), rest=([0, 1, 2], [0, 3, 2], [1, -1, 1], [2, 0, 1], [0, 0, -1])),
    "select": with_rest((4, 3), rest=([0, 1], [0, 4], [1, -1], [2, 0], [1, -4])),
    "roll": with_rest((4, 3), rest=([1], [1, 0], [(1, 2), (0, 1)], [(1, 2), 0], [1, 4])),
    "tril": with_shapes((3, 4), diagonal=(0, 1, -1)),
    "triu": with_shapes((3,), diagonal=(0, 1)),
    "diagonal": with_shapes((3, 4), offset=(0, 1, 5), dim1=(0, 1), dim2=(1, 0)),
    "einsum": lambda draw: (
        [
            draw.one(
                "ij,jk->ik",
                "ij,ij->",
                "ij,kj",
                "ij->ji",
                "ij,jk->iz",
                "ijk,jk",
                "ij,jk->ii",
                "i,j",
            ),
            numbers(draw, 2, 3),
            numbers(draw, 3, 2),
        ],
        {},
    ),
    "bmm": with_shapes((2, 3, 4), (2, 4, 2)),
    "baddbmm": with_shapes((2, 3, 2), (2, 3, 4), (2, 4, 2), beta=(0.5,), alpha=(2,)),
    "addmm": with_rest(
        (3, 2),
        (3, 4),
        rest=([np.ones((4, 2))], [np.ones((3, 2))], [np.ones(2)]),
        beta=(0.5,),
        alpha=(2,),
    ),
    "tensordot": with_rest((2, 3), (3, 2), rest=([1], [2], [([0], [1])], [([0], [0])], [3])),
    "lerp": with_rest((2, 3), (2, 3), rest=([0.5], [np.ones(3)], [np.ones(2)])),
    "addcmul": with_shapes((2, 3), (2, 3), (2, 3), value=(0.5, 2)),
    "meshgrid": lambda draw: (
        [numbers(draw, 2), numbers(draw, *draw.one((3,), (2, 2)))],
        {"indexing": draw.one("ij", "xy", "zz")},
    ),
    "repeat_interleave": with_rest(
        (2, 3), rest=([2], [np.array([1, 2])], [np.array([1, 2, 1])], [-1]), dim=(0, 1, 2)
    ),
    "cdist": with_shapes((2, 3), (4, 3), p=(2.0, 1.0, -1.0)),
    "linspace": lambda draw: ([0, 1, draw.one(3, 0, 1, -1)], {}),
    "arange": lambda draw: (draw.one([3], [0, 1, 0.3], [0, 1, 0], [1, 0], [1, 0, -0.5]), {}),
    "full": lambda draw: (draw.one([(2, 3), 1.5], [(2,), 3], [(-1,), 3], [(2, 3)]), {}),
    "eye": lambda draw: (draw.one([3], [2, 3], [-1], [2, -3]), {}),
    "zeros": lambda draw: (draw.one([2, 3], [(2,)], [-1], [(2, -3)]), {}),
    "tensor": lambda draw: (
        draw.one([[1, 2]], [[[1, 2], [3]]], [["a"]], [2.5], [[]], [[1, "a"]], [None]),
        {},
    ),
    "bincount": lambda draw: (
        [draw.one(np.array([0, 1, 1]), np.array([-1, 2]), np.array([0.5]), np.zeros((2, 2), int))],
        draw.some({"minlength": (4, -1)}),
    ),
    "histc": with_shapes((6,), bins=(3, 0), min=(-1, 0), max=(1, 0)),
    "searchsorted": with_rest((5,), (3,), rest=([], [])),
    "unique": with_shapes((6,), return_inverse=(True,), return_counts=(True,)),
    "cov": with_shapes((2, 4), correction=(0, 1)),
    "quantile": with_rest(
        (2, 4), rest=([0.5], [1.5], [np.array([0.1, 0.9])]), dim=(0, 1, 2), keepdim=(True,)
    ),
    "tile": with_rest((2, 3), rest=([(2,)], [(2, 1, 2)], [(-1,)])),
    "broadcast_to": with_rest((2, 1), rest=([(2, 3)], [(3, 3)], [(2,)], [(-1, 4)])),
    "movedim": with_rest(
        (2, 3, 4), rest=([0, 2], [(0, 1), (1, 2)], [0, 5], [(0, 0), (1, 2)], [(0, 1), 2])
    ),
    "rot90": with_rest((2, 3), rest=([1, [0, 1]], [1, [0, 0]], [1, [0, 2]], [2, [0]])),
    "bucketize": with_rest((3,), rest=([np.array([0.0, 1.0])], [np.zeros((2, 2))])),
    "unflatten": with_rest(
        (2, 6), rest=([1, (2, 3)], [1, (-1, 4)], [1, (2, 2)], [2, (1,)], [0, (2, 1)])
    ),
    "result_type": with_shapes((2,), (3,)),
    "combinations": with_shapes((3,), r=(1, 2, 3)),
    "heaviside": with_shapes((2, 3), (3,)),
    "renorm": with_rest((2, 3), rest=([2, 0, 1.0], [1, 1, 0.5], [2, 2, 1.0], [-1, 0, 1.0])),
    "swapaxes": with_rest((2, 3), rest=([0, 1], [0, 3])),
    "cartesian_prod": with_shapes((2,), (3,)),
    "block_diag": with_shapes((2, 2), (1, 3)),
    "tensor_split": with_rest((5, 2), rest=([2], [0], [[1, 3]]), dim=(0, 1, 2)),
    "logspace": lambda draw: ([0, 1, draw.one(3, -2)], {}),
    "vander": with_shapes((3,), N=(2, 4, -1)),
    "trapezoid": with_shapes((2, 4), dx=(0.5,), dim=(0, 1, 2)),
    "nan_to_num": with_shapes((3,), nan=(1.0,)),
    "bernoulli": lambda draw: (
        [draw.one(np.array([1.5]), np.array([0.0, 1.0]), np.array([1]))],
        {},
    ),
    "multinomial": lambda draw: (
        [draw.one(np.array([-1.0, 1]), np.array([0.0, 0]), np.array([1]))],
        {"num_samples": draw.one(1, 0, 5)},
    ),
    "take_along_dim": with_rest(
        (3, 4), rest=([np.array([[0], [1], [2]]), 1], [np.array([[9]]), 1], [np.array([[0.5]]), 0])
    ),
}

METHODS: dict[str, Maker] = {
    "view": with_rest((2, 6), rest=([3, 4], [-1], [5, -1], [-1, -1], [7], [(3, 4)])),
    "expand": with_rest((2, 1), rest=([2, 3], [3, 3], [2], [-1, 4], [4, -1, 3], [-1, -1, -1])),
    "repeat": with_rest((2, 3), rest=([2], [2, 2], [1, 2, 3], [-1, 1])),
    "item": with_shapes((2,)),
    "backward": with_shapes((2,)),
    "add_": with_rest((2, 3), rest=([np.ones(3)], [np.ones((2, 2))], [np.ones((2, 2, 3))], [1.5])),
    "mul_": with_rest((2, 3), rest=([np.ones((4, 2, 3))], [2])),
    "copy_": with_rest((2, 3), rest=([np.ones(3)], [np.ones((3, 3))])),
    "fill_": with_rest((2, 3), rest=([1.0], [np.ones(2)], [np.ones(())])),
    "unfold": with_rest((5, 2), rest=([0, 2, 1], [0, 6, 1], [0, 2, 0], [2, 1, 1], [0, -1, 1])),
    "as_strided": with_rest(
        (4,), rest=([(2, 2), (1, 1)], [(2, 2), (1,)], [(4, 4), (1, 1)], [(2,), (-1,)])
    ),
    "index_add": with_rest(
        (3, 2),
        rest=(
            [0, np.array([0, 2]), np.ones((2, 2))],
            [0, np.array([0]), np.ones((2, 2))],
            [0, np.array([4]), np.ones((1, 2))],
        ),
    ),
    "index_fill": with_rest(
        (3, 2), rest=([0, np.array([0, 2]), 1.0], [0, np.array([4]), 1.0], [3, np.array([0]), 1.0])
    ),
    "index_copy": with_rest(
        (3, 2), rest=([0, np.array([0, 2]), np.ones((2, 2))], [0, np.array([0]), np.ones((2, 2))])
    ),
    "index_put": with_rest(
        (3, 2),
        rest=(
            [(np.array([0, 2]),), np.ones(2)],
            [(np.array([0, 5]),), np.ones(2)],
            [(np.array([0, 1]),), np.ones((3, 3))],
        ),
    ),
    "scatter_add": with_rest(
        (3, 4),
        rest=(
            [0, np.array([[0, 1]]), np.ones((1, 2))],
            [0, np.array([[0, 1]]), np.ones((1, 1))],
            [0, np.array([[5]]), np.ones((1, 1))],
        ),
    ),
    "masked_scatter": with_rest(
        (2, 2),
        rest=(
            [np.ones((2, 2), bool), np.ones(4)],
            [np.ones((2, 2), bool), np.ones(2)],
            [np.ones((2, 2)), np.ones(4)],
        ),
    ),
    "type": with_rest((2,), rest=(["torch.FloatTensor"], ["torch.What"])),
    "size": with_rest((2, 3), rest=([], [0], [2], [-1])),
    "stride": with_rest((2, 3), rest=([], [0], [2], [-1])),
    "__getitem__": with_rest(
        (3, 4),
        rest=(
            [0],
            [3],
            [(0, 1, 2)],
            [(slice(None), 5)],
            [np.array([0, 2])],
            [np.array([7])],
            [np.ones(4, bool)],
            [(None, Ellipsis, Ellipsis)],
            ["a"],
            [(np.array([0, 1]), np.array([0, 1, 2]))],
            [0.5],
            [slice(None, None, -1)],
        ),
    ),
    "__setitem__": with_rest(
        (3, 4),
        rest=(
            [0, 1.0],
            [3, 1.0],
            [0, np.ones(3)],
            [(slice(None), 0), np.ones((3, 1))],
            ["a", 1.0],
            [np.ones(4, bool), 1.0],
            [0, "a"],
        ),
    ),
    "requires_grad_": lambda draw: ([draw.numbers(2, dtype=draw.one(np.int64, np.float64))], {}),
    "__matmul__": with_shapes((2, 3), (2, 3)),
    "__bool__": with_shapes((2,)),
    "__float__": with_shapes((2,)),
    "__int__": with_shapes((2,)),
    "__index__": with_shapes(()),
    "__len__": with_shapes(()),
    "__iter__": with_shapes(()),
    "__contains__": with_rest((2,), rest=([1.0], ["a"])),
    "numpy": with_shapes((2,)),
    "tolist": with_shapes((2,)),
    "dim": with_shapes((2,)),
    "squeeze_": with_rest((2, 1), rest=([0], [1], [4])),
    "t_": with_shapes((2, 3, 4)),
    "new_zeros": with_rest((2,), rest=([2], [(2, 3)], [-1])),
    "sum_to_size": with_rest((2, 3), rest=([1, 3], [3], [2, 2])),
    "clamp_": with_shapes((2, 3), min=(0.0, None), max=(1.0, None)),
    "bernoulli_": with_rest((2,), rest=([0.0], [1.0], [1.5], [-0.5])),
    "uniform_": with_rest((2,), rest=([1.0, 0.0], [0.0, 0.0])),
    "normal_": with_rest((2,), rest=([0.0, -1.0], [1.0, 0.0])),
    "random_": with_rest((2,), rest=([0, 0], [3, 1], [0, 1])),
    "exponential_": with_rest((2,), rest=([0.0], [-1.0])),
    "geometric_": with_rest((2,), rest=([0.0], [1.5], [1.0])),
}

LINALG: dict[str, Maker] = {
    **{
        name: with_shapes(shape)
        for shape in ((3, 3), (2, 3), (3,))
        for name in (
            "inv",
            "det",
            "slogdet",
            "eigvalsh",
            "eigvals",
            "matrix_exp",
            "cholesky",
            "svdvals",
            "matrix_rank",
            "pinv",
            "qr",
            "cond",
        )
    },
    "solve": with_rest((3, 3), rest=([np.ones(3)], [np.ones((3, 2))], [np.ones((2, 2))])),
    "norm": with_shapes((2, 3), ord=(2, 1, "fro", "nuc", "what", -2), dim=(0, 1, (0, 1), 2)),
    "vector_norm": with_shapes(
        (2, 3), ord=(2, 1, 0, float("inf")), dim=(0, 1, 2), keepdim=(True,)
    ),
    "matrix_norm": with_shapes((2, 3), ord=("fro", "nuc", 1, 3, "x"), keepdim=(True,)),
    "matrix_power": with_rest((3, 3), rest=([2], [0], [-1])),
    "multi_dot": lambda draw: (
        [[numbers(draw, 2, 3), numbers(draw, *draw.one((3, 2), (2, 3)))]],
        {},
    ),
    "lstsq": with_shapes((4, 3), (4, 2)),
    "cross": with_shapes((2, 3), (2, 3), dim=(0, 1, -1)),
    "solve_triangular": with_rest((3, 3), (3, 2), rest=([],), upper=(True, False)),
}
