"""Optics by FFT: a hologram, from the gradient and from Gerchberg and Saxton's algorithm.

A lens turns a sheet of light into its Fourier transform. Which phases must a modulator give to a
laser beam, so that a picture appears on the screen? The light is an array of complex numbers, the
lens is `np.fft.fft2`, and the gradient with respect to the phases goes through both.

    python docs/examples/optics.py [PICTURE]
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tapegrad
from tapegrad import optimize

start = time.perf_counter()

# %%
# First a beam in free space, of which the solution is known. Each plane wave of it, that is each
# frequency, turns its phase as it goes (J. Goodman, Introduction to Fourier optics, chapter 3). In
# millimetres: a laser of 633 nm, in a window of 8 mm.
n, window, wavelength = 128, 8.0, 633e-6
axis = (np.arange(n) - n / 2) * window / n
x, y = np.meshgrid(axis, axis)
frequencies = np.fft.fftfreq(n, window / n)
squares = frequencies[:, None] ** 2 + frequencies**2


def travelled(light, distance):
    """The light after some distance (the approximation of Fresnel)."""
    turn = np.exp(-1j * np.pi * wavelength * distance * squares)
    return np.fft.ifft2(np.fft.fft2(light) * turn)


def beam(waist):
    return np.exp(-(x**2 + y**2) / waist**2 + 0j)


def width(distance, waist):
    """The radius at which a beam falls to 1 / e^2 of its intensity, of its second moments."""
    intensity = np.abs(travelled(beam(waist), distance)) ** 2
    return np.sqrt(2 * np.sum((x**2 + y**2) * intensity) / np.sum(intensity))


# A Gaussian beam widens as w(z) = w sqrt(1 + (z / r)^2), with r = pi w^2 / wavelength. Its slope
# by the distance, and by the waist, against those of the formula:
def formula(distance, waist):
    return waist * np.sqrt(1 + (distance * wavelength / (np.pi * waist**2)) ** 2)


found, slopes = tapegrad.value_and_grad(width, argnums=(0, 1))(2000.0, 0.7)
assert np.isclose(found, formula(2000.0, 0.7), rtol=1e-8)
assert np.allclose(slopes, tapegrad.grad(formula, argnums=(0, 1))(2000.0, 0.7), rtol=1e-6)
print(f"after 2 m the beam is {found:.3f} mm wide, and grows by {slopes[0] * 1e3:.3f} mm a metre")

# %%
# Now the hologram. What is to appear: twelve of scikit-learn's digits, each pixel 3 x 3.
images = np.asarray(load_digits(return_X_y=True)[0])[:12].reshape(12, 8, 8)
digits = np.pad(images / 16, [(0, 0), (1, 1), (1, 1)])
tiles = digits.reshape(3, 4, 10, 10).transpose(0, 2, 1, 3).reshape(30, 40)
target = np.zeros((n, n))
target[19:109, 4:124] = np.sqrt(np.kron(tiles, np.ones((3, 3))))  # amplitudes, not intensities
target = np.fft.ifftshift(target)
laser = beam(2.5) / np.linalg.norm(beam(2.5))
target /= np.linalg.norm(target)


def on_screen(phases):
    return np.fft.fft2(laser * np.exp(1j * phases), norm="ortho")


def error(phases):
    """By how much the amplitudes differ from those of the target; 1 would be all of the light."""
    return np.sum((np.abs(on_screen(phases)) - target) ** 2)


# %%
# The algorithm of R. Gerchberg and W. Saxton (1972): go to the screen, put the wanted amplitudes
# there, go back, put the laser's amplitudes there.
random = np.random.default_rng(0)
first = random.uniform(0, 2 * np.pi, (n, n))


def corrected(phases):
    light = on_screen(phases)
    return np.fft.ifft2(target * np.exp(1j * np.angle(light)), norm="ortho")


phases, by_turns = first, [error(first)]
for _ in range(50):
    phases = np.angle(corrected(phases))
    by_turns.append(error(phases))

# %%
# J. Fienup (1982) found that this is a gradient in disguise: the derivative of the error by the
# light at the modulator is twice what a turn changes there. Of complex light, tapegrad's gradient
# is the conjugate of that direction.


def error_of_light(light):
    return np.sum((np.abs(np.fft.fft2(light, norm="ortho")) - target) ** 2)


light = laser * np.exp(1j * first)
direction = np.conj(tapegrad.grad(error_of_light)(light))
assert np.allclose(direction, 2 * (light - corrected(first)), atol=1e-12)

# And the gradient by the phases is that of finite differences.
gradient = tapegrad.grad(error)(first)
toward = random.normal(size=(n, n))
h = 1e-5
difference = (error(first + h * toward) - error(first - h * toward)) / (2 * h)
assert np.isclose(np.sum(gradient * toward), difference, rtol=1e-6)

# %%
# With a gradient any method of optimisation will do, and any goal: the algorithm knows this one
# alone, and is quick at it. L-BFGS, as many steps:
by_steps = [error(first)]
fit = optimize.minimize(
    error,
    first,
    method="L-BFGS-B",
    options={"maxiter": 50},
    callback=lambda phases: by_steps.append(error(phases)),
)
print(f"error after 50 turns {by_turns[-1]:.4f}, after 50 steps of L-BFGS {fit.fun:.4f}")
assert max(fit.fun, by_turns[-1]) < by_turns[0] / 4

# %%
# The picture.
figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
pictures = {
    "phases at the modulator": np.angle(np.exp(1j * fit.x)),
    "screen, Gerchberg and Saxton": np.fft.fftshift(np.abs(on_screen(phases))),
    "screen, L-BFGS": np.fft.fftshift(np.abs(on_screen(fit.x))),
}
for (title, picture), axis, colours in zip(
    pictures.items(), axes[:3], ("twilight", "inferno", "inferno"), strict=True
):
    axis.imshow(picture, cmap=colours)
    axis.set(title=title, xticks=[], yticks=[])
axes[3].semilogy(by_turns, label="Gerchberg and Saxton")
axes[3].semilogy(by_steps, label="L-BFGS")
axes[3].set(xlabel="step", title="error")
axes[3].legend()

# %%
# What it cost, and what to read next.
kept = tapegrad.memory_report(error, first).kept
print(
    f"cost: {time.perf_counter() - start:.1f} s; {fit.runs} runs of the error; "
    f"a gradient keeps {kept / 1e6:.1f} MB"
)
print("read next: docs/complex.md, docs/optimize.md")
if len(sys.argv) > 1:  # a file for the picture
    figure.savefig(sys.argv[1])
else:
    plt.show()
