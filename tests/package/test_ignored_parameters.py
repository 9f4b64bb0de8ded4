"""No function takes an argument and ignores it, but for those named here with the reason.

A parameter that a body never reads is a promise that is not kept: the caller gets another result
than he asked for, and no error. The walk reads the sources; what it cannot see is a parameter that
is read and yet has no effect.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "tapegrad"

# Where functions that users call are written. In the other packages the parameters of a function
# are those of a protocol.
PACKAGES = frozenset(
    "torch numpy scipy optimize sparse testing implicit dask tree autograd _transforms rules "
    "_compile _profile".split()
)
OWN_PROTOCOLS = frozenset(("torch._rules", "torch._graph", "torch._engine"))

# Names that mean the same everywhere, and change no result.
NO_EFFECT = {
    "memory may be reused, and never is": """
        overwrite_a overwrite_ab overwrite_a_band overwrite_b overwrite_c overwrite_x overwrite_A
        overwrite_data overwrite_input""",
    "a hint for speed or memory, of one way to compute among several": """
        plan workers lwork blocksize threshold use_umfpack traceA lapack_driver foreach
        non_blocking pin_memory cudnn_enabled cudnn_enable sparse_grad mmap""",
    "there is one device": "device_ids output_device check_device",
    "all tensors are dense": "masked check_layout",
    "results are in order, which the parameter leaves open": "stable sorted",
    "a recording is made in one way, for one kind of activity": """
        use_python_export use_kineto experimental_config execution_trace_observer
        custom_trace_id_callback post_processing_timeout_s activity_filters""",
    "there is one format": "pickle_module _use_new_zipfile_serialization",
    "the caller gives it by agreement, for those who need it": """
        out _out _x _y _instance _stacklevel wanted""",
}

# Single functions: the reason, and the parameters.
SINGLE = {
    "settings of an iteration, where the result is computed at once": """
        lobpcg.iK lobpcg.niter lobpcg.tol lobpcg.method lobpcg.ortho_iparams lobpcg.ortho_fparams
        lobpcg.ortho_bparams""",
    "mixed precision changes nothing here, and says so once": """
        autocast.__init__.cache_enabled GradScaler.__init__.device GradScaler.__init__.init_scale
        GradScaler.__init__.growth_factor GradScaler.__init__.backoff_factor
        GradScaler.__init__.growth_interval""",
    "of plain values alone, which are SciPy's: an interpolant of traced ones does without": """
        splint.full_output splrep.quiet splprep.w make_splprep.w make_interp_spline.check_finite
        make_lsq_spline.check_finite BarycentricInterpolator.__init__.**options
        barycentric_interpolate.**options CloughTocher2DInterpolator.__init__.points
        CloughTocher2DInterpolator.__init__.values CloughTocher2DInterpolator.__init__.*args
        CloughTocher2DInterpolator.__init__.**options CloughTocher2DInterpolator.__call__.*args
        UnivariateSpline.__init__.check_finite UnivariateSpline.set_smoothing_factor.s
        InterpolatedUnivariateSpline.__init__.check_finite
        LSQUnivariateSpline.__init__.check_finite from_matrix.assume_valid""",
    "nothing is run beside what is timed, registered or shaped": """
        register_pytree_node.**_ Timer.__init__.global_setup MetaArray.astype.*_
        MetaArray.astype.**__""",
    "there is one device": """
        pin_memory.device is_pinned.device save_on_cpu.__init__.device_type
        DataParallel.__init__.dim data_parallel.dim get_device_states.*args cuda.**_""",
    "it says so, by a warning or in its docstring": """
        compile_model.dynamic compile_model.mode compile_model.options compile_model.name
        profile.toggle_collection_dynamic.enabled
        profile.toggle_collection_dynamic.activities""",
    "an error comes in any case": """
        _fractional_max_pool_nd.fractional_max_pool.*args
        _fractional_max_pool_nd.fractional_max_pool.**kwargs
        _student_pdf.allow_singular _Refused.__init__.*args
        _Refused.__init__.**kwargs _Refused.__call__.*args _Refused.__call__.**kwargs
        _function.refused.*args _function.refused.**kwargs""",
    "PyTorch or SciPy ignores it too": """
        _adaptive_max_pool_nd_with_indices.adaptive_max_pool.return_indices Identity.__init__.*args
        Identity.__init__.**kwargs Function.__init__.*args Function.__init__.**kwargs""",
    "no call is planned": "learned.*_call",
    "elements are new ones anyway": "Elements.conj.copy",
    "the order in memory is that of rows": "Stored.toarray.order",
    "only how it is printed": "_construct.maxprint",
    "the graph stays until nothing refers to it": "vjp.pull.retain_graph",
    "of the whole tensor, which is given too, only the shape would matter": """
        slice_inverse.input slice_inverse.dim slice_inverse.start slice_inverse.end
        slice_inverse.step""",
    "every subclass is broadcast as a plain array": "_broadcast_arrays.subok",
    "the same for all formulas of the family": """
        _plain_svdvals.full_matrices _plain_pairs.pencil _by_function.x0 _gain.a
        _discrete_gain.e crossings.problem crossings.event crossings.*arrays
        _weighted_histogram.edges _weighted_histogramdd.edges _at_least.x _summed.counts
        _looked_up.padding_idx _looked_up.by_freq""",
}

# Methods and functions whose parameters their caller fixes: a protocol of ours, of PyTorch's, of
# SciPy's or of Python's. Parameters by their functions.
PROTOCOLS = """
mm_flop addmm_flop bmm_flop baddbmm_flop conv_flop conv_backward_flop sdpa_flop
sdpa_backward_flop _step _recurrent
vjp_maker.maker Place.variable Cell.variable OfLibrary.terms Names.terms OfFunction.terms
OfClass.terms _of_fft _of_rfft _of_irfft
_get_fft_args _get_fft2_args grad_container_take grad_sequence_extend_right
grad_sequence_extend_left _grad_odeint _vjp_sylvester _jvp_sylvester _einsum_tensordot
maker_by_function.make _FractionalMaxPool.__init__ Adadelta._move Adagrad._move Adam._move
Adamax._move NAdam._move RAdam._move RMSprop._move SGD._move rebuild_tensor
rebuild_tensor_of_dtype rebuild_parameter rebuild_parameter_with_state
grad_chooser dot_adjoint_0 dot_adjoint_1 matmul_adjoint_0 matmul_adjoint_1
tensordot_adjoint_0 norm_vjp _rsub_name _div_name _set_volatile
identity_vjp fallback_vjp.maker fallback_jvp.maker Finder.find_spec select_backend
ConstGraphNode.__init__
wrap_if_boxes_inside Trees.batches Values.batches Items.batches _value _value_and_grad
_product solve.find Constraint.part.of lbfgs.init lbfgs.update scale_by_rate.update
Stored._reduced Stored._along array_namespace _promote _make_elementary_quat
clip_by_norm.clipped accumulate.update scale_by_adam.update scale_by_rms.update
scale_by_sum_of_squares.update scale_by_sign.update _hfft _ihfft _fftn _ifftn _rfftn _irfftn
_over_two_axes.transform moved_by_positions.push powers _pulled_vjp _odeint_with.states
tplquad.inmost tplquad.middle beta_density gamma_density digamma_excess student_peak
beta_stretched matrix_normal_rvs wishart_rvs invwishart_rvs normal_rvs student_rvs
quick_grad_check Watch.before Watch.after Watch.left _is_assertion spread_of Line._widen
whole_argument _divided _through_view noted.printer noting_code.note _Known._check
stochastic_matrices.fits
degenerate_matrices.fits Growing.shares new_tensor _label_of_clamp
_scatter_label array_function _counted _matrix_label _label_of_sort _declare_median.name_of
_label_by_dim.label _in_copy _windows _every _from_to Path.quick Index.entry
Permute.quick _Ranges.recording _Ranges.begin _Ranges.end read_label
contiguous_label type_label _Lines.note Anomaly.check _Check._differentiable_positions
_always _real AffineTransform.log_abs_det_jacobian ComposeTransform.log_abs_det_jacobian
weight_norm.from_older BasePruningMethod.__call__ Identity.compute_mask
CustomFromMask.compute_mask SpectralNorm.__call__ SpectralNormStateDictHook.__call__
WeightNorm.__call__ Adafactor._begin average
Muon._begin Rprop._move SGD._begin get_ema_avg_fn.ema_update
wrap_intdtype.make opaque _unknown Conditions.weakness_at Conditions.outputs Minimum.functions
Squares.of_slopes _Leastsq.of_slopes _plain_parted
_plain_rest shared _Undefined.forward
""".split()


def _words(table: dict[str, str]) -> set[str]:
    return {word for words in table.values() for word in words.split()}


def _is_abstract(body: list[ast.stmt]) -> bool:
    """Whether a body does nothing, or only raises."""
    rest = [
        each
        for each in body
        if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]
    return all(isinstance(each, (ast.Raise, ast.Pass)) for each in rest)


def _unread(function: ast.FunctionDef, is_public: bool) -> Iterator[str]:
    """The parameters that a body never reads; those with an underscore are meant so if private."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [f"*{given.vararg.arg}"] if given.vararg else []
    names += [f"**{given.kwarg.arg}"] if given.kwarg else []
    read = {
        each.id
        for part in function.body
        for each in ast.walk(part)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }
    for name in names:
        word = name.lstrip("*")
        if word in read or word in ("self", "cls") or "locals" in read:
            continue
        if is_public or not word.startswith("_"):
            yield name


def _is_rule(function: ast.FunctionDef) -> bool:
    """Whether it is a derivative: those are given all arguments and parameters of a call."""
    return bool({"g", "dots"} & {each.arg for each in function.args.args[:2]})


def _functions(node: ast.AST, path: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            name = f"{path}{child.name}"
            if isinstance(child, ast.FunctionDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, path)


def ignored(source: str) -> Iterator[str]:
    """Parameters that the functions of a source ignore, as `function.parameter`."""
    for path, function in _functions(ast.parse(source)):
        is_special = function.name.startswith("__") and function.name not in (
            *("__init__", "__new__", "__call__"),
        )
        if is_special or _is_abstract(function.body) or _is_rule(function):
            continue
        is_public = not any(part.startswith("_") for part in path.split(".")[:-1])
        for name in _unread(function, is_public and not function.name.startswith("_")):
            yield f"{path}.{name}"


def _sources() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).parts
        if parts[0] in PACKAGES and ".".join(parts[:2]) not in OWN_PROTOCOLS:
            yield path


@pytest.mark.slow  # reads all sources: 6 MB
def test_no_parameter_is_ignored_without_a_reason():
    names, single, protocols = _words(NO_EFFECT), _words(SINGLE), set(PROTOCOLS)
    used: set[str] = set()
    silent = []
    for path in _sources():
        for found in ignored(path.read_text(encoding="utf-8")):
            function, _, name = found.rpartition(".")
            reasons = {name} & names, {found} & single, {function} & protocols
            used.update(*reasons)
            if not any(reasons):
                silent.append(f"{path.relative_to(ROOT)}: {found}")
    assert not silent, "taken and never read: honour it, refuse it, or give the reason here"
    assert not (single | protocols) - used, "named here, and no longer so"


def test_the_walk_finds_what_is_ignored():
    source = """
def f(x, y, *args, flag=None, **kwargs):
    def inner(z): return x
    return inner
class A:
    def g(self, a, _b): return 1
    def abstract(self, a): raise NotImplementedError
def _private(a, _b): return 1
def pull(g, out, x): return g
"""
    expected = ["f.y", "f.flag", "f.*args", "f.**kwargs", "f.inner.z", "A.g.a", "A.g._b"]
    assert list(ignored(source)) == [*expected, "_private.a"]
