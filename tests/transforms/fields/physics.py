"""Optics, particles, orbits, quantum mechanics."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from field_programs import normal, program, uniform

# --- Optics -------------------------------------------------------------------------------------


@program(np.array([0.5, 0.3]), np.array([0.2, 0.35, 0.6]), 0.8)
def gaussian_beam_through_lenses(focal_lengths, distances, rayleigh_range):
    def gap(d):
        return np.stack([np.ones_like(d), d, np.zeros_like(d), np.ones_like(d)]).reshape(2, 2)

    system = gap(distances[0])
    for f, d in zip(focal_lengths, distances[1:], strict=True):
        lens = np.block([[1.0, 0.0], [-1 / f, 1.0]])
        system = gap(d) @ lens @ system
    q = 1j * rayleigh_range
    q = (system[0, 0] * q + system[0, 1]) / (system[1, 0] * q + system[1, 1])
    return 1 / np.real(1 / q), np.sqrt(-1.064e-6 / (np.pi * np.imag(1 / q)))


@program(np.array([1.38, 2.1, 1.46]), np.array([99.6, 62.0, 120.0]), 0.3)
def thin_film_reflectance(indices, thicknesses, angle):
    wavelengths = np.array([450.0, 550.0, 650.0])
    cos_in = np.cos(angle)
    m = np.eye(2)
    for n, d in zip(indices, thicknesses, strict=True):
        cos_t = np.sqrt(1 - (np.sin(angle) / n) ** 2)
        delta = 2 * np.pi * n * d * cos_t / wavelengths
        c, s, eta = np.cos(delta), 1j * np.sin(delta), n * cos_t
        layer = np.stack([np.stack([c, s / eta]), np.stack([eta * s, c])])
        m = m @ np.moveaxis(layer, -1, 0)
    b, c = (m @ np.array([1.0, 1.52 - 0.01j])).T
    return np.abs((cos_in * b - c) / (cos_in * b + c)) ** 2


@program(normal(1, 6, 6, scale=0.3), 0.4)
def angular_spectrum_propagation(phase, distance):
    field = np.exp(1j * phase)
    f = np.fft.fftfreq(6)
    kz = np.sqrt(1 - np.add.outer(f**2, f**2))
    field = np.fft.ifft2(np.fft.fft2(field) * np.exp(2j * np.pi * kz * distance))
    intensity = (field * field.conj()).real
    return np.fft.fftshift(intensity)[2:4, 2:4]


@program(np.array([0.1, -0.2, -3.0]), np.array([0.05, 0.1, 1.0]), 1.5)
def ray_through_a_ball(origin, direction, index):
    def refract(d, n, ratio):
        cos_i = -np.dot(n, d)
        return ratio * d + (ratio * cos_i - np.sqrt(1 - ratio**2 * (1 - cos_i**2))) * n

    d = direction / np.linalg.norm(direction)
    b = origin @ d
    entry = origin + (-b - np.sqrt(b**2 - (origin @ origin - 1))) * d
    inside = refract(d, entry, 1 / index)
    leave = entry - 2 * (entry @ inside) * inside
    outgoing = refract(inside, -leave, index)
    return np.append(leave, outgoing)


@program(normal(2, 6, scale=0.2))
def strehl_ratio_of_zernikes(coefficients):
    y, x = np.mgrid[-1:1:9j, -1:1:9j]
    r2, pupil = x**2 + y**2, x**2 + y**2 <= 1
    modes = np.stack([x, y, 2 * r2 - 1, 2 * x * y, x**2 - y**2, (3 * r2 - 2) * x])
    wavefront = np.tensordot(coefficients, modes, 1)
    field = np.where(pupil, np.exp(2j * np.pi * wavefront), 0)
    return np.abs(field.sum() / pupil.sum()) ** 2, np.std(wavefront[pupil])


# --- Particles and orbits -----------------------------------------------------------------------


@program(normal(3, 4, 2, scale=2.0), normal(4, 4, 2, scale=0.2), uniform(5, 4, low=0.5, high=1.5))
def gravitating_bodies_by_leapfrog(x, v, mass):
    def acceleration(x):
        apart = x[None, :, :] - x[:, None, :]
        inverse_cube = (np.sum(apart**2, axis=-1) + 0.1) ** -1.5
        return np.einsum("ij,ijk,j->ik", inverse_cube, apart, mass)

    x, v = x.copy(), v.copy()
    a = acceleration(x)
    for _ in range(6):
        v += 0.05 * a
        x += 0.1 * v
        a = acceleration(x)
        v += 0.05 * a
    kinetic = 0.5 * mass @ (v**2).sum(1)
    return x, kinetic, np.sum(mass * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]))


@program(
    np.mgrid[0:3, 0:3].reshape(2, 9).T * 1.2 + normal(6, 9, 2, scale=0.05),
    1.0,
    unbatched="the pairs within the cutoff",
)
def lennard_jones_in_a_periodic_box(x, sigma):
    box, cutoff = 3.6, 1.75
    i, j = np.triu_indices(9, 1)
    apart = x[i] - x[j]
    apart -= box * np.round(apart / box)
    r2 = np.sum(apart**2, axis=1)
    near = r2 < cutoff**2
    s6 = (sigma**2 / r2[near]) ** 3
    shift = (sigma / cutoff) ** 12 - (sigma / cutoff) ** 6
    pair = 24 * (2 * s6**2 - s6) / r2[near]
    force = np.zeros_like(x)
    np.add.at(force, i[near], pair[:, None] * apart[near])
    np.subtract.at(force, j[near], pair[:, None] * apart[near])
    return np.sum(4 * (s6**2 - s6 - shift)), force, np.sum(pair * r2[near]) / (2 * box**2)


@program(normal(7, 4, 3), 1.1)
def bonds_angles_and_torsion(x, k):
    b = x[1:] - x[:-1]
    lengths = np.linalg.norm(b, axis=1)
    cosines = -np.sum(b[:-1] * b[1:], axis=1) / (lengths[:-1] * lengths[1:])
    n1, n2 = np.cross(b[0], b[1]), np.cross(b[1], b[2])
    phi = np.arctan2(np.cross(n1, n2) @ b[1] / lengths[1], n1 @ n2)
    energy = k * np.sum((lengths - 1.5) ** 2) + np.sum((np.arccos(cosines) - 1.9) ** 2)
    return energy + 0.3 * (1 + np.cos(3 * phi - 0.5))


@program(0.3, 1.2, 2.1, unbatched="the iteration stops by the size of its step")
def kepler_position_by_newton(eccentricity, axis, mean_anomaly):
    e = mean_anomaly
    while True:
        step = (e - eccentricity * np.sin(e) - mean_anomaly) / (1 - eccentricity * np.cos(e))
        e = e - step
        if abs(step) < 1e-14:
            break
    e = e - (e - eccentricity * np.sin(e) - mean_anomaly) / (1 - eccentricity * np.cos(e))
    true = 2 * np.arctan(np.sqrt((1 + eccentricity) / (1 - eccentricity)) * np.tan(e / 2))
    return np.hstack([axis * (1 - eccentricity * np.cos(e)), true])


class Orbit(NamedTuple):
    position: Any
    velocity: Any


@program(Orbit(np.array([1.0, 0.2, 0.1]), np.array([-0.1, 0.9, 0.4])))
def orbital_elements(orbit):
    r, v = np.linalg.norm(orbit.position), orbit.velocity
    h = np.cross(orbit.position, v)
    eccentricity = np.cross(v, h) - orbit.position / r
    node = np.cross(np.array([0.0, 0.0, 1.0]), h)
    e = np.linalg.norm(eccentricity)
    argument = np.arccos(node @ eccentricity / (np.linalg.norm(node) * e))
    return {
        "axis": 1 / (2 / r - v @ v),
        "eccentricity": e,
        "inclination": np.arctan2(np.hypot(h[0], h[1]), h[2]),
        "node": np.arctan2(node[1], node[0]),
        "pericentre": np.where(eccentricity[2] < 0, 2 * np.pi - argument, argument),
    }


@program(np.array([0.3, -0.2, 0.4]), np.array([0.1, 0.5, 0.2]))
def velocity_addition_by_boosts(u, v):
    def boost(beta):
        gamma = 1 / np.sqrt(1 - beta @ beta)
        space = np.eye(3) + (gamma - 1) * np.outer(beta, beta) / (beta @ beta)
        top = np.hstack([gamma, -gamma * beta])
        return np.vstack([top, np.column_stack([-gamma * beta, space])])

    four = boost(-u) @ boost(-v) @ np.array([1.0, 0.0, 0.0, 0.0])
    return four[1:] / four[0]


@program(uniform(8, 3, low=1000, high=4000), 0.1)
def dust_and_black_bodies(temperatures, covering):
    wavelength = np.geomspace(0.4e-6, 8e-6, 7)
    x = 0.014387769 / np.outer(temperatures, wavelength)
    radiance = 1 / (wavelength**5 * np.expm1(x)) * 1e-28
    dimmed = radiance * np.exp(-covering * (0.55e-6 / wavelength) ** 1.3)
    return np.trapezoid(dimmed, wavelength * 1e6, axis=1), dimmed.sum(0)


@program(normal(9, 3, 3, scale=0.3), 0.4)
def mean_field_ising(field, coupling):
    m = np.tanh(field)
    for _ in range(30):
        around = np.zeros_like(m)
        around[1:] += m[:-1]
        around[:-1] += m[1:]
        around[:, 1:] += m[:, :-1]
        around[:, :-1] += m[:, 1:]
        m = 0.5 * (m + np.tanh(coupling * around + field))
    return m, -0.5 * coupling * np.sum(m * around) - np.vdot(field, m)


# --- Quantum mechanics --------------------------------------------------------------------------


@program(normal(10, 8, scale=0.5), 0.7)
def schroedinger_split_step(potential, momentum):
    x = np.arange(8) - 3.5
    psi = np.exp(-(x**2) / 4 + 1j * momentum * x)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2))
    kinetic = np.exp(-0.5j * 0.1 * (2 * np.pi * np.fft.fftfreq(8)) ** 2)
    for _ in range(5):
        psi = np.exp(-0.05j * potential) * psi
        psi = np.fft.ifft(kinetic * np.fft.fft(psi))
        psi *= np.exp(-0.05j * potential)
    density = np.abs(psi) ** 2
    return density @ x, density @ x**2 - (density @ x) ** 2


@program(normal(11, 3), 0.2)
def lindblad_decay_of_a_qubit(field, rate):
    sigma = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    lower = np.array([[0, 0], [1, 0]])
    h = 0.5 * np.tensordot(field, sigma, axes=1)

    def slope(rho):
        decay = lower @ rho @ lower.T - 0.5 * (lower.T @ lower @ rho + rho @ lower.T @ lower)
        return -1j * (h @ rho - rho @ h) + rate * decay

    rho = np.array([[0.7, 0.2 - 0.1j], [0.2 + 0.1j, 0.3]])
    for _ in range(8):
        k1 = slope(rho)
        k2 = slope(rho + 0.1 * k1)
        rho = rho + 0.2 * k2
    return np.einsum("kij,ji->k", sigma, rho).real, np.trace(rho @ rho).real


@program(normal(12, 6))
def variational_eigensolver(angles):
    x, z, i2 = np.array([[0, 1], [1, 0]]), np.diag([1, -1]), np.eye(2)
    hamiltonian = np.kron(z, z) + 0.5 * (np.kron(x, i2) + np.kron(i2, x))
    controlled_not = np.eye(4)[[0, 1, 3, 2]]
    state = np.eye(4, dtype=complex)[0]
    for ry_1, rz_1, ry_2 in angles.reshape(2, 3):
        half = ry_1 / 2
        first = np.cos(half) * i2 - 1j * np.sin(half) * np.array([[0, -1j], [1j, 0]])
        phase = np.exp(-0.5j * rz_1 * np.array([1, -1]))
        second = np.cos(ry_2 / 2) * i2 - 1j * np.sin(ry_2 / 2) * x
        state = controlled_not @ np.kron(phase[:, None] * first, second) @ state
    return np.vdot(state, hamiltonian @ state).real


@program(np.array([1.0, 0.7, 1.3]), 0.4)
def heisenberg_chain_ground_state(couplings, field):
    half = [np.array(m) / 2 for m in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]])]

    def at(operator, site):
        return reduce(np.kron, [operator if k == site else np.eye(2) for k in range(4)])

    spins = [[at(s, k) for s in half] for k in range(4)]
    h = sum(
        j * sum(a @ b for a, b in zip(spins[k], spins[k + 1], strict=True))
        for k, j in enumerate(couplings)
    )
    h = h + field * (spins[0][2] - spins[3][2])
    energies, states = np.linalg.eigh(h)
    ground = states[:, 0]
    magnetization = [np.vdot(ground, spins[k][2] @ ground).real for k in range(4)]
    return energies[0], energies[1] - energies[0], np.stack(magnetization)


@program(-1.0, -0.4, 0.3)
def tight_binding_bands(t1, t2, mass):
    bands = []
    for k in np.linspace(-3, 3, 5):
        hop = t1 + t2 * np.exp(-1j * k)
        energy = np.sqrt(mass**2 + np.abs(hop) ** 2)
        bands.append(energy * np.array([-1, 1]))
    bands = np.vstack(bands)
    filling = 1 / (np.exp((bands + 0.2) / 0.3) + 1)
    return np.sum(bands * filling) / 5, np.ptp(bands[:, 0])


@program(0.3 + 0.2j, 0.1)
def coherent_state_in_a_kerr_cavity(alpha, kerr):
    n = np.arange(8)
    lower = np.diag(np.sqrt(n[1:]), k=1)
    amplitudes = np.cumprod(np.concatenate([np.ones(1), alpha / np.sqrt(n[1:])]))
    state = amplitudes * np.exp(-(np.abs(alpha) ** 2) / 2) * np.exp(-1j * kerr * n * (n - 1))
    a = np.vdot(state, lower @ state)
    quadratures = np.hstack([a.real, a.imag])
    return quadratures, np.vdot(state, n * state).real


@program(normal(13, 4) + 1j * normal(14, 4))
def entanglement_entropy(amplitudes):
    psi = amplitudes / np.linalg.norm(amplitudes)
    schmidt = np.linalg.svdvals(psi.reshape(2, 2))
    p = schmidt**2
    concurrence = 2 * np.abs(psi[0] * psi[3] - psi[1] * psi[2])
    return -np.sum(p * np.log(p)), concurrence


@program(uniform(15, 5, low=0.5, high=1.5), 0.3)
def greens_function_transmission(levels, width):
    h = np.diag(levels).astype(complex)
    h -= 0.6 * (np.eye(5, k=1) + np.eye(5, k=-1))
    h[0, 0] -= 0.5j * width
    h[-1, -1] -= 0.5j * width
    out = []
    for energy in (0.4, 0.9, 1.4):
        g = np.linalg.inv(energy * np.eye(5) - h)
        out.append(width**2 * np.abs(g[0, -1]) ** 2)
    return np.hstack(out)
