"""`torch.nn.utils.prune`: parameters with some of their numbers set to zero, by masks.

Knows modules and their hooks. A pruned parameter "weight" is kept as "weight_orig", its mask is
the buffer "weight_mask", and a hook before `forward` sets the attribute to their product.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor

_ones_like, _rand_like, _zeros_like = (
    OPERATIONS[name] for name in ("ones_like", "rand_like", "zeros_like")
)


class BasePruningMethod(ABC):
    """A method of pruning: `compute_mask` says what is kept.

    PRUNING_TYPE is "unstructured", "structured" or "global"; it tells a `PruningContainer` what
    part of a parameter that was pruned before the method is to see.

    >>> class Halves(torch.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(2, 1)
    >>> hook = Halves.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1.]])
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        """The hook: set the pruned parameter of a module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask of ones and zeros for a tensor, of which `default_mask` is zero already.

        -> Tensor: Of the shape of `t`.
        """

    def apply_mask(self, module: Any) -> Any:
        """The product of the parameter and its mask.

        -> Tensor: The pruned parameter.
        """
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Any,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Prune a parameter of a module, perhaps again.

        *args: The arguments of the method.
        **kwargs: The same, by their names.
        -> BasePruningMethod: The hook.
        AssertionError: For scores of another shape.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        key, before = _found(module, name)
        if key is not None:
            del module._forward_pre_hooks[key]
        tensor = getattr(module, name)
        scores = tensor if importance_scores is None else importance_scores
        if scores.shape != tensor.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if before is not None:
            method = _joined(before, method)
        first = before is None
        try:
            made = _ones_like(tensor) if first else getattr(module, f"{name}_mask")
            mask = method.compute_mask(scores.detach(), made.detach().clone())
        except Exception:
            if before is not None:
                module.register_forward_pre_hook(before)
            raise
        if first:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", tensor)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Any:
        """A pruned copy of a tensor.

        default_mask: The mask so far; ones unless given.
        -> Tensor: The copy.
        AssertionError: For scores of another shape.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = _ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Make the product the parameter again; the mask goes.

        module (Module): The module.
        """
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _found(module: Any, name: str) -> tuple[int | None, Any]:
    """The hook that prunes a parameter, and its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


def _joined(before: Any, method: Any) -> PruningContainer:
    container = before
    if not isinstance(before, PruningContainer):
        container = PruningContainer(before)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, one after the other.

    *args (BasePruningMethod): The methods, or one iterable of them.
    TypeError: For what is no method.
    ValueError: For a method of another parameter.

    >>> layer = torch.nn.Linear(4, 2)
    >>> for _ in range(2):
    ...     _ = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5)
    >>> int((layer.weight == 0).sum())
    6
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if isinstance(args[0] if args else None, Iterable):
            args = tuple(args[0])
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method.

        method (BasePruningMethod): The method.
        TypeError: For what is none.
        ValueError: For one of another parameter.
        """
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask so far times that of the last method on what is left.

        -> Tensor: Of the shape of `t`.
        ValueError: For another PRUNING_TYPE.
        """
        method = self._pruning_methods[-1]
        kept = default_mask.to(dtype=t.dtype)
        part: Any
        if method.PRUNING_TYPE == "unstructured":
            part = default_mask.eq(1)
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim() if hasattr(method, "dim") else 0
            others = tuple(axis for axis in range(t.dim()) if axis != dim)
            left = default_mask.sum(others) != 0
            part = (slice(None),) * dim + (left,)
        elif method.PRUNING_TYPE == "global":
            part = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        more = method.compute_mask(t[part], default_mask=default_mask[part])
        kept[part] = more.to(dtype=kept.dtype)
        return kept


class Identity(BasePruningMethod):
    """A method that prunes nothing, and makes the mask.

    >>> layer = torch.nn.Linear(2, 1)
    >>> _ = torch.nn.utils.prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask as it is.

        -> Tensor: The mask so far.
        """
        return default_mask


class CustomFromMask(BasePruningMethod):
    """A method that prunes by a given mask.

    >>> layer = torch.nn.Linear(2, 1)
    >>> mask = torch.tensor([[1.0, 0.0]])
    >>> _ = torch.nn.utils.prune.CustomFromMask.apply(layer, "weight", mask)
    >>> layer.weight_mask
    tensor([[1., 0.]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask so far times the given one.

        -> Tensor: Of the shape of `t`.
        AssertionError: For a mask of another shape.
        """
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                "default_mask and self.mask must have the same shape, got "
                f"{default_mask.shape} and {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _Amount(BasePruningMethod):
    """A method that prunes a share of the parts, or a number of them.

    TypeError: For an `amount` that is no number.
    ValueError: For one below 0, and for a share above 1.
    """

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        count = self.amount
        if isinstance(count, numbers.Integral):
            if count > size:
                raise ValueError(
                    f"amount={count} should be smaller than the number of parameters to "
                    f"prune={size}"
                )
            return int(count)
        return round(count * size)


class _Unstructured(_Amount):
    """Single numbers: those with the least scores."""

    PRUNING_TYPE = "unstructured"

    def _scores(self, t: Tensor) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask so far without those whose scores are least.

        -> Tensor: Of the shape of `t`.
        ValueError: For more than there are.
        """
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            least = self._scores(t).reshape(-1).topk(count, largest=False).indices
            flat = mask.reshape(-1)
            flat[least] = 0
            mask = flat.reshape(mask.shape)
        return mask


class RandomUnstructured(_Unstructured):
    """A method that prunes numbers chosen at random.

    >>> layer = torch.nn.Linear(4, 1)
    >>> _ = torch.nn.utils.prune.RandomUnstructured.apply(layer, "weight", 1)
    >>> int(layer.weight_mask.sum())
    3
    """

    def _scores(self, t: Tensor) -> Any:
        return _rand_like(t)

    @classmethod
    def apply(cls, module: Any, name: str, amount: float) -> Any:  # type: ignore[override]
        """Prune a parameter of a module, perhaps again.

        -> RandomUnstructured: The hook.
        """
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """A method that prunes the numbers with the least absolute values.

    >>> method = torch.nn.utils.prune.L1Unstructured(0.5)
    >>> method.prune(torch.tensor([1.0, -3.0, 0.5, 2.0]))
    tensor([ 0., -3.,  0.,  2.])
    """

    def _scores(self, t: Tensor) -> Any:
        return t.abs()

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> Any:
        """Prune a parameter of a module, perhaps again.

        -> L1Unstructured: The hook.
        AssertionError: For scores of another shape.
        """
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """Whole slices along a dimension: those with the least scores."""

    PRUNING_TYPE = "structured"
    dim: int

    def _scores(self, t: Tensor) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask so far without the slices whose scores are least.

        -> Tensor: Of the shape of `t`.
        ValueError: For a vector, and for more slices than there are.
        IndexError: For a dimension that there is not.
        """
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found "
                f"tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if count == 0:
            return default_mask
        kept = self._scores(t).topk(size - count, largest=True).indices
        mask: Any = _zeros_like(t)
        mask[(slice(None),) * (self.dim % t.dim()) + (kept,)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """A method that prunes slices chosen at random.

    >>> method = torch.nn.utils.prune.RandomStructured(1, dim=0)
    >>> int((method.prune(torch.ones(3, 2)) == 0).sum())
    2
    """

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Tensor) -> Any:
        return OPERATIONS["rand"](t.shape[self.dim])

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: float, dim: int = -1
    ) -> Any:
        """Prune a parameter of a module, perhaps again.

        -> RandomStructured: The hook.
        """
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """A method that prunes the slices with the least norms.

    >>> method = torch.nn.utils.prune.LnStructured(1, n=2, dim=0)
    >>> method.prune(torch.tensor([[1.0, 1.0], [2.0, 2.0]]))
    tensor([[0., 0.],
            [2., 2.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _scores(self, t: Tensor) -> Any:
        dim = self.dim % t.dim()
        others = tuple(axis for axis in range(t.dim()) if axis != dim)
        return OPERATIONS["norm"](t, p=self.n, dim=others)

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Any,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> Any:
        """Prune a parameter of a module, perhaps again.

        -> LnStructured: The hook.
        AssertionError: For scores of another shape.
        """
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


# --- Functions ----------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones.

    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune numbers of a parameter at random.

    >>> layer = torch.nn.Linear(4, 1)
    >>> layer = torch.nn.utils.prune.random_unstructured(layer, "weight", 0.5)
    >>> int(layer.weight_mask.sum())
    2
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Any, name: str, amount: float, importance_scores: Tensor | None = None
) -> Any:
    """Prune the numbers of a parameter with the least absolute values.

    AssertionError: For scores of another shape.

    >>> layer = torch.nn.Linear(4, 2)
    >>> _ = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5)
    >>> int((layer.weight == 0).sum()), sorted(name for name, _ in layer.named_parameters())
    (4, ['bias', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune slices of a parameter along a dimension at random.

    >>> layer = torch.nn.Linear(2, 3)
    >>> layer = torch.nn.utils.prune.random_structured(layer, "weight", 1, dim=0)
    >>> int((layer.weight_mask == 0).sum())
    2
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Any:
    """Prune the slices of a parameter along a dimension with the least norms.

    AssertionError: For scores of another shape.

    >>> layer = torch.nn.Linear(2, 3)
    >>> layer = torch.nn.utils.prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    >>> int((layer.weight_mask == 0).sum())
    2
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter by a mask of ones and zeros.

    AssertionError: For a mask of another shape.

    >>> mask = torch.tensor([[1.0, 0.0]])
    >>> layer = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(2, 1), "weight", mask)
    >>> layer.weight_mask
    tensor([[1., 0.]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one vector.

    parameters (iterable of tuple): Pairs of a module and a name.
    pruning_method (type): A class of methods, of the type "unstructured".
    importance_scores (dict): What to choose by in place of parameters, by such pairs.
    **kwargs: What the class is called with.
    TypeError: For what is not iterable, no dict of scores, and a class of another type.

    >>> first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    >>> method = torch.nn.utils.prune.L1Unstructured
    >>> pairs = [(first, "weight"), (second, "weight")]
    >>> torch.nn.utils.prune.global_unstructured(pairs, method, amount=3)
    >>> int((first.weight_mask == 0).sum() + (second.weight_mask == 0).sum())
    3
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    cat = OPERATIONS["cat"]
    given = [scores.get(pair, getattr(*pair)).detach().reshape(-1) for pair in pairs]
    masks = [
        getattr(module, f"{name}_mask", _ones_like(getattr(module, name).detach()))
        for module, name in pairs
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method: Any = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    whole = container.compute_mask(cat(given), cat([mask.reshape(-1) for mask in masks]))
    start = 0
    for module, name in pairs:
        tensor = getattr(module, name)
        count = tensor.numel()
        custom_from_mask(module, name, whole[start : start + count].reshape(tensor.shape))
        start += count


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter a plain one, with its zeros.

    ValueError: Where it is not pruned.

    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight")
    >>> layer = torch.nn.utils.prune.remove(layer, "weight")
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    key, hook = _found(module, name)
    if key is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of a module, or of one below it, is pruned.

    -> bool: Whether one is.

    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight")
    >>> torch.nn.utils.prune.is_pruned(layer)
    True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    wrong = amount < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1.0)
    if wrong:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
