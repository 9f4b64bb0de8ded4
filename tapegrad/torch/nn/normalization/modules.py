"""Normalizations as modules, also such as learn their features from the first input.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._warning import warn
from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn import init
from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.dimensions import classes
from tapegrad.torch.nn.module.factory import add_parameters, filled
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.lazy import LazyModuleMixin
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.normalization import functions as _normalizing
from tapegrad.torch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

Shape = int | Sequence[int]


class _Affine(Module):
    """A module that may have a weight, of ones at first, and a bias, of zeros."""

    def _add_affine(
        self, shape: tuple[int, ...], weight: bool, bias: bool, dtype: Any, device: Any
    ) -> None:
        shapes = {"weight": shape if weight else None, "bias": shape if bias else None}
        add_parameters(self, dtype, device, **shapes)

    def _affine_parts(self) -> tuple[Any, Any]:
        """The weight and the bias, as a rule without a search through all tables."""
        known = self._parameters
        try:
            return known["weight"], known["bias"]
        except KeyError:  # replaced by tensors that are no parameters
            return self.weight, self.bias

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _NormBase(_Affine):
    """Base of batch and instance norms: running statistics, None without track_running_stats."""

    _version = 2  # the first had no num_batches_tracked
    _in_repr = "=num_features eps momentum affine bias track_running_stats"
    _ranks: tuple[int, ...]
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._add_affine((num_features,), affine, affine and bias, dtype, device)
        running = (filled((num_features,), value, dtype, device) for value in (0, 1))
        mean, variance = running if track_running_stats else (None, None)
        count = filled((), 0, np.int64, device) if track_running_stats else None
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def _running(self) -> tuple[Any, Any, Any]:
        """The running mean and variance, and the number of batches."""
        known = self._buffers
        try:
            return known["running_mean"], known["running_var"], known["num_batches_tracked"]
        except KeyError:  # replaced by what is no buffer
            return self.running_mean, self.running_var, self.num_batches_tracked

    def reset_running_stats(self) -> None:
        """Start the running statistics anew."""
        if self.track_running_stats:
            with no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Start everything anew."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            words = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {words} input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version, path = local_metadata.get("version"), f"{prefix}num_batches_tracked"
        if self.track_running_stats and (version is None or version < 2):
            count = self.num_batches_tracked
            state_dict.setdefault(
                path, of_value(np.zeros((), np.int64)) if count is None else count
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Channels with mean 0 and variance 1 over the batch: `nn.functional.batch_norm`.

    By the statistics of the batch while training, else by the running ones.

    momentum (float or None): How far the running statistics move towards those of a batch; None
        for the means over all batches.
    See also tapegrad.torch.nn.functional.batch_norm: The same as a function.

    >>> torch.nn.{name}(3)(torch.ones(2, 3, {sides})).shape
    torch.Size([2, 3, {sides}])
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        part = 0.0 if self.momentum is None else self.momentum
        mean, variance, counter = self._running()
        if self.training and self.track_running_stats and counter is not None:
            _normalizing.count_batch(counter)
            if self.momentum is None:
                part = 1.0 / float(counter)
        by_batch = self.training or (mean is None and variance is None)
        used = not self.training or self.track_running_stats
        return _normalizing.batch_norm(
            input,
            mean if used else None,
            variance if used else None,
            *self._affine_parts(),
            by_batch,
            part,
            self.eps,
        )


BatchNorm1d, BatchNorm2d, BatchNorm3d = classes(
    _BatchNorm,
    """Channels with mean 0 and variance 1 over the batch, of (n, channels) or with a length.

    >>> torch.nn.BatchNorm1d(1)(torch.tensor([[1.0], [3.0]]))
    tensor([[-1.0000],
            [ 1.0000]], grad_fn=<NativeBatchNormBackward0>)
    """,
    "Channels with mean 0 and variance 1 over the batch, of (n, channels, height, width).",
    "Channels with mean 0 and variance 1 over the batch, of volumes with n.",
    _ranks=((2, 3), (4,), (5,)),
)


class _InstanceNorm(_NormBase):
    """Channels of each example with mean 0 and variance 1: `nn.functional.instance_norm`.

    momentum: How far the running statistics move towards those of an input.
    See also tapegrad.torch.nn.functional.instance_norm: The same as a function.

    >>> torch.nn.{name}(3)(torch.ones(2, 3, {sides})).shape
    torch.Size([2, 3, {sides}])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: device | str | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            paths = [prefix + name for name in ("running_mean", "running_var")]
            found = [path for path in paths if path in state_dict]
            if found:
                rest[-1].append(_running(found, type(self).__name__))
            for path in found:
                del state_dict[path]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channels = input.ndim - self._ranks[0]
        if input.shape[channels] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features "
                    f"({self.num_features}), but got: {input.shape[channels]}."
                )
            warn(
                f"input's size at dim={channels} does not match num_features. You can silence "
                "this warning by not passing in num_features, which is not used because "
                "affine=False"
            )
        whole: Any = input if channels else input.unsqueeze(0)
        part = 0.0 if self.momentum is None else self.momentum
        out = _normalizing.instance_norm(
            whole,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            part,
            self.eps,
        )
        return out if channels else out.squeeze(0)


def _running(paths: list[str], name: str) -> str:
    """Message about statistics that an older version saved, and this module does not track."""
    listed = " and ".join(f'"{path}"' for path in paths)
    return (
        f"Unexpected running stats buffer(s) {listed} for {name} with track_running_stats=False. "
        "If state_dict is a checkpoint saved before 0.4.0, this may be expected because "
        f"{name} does not track running stats by default since 0.4.0. Please remove these keys "
        "from state_dict. If the running stats are actually needed, instead set "
        f"track_running_stats=True in {name} to enable them. See the documentation of {name} for "
        "details."
    )


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = classes(
    _InstanceNorm,
    """Channels of each example with mean 0 and variance 1, of (n, channels, length) or without n.

    >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """,
    "Channels of each example with mean 0 and variance 1, of images with or without n.",
    "Channels of each example with mean 0 and variance 1, of volumes with or without n.",
    _ranks=((2, 3), (3, 4), (4, 5)),
)


def _sizes(normalized_shape: Shape) -> tuple[int, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)  # type: ignore[arg-type]


class LayerNorm(_Affine):
    """The last dimensions with mean 0 and variance 1 together.

    elementwise_affine: Whether there is a weight and a bias, of this shape.
    bias: Whether there is a bias, if `elementwise_affine`.

    >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0], [5.0, 9.0]]))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    _in_repr = "=normalized_shape eps elementwise_affine bias"

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape: tuple[int, ...] = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self._add_affine(self.normalized_shape, affine, affine and bias, dtype, device)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return _normalizing.layer_norm(
            input, self.normalized_shape, *self._affine_parts(), self.eps
        )


class RMSNorm(_Affine):
    """The last dimensions divided by the root of their mean square.

    eps: Added to the mean square; the machine epsilon of the dtype unless given.
    elementwise_affine: Whether there is a weight, of this shape.

    >>> torch.nn.RMSNorm(2)(torch.tensor([1.0, 7.0]))
    tensor([0.2000, 1.4000], grad_fn=<MulBackward0>)
    """

    _in_repr = "=normalized_shape eps elementwise_affine"

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape: tuple[int, ...] = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        add_parameters(self, dtype, device, weight=shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return _normalizing.rms_norm(x, self.normalized_shape, self.weight, self.eps)


@layer("group_norm")
class GroupNorm(_Affine):
    """Groups of channels of each example with mean 0 and variance 1.

    num_channels: The channels of inputs.
    ValueError: For channels that the groups do not divide.

    >>> torch.nn.GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 5.0, 9.0]]))
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]],
           grad_fn=<NativeGroupNormBackward0>)
    """

    _in_repr = "=num_groups =num_channels eps affine bias"

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_affine((num_channels,), affine, affine and bias, dtype, device)
        self.reset_parameters()


@layer("local_response_norm", shows="=size alpha beta k")
class LocalResponseNorm(Module):
    """Each element divided by a power of its neighbours' mean square over channels."""


class _LazyNormBase(LazyModuleMixin):
    """As `{plain}`, with the channels of its first input for num_features.

    >>> torch.nn.{name}()(torch.ones(2, 3, {sides})).shape
    torch.Size([2, 3, {sides}])
    """

    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = of_value(np.zeros((), np.int64))

    def reset_parameters(self) -> None:
        """Start everything anew, once it has shapes."""
        if self.num_features and not self.has_uninitialized_params():
            layer: Any = super()
            layer.reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take num_features from an input.

        input: The input.
        """
        known = not self.has_uninitialized_params()
        self.num_features = int(input.shape[1])
        if known:  # from a state
            return
        for value in (self.weight, self.bias, self.running_mean, self.running_var):
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class _LazyBatchNorm(_LazyNormBase):
    pass


class _LazyInstanceNorm(_LazyNormBase):
    pass


_OF_BATCHES = BatchNorm1d, BatchNorm2d, BatchNorm3d
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = classes(
    _LazyBatchNorm, "", "", "", also=_OF_BATCHES, cls_to_become=_OF_BATCHES
)
_OF_EXAMPLES = InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = classes(
    _LazyInstanceNorm, "", "", "", also=_OF_EXAMPLES, cls_to_become=_OF_EXAMPLES
)


@layer("local_response_norm", k=1)
class CrossMapLRN2d(LocalResponseNorm):
    """The older `LocalResponseNorm`, of images (n, channels, height, width).

    Its windows are PyTorch's: the first channel is in all of them. The gradient is that of the
    result, where PyTorch's backward takes other windows.

    >>> torch.nn.CrossMapLRN2d(2)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    def forward(self, input: Tensor) -> Any:
        """Compute the normalized images.

        input: Of shape (n, channels, height, width).
        -> Tensor: Of the shape of `input`.
        ValueError: For other dimensions.
        """
        return _normalizing.cross_map_norm(input, self.size, self.alpha, self.beta, self.k)


__all__ = list(own_names(__name__))
