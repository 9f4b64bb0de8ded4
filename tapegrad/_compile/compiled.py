"""`compile`: a function whose calls become programs.

Knows its options. The rest of the package is imported when a function is compiled, not before.
"""

from __future__ import annotations

import html
from typing import Any, Literal

from tapegrad._compile.explanation import explanation, summary
from tapegrad._core.types import Function
from tapegrad._errors import InputError, message
from tapegrad._transforms.foreign_names import explaining
from tapegrad._transforms.wrapper import Transformed, require_function

Backend = Literal["auto", "llvm", "numpy", "interpreter", "eager"]
BACKENDS = ("auto", "llvm", "numpy", "interpreter", "eager")


class Listing(str):
    """The text of a program; a notebook shows it in lines, as `print` does."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


class Compiled(Transformed):
    """A compiled function, whose programs can be shown."""

    call: Any  # `Calls`, whose module is imported when a function is compiled

    def program(self, *args: Any, **kwargs: Any) -> str:
        """The program of a call with such arguments, as text: one line for each call of NumPy's.

        It is the program after the passes, as it runs. f is called, with copies of the arguments,
        until there is one.

        Parameters
        ----------
        *args, **kwargs : pytree
            The arguments of the call.

        Returns
        -------
        str
            The program.

        Raises
        ------
        InputError
            Where there is none: f is called as it is.
        """
        return Listing(self.call.shown(args, kwargs))

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The code that runs a call with such arguments now: Python, and of machine code LLVM's.

        Parameters
        ----------
        *args, **kwargs : pytree
            The arguments of the call.

        Returns
        -------
        str
            The code.

        Raises
        ------
        InputError
            Where there is no program: f is called as it is.
        """
        return Listing(self.call.source_of(args, kwargs))

    def explain(self) -> str:
        """The programs that there are, what runs them, and why calls are f itself.

        Returns
        -------
        str
            A line for each combination of shapes, dtypes, and values of integers and texts:
            whether machine code makes its calls, NumPy's program, or f itself, and why.

        Examples
        --------
        >>> import numpy as np
        >>> import tapegrad
        >>> fast = tapegrad.compile(np.sin, backend="numpy")
        >>> for _ in range(3):
        ...     out = fast(np.ones(2))
        >>> print(fast.explain())
        compile(sin), backend 'numpy'
        (float64[2]): NumPy's program
        """
        return Listing(explanation(self.call))

    def prepare(self, *args: Any, **kwargs: Any) -> Compiled:
        """Make the program of a call with such arguments now, with its machine code.

        f is called with copies of the arguments until the program is recorded, built and chosen,
        as the first calls would do. A message of the logger "tapegrad" says so if that takes more
        than five seconds.

        Parameters
        ----------
        *args, **kwargs : pytree
            The arguments of the call.

        Returns
        -------
        Compiled
            The compiled function itself.

        Raises
        ------
        InputError
            Where there is no program: f is called as it is.
        """
        self.call.prepare(args, kwargs)
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the machine code that is being built in the background is there.

        Parameters
        ----------
        timeout : float, optional
            Seconds after which to wait no longer.

        Returns
        -------
        bool
            Whether all is built that calls have asked for so far.
        """
        return self.call.wait(timeout)

    def __repr__(self) -> str:
        known = summary(self.call)
        usual = super().__repr__()
        return f"{usual[:-1]}: {known}>" if known else usual


@explaining(
    donate_argnums="leave it away: results are new arrays, and arguments stay as they are",
    dynamic="leave it away: each shape has a program of its own",
    fullgraph="leave it away: branches on values are part of a program",
    mode="leave it away; backend='llvm' builds machine code at once",
    static_argnames="leave it away: integers, strings and booleans count by value",
    static_argnums="leave it away: integers, strings and booleans count by value",
)
def compile(  # noqa: A001 - as in jax.jit's kin, torch.compile
    f: Function | None = None, *, backend: Backend = "auto", check: int = 0, threads: int = 1
) -> Any:
    """The function f, whose calls are recorded, and from the third on run as a program without f.

    The first two calls with arguments of the same structure, shapes and dtypes run f itself and
    record what it does; if both did the same, later ones run that as straight-line code over
    arrays made once. Integers, strings and booleans among the arguments count by value: each has
    programs of its own. Results are new arrays; writes into arguments are made. Errors are those
    of f.

    Parameters
    ----------
    f : callable, optional
        Function of arrays and numbers, in pytrees: of NumPy's functions, or a transform of one.
        Without it the result is a decorator.
    backend : {"auto", "numpy", "interpreter", "llvm", "eager"}, default "auto"
        "numpy": a program of NumPy's calls, with the results of f to a few units in the last
        place of their largest element; "interpreter": the same call by call; "eager": f itself.
        "llvm" makes machine code, with the extra `fast`, where nothing warns of a division by
        zero; TAPEGRAD_CACHE names the folder where the code is kept. "auto" is "numpy"
        until machine code is there, which is made beside it from the third call on, and five
        calls have shown that this is faster; from then on it is "llvm", and the bits of a result
        change no more. Without the extra it stays "numpy".
    check : int, default 0
        With n, every n-th call also runs f and compares the results.
    threads : int, default 1
        On how many threads long loops of machine code run.

    Returns
    -------
    callable
        Function of f's arguments. Its `program(*args)` and `source(*args)` show the program of
        such a call, and the code that runs it; `explain()` shows what runs now, and why;
        `prepare(*args)` makes the program ahead, and `wait()` waits for its machine code.

    Raises
    ------
    InputError
        For another backend, for "llvm" without the extra, and for less than one thread.
    StaleProgramError
        Where a check finds that the results differ.

    Warns
    -----
    EagerWarning
        Once, where a call runs f itself as no program can be: f draws random numbers, may take
        values from an iterator, a queue or an open file, prints values, hands them to code that
        reads memory, or goes more than eight ways at one place; and where a program
        gains nothing: to look at what f reads from outside takes longer than f, or there are more
        than 16 combinations of shapes, of which a further one has to come 100 times first. Inside
        another transform, with arguments of other classes, and where f takes a few microseconds,
        it does so without a warning.

    Notes
    -----
    Python's branches stay right: where f asks for a value (`if x > 0`, `float(x)`, an index), the
    program asks too, and an answer that never came is recorded when it comes. Arrays and numbers
    that f reads from closures, globals, defaults and attributes are looked at in each call; when
    they have changed, there is another program. Those that calls of f change themselves, and
    those that are often set between calls, are inputs of the program, which changes them too.

    Examples
    --------
    >>> import numpy as np
    >>> import tapegrad
    >>> fast = tapegrad.compile(tapegrad.grad(lambda x: np.sum(np.sin(x) ** 2)))
    >>> [round(float(fast(np.array([x]))[0] - np.sin(2 * x)), 12) for x in (0.5, 1.0, 1.5)]
    [0.0, 0.0, 0.0]
    """
    if f is None:
        return lambda g: compile(g, backend=backend, check=check, threads=threads)
    require_function("compile", f)
    if backend not in BACKENDS:
        raise InputError(
            message("compile", f"a backend among {BACKENDS}", repr(backend), "Leave it out")
        )
    if type(threads) is not int or threads < 1:
        raise InputError(message("compile", "threads >= 1", repr(threads), "Leave it out"))
    from tapegrad._compile.background import require_llvm  # here, as few programs need it
    from tapegrad._compile.calls import Calls

    if backend == "llvm":
        require_llvm()
    options = {"backend": backend, "check": check, "threads": threads}
    return Compiled(compile, f, options, Calls(f, backend, check, threads))


__all__ = ["compile"]
