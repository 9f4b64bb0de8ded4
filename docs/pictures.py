"""Draws the pictures of README.md, quickstart.md and two guides: `python docs/pictures.py`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def program_of(page: Path) -> str:
    return "\n".join(FENCE.findall(page.read_text(encoding="utf-8")))


def tape_of_the_readme() -> str:
    """The tape of the first example's `energy`, as a picture."""
    import tapegrad

    names: dict[str, Any] = {"__name__": "energy"}
    exec(compile(program_of(HERE.parent / "README.md"), "README.md", "exec"), names)  # noqa: S102
    return tapegrad.tape(names["energy"], names["x"], 2.0).to_svg()


def curve_of_the_quickstart() -> bytes:
    """The points and the curve that quickstart.md draws."""
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "tapegrad"
    mpl.rcParams["svg.fonttype"] = "none"
    program = program_of(HERE / "quickstart.md")
    program = program.replace('savefig("fit.svg")', 'savefig("fit.svg", metadata={"Date": None})')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(compile(program, "quickstart.md", "exec"), {"__name__": "__main__"})  # noqa: S102
        os.chdir(HERE)
        return (Path(folder) / "fit.svg").read_bytes()


def saved(figure: Any, name: str) -> None:
    """Write a figure of matplotlib's to this folder, with the same bytes each time."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "tapegrad", "svg.fonttype": "none"}):
        figure.savefig(HERE / "guides" / name, metadata={"Date": None})


def ways_down_a_valley() -> None:
    """Where two methods look for the minimum of guides/optimising.md's function."""
    import numpy as np
    from matplotlib.figure import Figure

    from tapegrad import optimize

    def banana(x: Any) -> Any:
        return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    x, y = np.meshgrid(np.linspace(-1.4, 1.4, 80), np.linspace(-0.4, 1.4, 60))
    axes.contour(x, y, np.log(banana(np.stack([x, y])) + 0.1), levels=8, colors="0.8")
    for method in ("Nelder-Mead", "BFGS"):
        way = [np.array([-1.0, 1.0])]
        found = optimize.minimize(banana, way[0], method=method, callback=way.append)
        label = f"{method}: {found.runs} runs"
        axes.plot(*np.transpose(way), ".-", linewidth=1, label=label)
    axes.legend()
    saved(figure, "optimising.svg")


def sensitivity_of_a_pendulum() -> None:
    """The Jacobian of guides/odes.md's trajectory, by where it started."""
    import numpy as np
    from matplotlib.figure import Figure

    import tapegrad

    page = program_of(HERE / "guides" / "odes.md")
    names: dict[str, Any] = {}
    exec(compile(page, "odes.md", "exec"), names)  # noqa: S102
    start, t = np.array([1.0, 0.0]), np.linspace(0.0, 3.0, 31)
    angle = names["pendulum"](start)[0]
    slopes = tapegrad.jacobian(names["pendulum"])(start)[0]
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(t, angle, "k", label="angle")
    axes.plot(t, slopes[:, 0], label="by the angle at the start")
    axes.plot(t, slopes[:, 1], label="by the speed at the start")
    axes.set_xlabel("time")
    axes.legend()
    saved(figure, "odes.svg")


def main() -> None:
    ways_down_a_valley()
    sensitivity_of_a_pendulum()
    (HERE / "tape.svg").write_text(tape_of_the_readme(), encoding="utf-8")
    (HERE / "quickstart.svg").write_bytes(curve_of_the_quickstart())


if __name__ == "__main__":
    main()
