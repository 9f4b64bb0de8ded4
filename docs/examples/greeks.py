"""Black and Scholes: the Greeks of an option, to third order.

The price of an option is three lines. Its derivatives have names (delta, gamma, vega, vanna, ...),
pages of formulas, and a market each. Here twelve of them come from the three lines, and then the
volatility that a price implies, with its derivatives, from an equation that is solved by
iteration.

    python docs/examples/greeks.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr

import tapegrad
from tapegrad import implicit

start = time.perf_counter()

# %%
# The price of a call (F. Black, M. Scholes 1973). `ndtr` is SciPy's own function: a ufunc, of
# which tapegrad knows the derivative.
strike, rate = 100.0, 0.03


def price(spot, volatility, maturity):
    spread = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + rate * maturity) / spread + spread / 2
    return spot * ndtr(d1) - strike * np.exp(-rate * maturity) * ndtr(d1 - spread)


# %%
# A Greek is `grad` as often as its order, by the arguments 0 (spot), 1 (volatility) and 2
# (maturity). Time runs against maturity, so each of those has a sign.


def greek(*arguments):
    f = price
    for argument in arguments:
        f = tapegrad.grad(f, argument)
    return lambda *at: (-1) ** arguments.count(2) * f(*at)


GREEKS = {
    "delta": (0,),
    "vega": (1,),
    "theta": (2,),
    "gamma": (0, 0),
    "vanna": (0, 1),
    "volga": (1, 1),
    "charm": (0, 2),
    "veta": (1, 2),
    "speed": (0, 0, 0),
    "zomma": (0, 0, 1),
    "color": (0, 0, 2),
    "ultima": (1, 1, 1),
}

# %%
# The formulas of the books (E. Haug, The complete guide to option pricing formulas, 2007, chapter
# 2), for a share that pays no dividend.


def by_the_book(s, v, t):
    root = np.sqrt(t)
    d1 = (np.log(s / strike) + (rate + v**2 / 2) * t) / (v * root)
    d2 = d1 - v * root
    bell = np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
    gamma, vega, k = bell / (s * v * root), s * bell * root, strike * np.exp(-rate * t)
    drift = (2 * rate * t - d2 * v * root) / (2 * t * v * root)
    return {
        "delta": ndtr(d1),
        "vega": vega,
        "theta": -s * bell * v / (2 * root) - rate * k * ndtr(d2),
        "gamma": gamma,
        "vanna": -bell * d2 / v,
        "volga": vega * d1 * d2 / v,
        "charm": -bell * drift,
        "veta": vega * (rate * d1 / (v * root) - (1 + d1 * d2) / (2 * t)),
        "speed": -gamma / s * (d1 / (v * root) + 1),
        "zomma": gamma * (d1 * d2 - 1) / v,
        "color": gamma / (2 * t) * (1 + d1 * (2 * rate * t - d2 * v * root) / (v * root)),
        "ultima": -vega / v**2 * (d1 * d2 * (1 - d1 * d2) + d1**2 + d2**2),
    }


spots, volatilities = np.linspace(60.0, 150.0, 181), np.linspace(0.1, 0.5, 81)
at_spots, at_volatilities = map(np.ravel, np.meshgrid(spots, volatilities))
calls = len(at_spots)
surfaces = {}
for name, arguments in GREEKS.items():
    surfaces[name] = tapegrad.vmap(greek(*arguments), (0, 0, None))(at_spots, at_volatilities, 0.5)
    expected = by_the_book(at_spots, at_volatilities, 0.5)[name]
    assert np.allclose(surfaces[name], expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    print(f"{name:7} at the money {greek(*arguments)(100.0, 0.2, 0.5):12.6f}")
everywhere = time.perf_counter() - start

# %%
# The market quotes prices, and traders think in volatilities. The implied volatility is the root
# of an equation: `implicit.root` solves it, and differentiates the solution, not the iteration.


def implied(quote, spot, maturity=0.5):
    return implicit.root(lambda v: price(spot, v, maturity) - quote, 0.3)


quote = price(105.0, 0.24, 0.5)
assert np.isclose(implied(quote, 105.0), 0.24, rtol=1e-10)
slope, curvature = (
    tapegrad.grad(implied)(quote, 105.0),
    tapegrad.grad(tapegrad.grad(implied))(quote, 105.0),
)
book = by_the_book(105.0, 0.24, 0.5)
assert np.isclose(slope, 1 / book["vega"])  # the inverse function's derivatives
assert np.isclose(curvature, -book["volga"] / book["vega"] ** 3)
print(f"implied volatility: slope {slope:.6f}, curvature {curvature:.2e} by the quote")

# %%
# The picture: the four Greeks of third order.
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained", sharey=True)
for name, axis in zip(("speed", "zomma", "color", "ultima"), axes, strict=True):
    surface = surfaces[name].reshape(len(volatilities), len(spots))
    top = np.abs(surface[10:]).max()
    axis.pcolormesh(spots, volatilities, surface, cmap="RdBu", vmin=-top, vmax=top)
    axis.contour(spots, volatilities, surface, [0.0], colors="black", linewidths=0.7)
    axis.set(title=name, xlabel="spot")
axes[0].set_ylabel("volatility")
for artist in [made for axis in axes for made in axis.collections[:1]]:
    artist.set_rasterized(True)  # 14,580 rectangles each would make a large file

# %%
# What it cost, and what to read next.
kept = tapegrad.memory_report(
    tapegrad.vmap(greek(1, 1), (0, 0, None)), at_spots, at_volatilities, 0.5
).kept
print(
    f"cost: {time.perf_counter() - start:.1f} s, of which {everywhere:.1f} s for {len(GREEKS)} "
    f"Greeks at {calls:,} points; the gradient of a Greek of second order at all of them "
    f"keeps {kept / 1e6:.0f} MB"
)
print("read next: docs/implicit.md, docs/vmap.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
