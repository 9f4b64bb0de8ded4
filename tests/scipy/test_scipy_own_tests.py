"""SciPy's own tests with our names: imports mean ours, and a row of the program is right."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("scipy")

import scipy_own_tests as program

from tapegrad.scipy import linalg, spatial, stats

SOURCE = """
import scipy
import scipy.linalg, numpy as np
import scipy.spatial.distance as d
import scipy.spatial.transform._rotation_cy as private
from scipy import stats
from scipy.linalg import *
from scipy.linalg import inv as inverse, _decomp
from scipy.optimize import _minpack_py
"""


def test_imports_are_ours_but_for_private_names(tmp_path):
    path = tmp_path / "test_names.py"
    path.write_text(SOURCE)
    names = {}
    exec(program._Loader("test_names", str(path)).get_code("test_names"), names)
    for found in (names["scipy"].linalg.inv, names["inverse"], names["inv"]):
        assert found is linalg.inv
    assert names["scipy"].stats.norm is names["stats"].norm is stats.norm
    assert names["d"].cdist is spatial.distance.cdist
    assert names["np"].__name__ == "numpy"
    for name, module in (
        ("private", "scipy.spatial.transform._rotation_cy"),
        ("_decomp", "scipy.linalg._decomp"),
        ("_minpack_py", "scipy.optimize._minpack_py"),
    ):
        assert names[name] is sys.modules[module]
    with pytest.raises(ImportError):
        program.name_of("scipy.linalg", "no_name")


@pytest.mark.slow
def test_constants_pass(tmp_path):
    command = [sys.executable, program.__file__, "constants", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    row = done.stdout.splitlines()[-1].split()
    assert (done.returncode, row[0], row[4:]) == (0, "constants", ["0", "0"]), done.stdout
    assert row[1] == row[2] == row[3] != "0"
