"""Links of these pages into the documentation of NumPy, SciPy and PyTorch.

intersphinx reads an *inventory*: a table of names and addresses that each of these sites offers. A
build must work without a network, so the names that are used here stand below, and `write` makes
inventories of them. Their addresses follow one pattern a site.
"""

from __future__ import annotations

import zlib
from pathlib import Path

SITES = {
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "torch": "https://docs.pytorch.org/docs/stable/",
}

FUNCTIONS = {
    "numpy": """
        abs all allclose any append arange argmax argsort array array_equal asarray clip
        concatenate conj convolve copy cos cumsum diag diff dot einsum exp eye full isfinite isnan
        hstack linspace log log1p logaddexp matmul maximum mean min max minimum moveaxis nonzero
        ones outer pad prod reshape roll sign sin sort sqrt stack std sum take tanh tensordot
        testing.assert_allclose trapezoid triu unique var vstack where zeros zeros_like errstate
        interp vectorize random.default_rng linalg.cholesky linalg.det linalg.eigh linalg.inv
        linalg.norm linalg.qr linalg.slogdet linalg.solve linalg.svd fft.fft fft.rfft fft.irfft
        arccos arctan2 digitize divide floor full_like histogram histogram2d histogramdd
        histogram_bin_edges isin linalg.eigvalsh linalg.lstsq linalg.pinv log10 multiply nan_to_num
        piecewise poly power quantile roots round save savez savez_compressed searchsorted select
        seterr sinh square tan trace tril ufunc.at
    """,
    "scipy": """
        integrate.odeint integrate.quad integrate.solve_ivp interpolate.CubicSpline
        linalg.cho_factor linalg.cho_solve linalg.expm linalg.solve optimize.curve_fit
        optimize.least_squares optimize.minimize optimize.root optimize.root_scalar
        special.expit special.gammaln special.xlogy special.logsumexp special.softmax
        sparse.linalg.cg sparse.linalg.spsolve stats.norm
    """,
    "torch": """
        cat compile no_grad save load manual_seed autograd.backward autograd.grad func.grad
        func.vmap func.functional_call nn.functional.cross_entropy nn.functional.relu
        set_default_dtype
    """,
}
CLASSES = {
    "numpy": "ndarray ufunc random.Generator",
    "scipy": "sparse.csr_array",
    "torch": """
        Tensor autograd.Function nn.Module nn.Linear optim.Adam optim.SGD utils.data.DataLoader
    """,
}
PATTERNS = {
    "numpy": "reference/generated/{name}.html#{name}",
    "scipy": "reference/generated/{name}.html#{name}",
    "torch": "generated/{name}.html#{name}",
}


def rows(site: str) -> list[str]:
    """The lines of an inventory: name, role, priority, address, and the text of the link."""
    found = []
    for role, table in (("function", FUNCTIONS), ("class", CLASSES)):
        for short in table[site].split():
            name = f"{site}.{short}"
            found.append(f"{name} py:{role} 1 {PATTERNS[site].format(name=name)} -")
    return found


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the inventories, and return what `intersphinx_mapping` wants."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for site, address in SITES.items():
        path = folder / f"{site}.inv"
        head = f"# Sphinx inventory version 2\n# Project: {site}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        body = "\n".join(rows(site)) + "\n"
        path.write_bytes(head.encode() + zlib.compress(body.encode()))
        mapping[site] = (address, str(path))
    return mapping
