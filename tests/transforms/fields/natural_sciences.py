"""Chemistry, the earth, epidemics, populations, music."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from field_programs import normal, program, uniform


@program(np.array([1.0, 0.6, 0.0, 0.0]), np.array([0.8, 0.3, 0.5]), 320.0)
def reversible_kinetics(concentrations, barriers, temperature):
    stoichiometry = np.array([[-1, -1, 1, 0], [1, 1, -1, 0], [0, 0, -1, 1]])
    orders = np.maximum(-stoichiometry, 0)
    rates = 5 * np.exp(-barriers * 1000 / (8.314 * temperature))
    c = concentrations + 0.1
    for _ in range(12):
        flux = rates * np.prod(c**orders, axis=1)
        c = c + 0.05 * flux @ stoichiometry
    return c


@program(np.array([-4.76, -7.2]), 0.1, 0.05)
def weak_acid_titration_by_newton(log_constants, acid, base):
    ka, kb = 10**log_constants
    ph = 6.0
    for _ in range(25):
        h = 10**-ph
        charge = h + base - 1e-14 / h - acid * ka / (ka + h) + 0.02 * h / (h + kb)
        slope = 1 + 1e-14 / h**2 + acid * ka / (ka + h) ** 2 + 0.02 * kb / (h + kb) ** 2
        ph = ph + charge / slope / (h * math.log(10)) * 0.8
    return ph


@program(np.array([0.02, 0.05, 0.01]), 298.0)
def debye_hueckel_activity(molality, temperature):
    charges = np.array([1, -2, 3])
    strength = 0.5 * np.sum(molality * charges**2)
    a = 1.825e6 * (78.5 * (298 / temperature) * temperature) ** -1.5
    root = np.sqrt(strength)
    log_gamma = -a * charges**2 * (root / (1 + root) - 0.3 * strength)
    gamma = np.exp(math.log(10) * log_gamma)
    return gamma, np.dot(molality, np.log(gamma * molality))


@program(np.array([0.3, 0.5, 0.2]), np.array([2.1, 1.0, 0.4]))
def flash_by_rachford_and_rice(feed, ratios):
    vapour = 0.5
    for _ in range(20):
        below = 1 + vapour * (ratios - 1)
        f = np.sum(feed * (ratios - 1) / below)
        vapour = vapour + f / np.sum(feed * (ratios - 1) ** 2 / below**2)
    liquid = feed / (1 + vapour * (ratios - 1))
    return vapour, np.vstack([liquid, ratios * liquid])


@program(np.array([1.1, 0.27]), 350.0)
def peng_robinson_compressibility(reduced, temperature):
    pressure, omega = reduced[0] * 1e6, reduced[1]
    kappa = 0.37464 + 1.54226 * omega - 0.26992 * omega**2
    alpha = (1 + kappa * (1 - np.sqrt(temperature / 369.8))) ** 2
    a = 0.45724 * alpha * 0.2 * (369.8 / temperature) ** 2
    b = 0.0778 * pressure / 4.25e6 * 369.8 / temperature
    a = a * pressure / 1e6
    cubic = np.stack([np.ones_like(b), b - 1, a - 3 * b**2 - 2 * b, b**3 + b**2 - a * b])
    z = np.roots(cubic).real.max()
    lowered, raised = z + (1 - np.sqrt(2)) * b, z + (1 + np.sqrt(2)) * b
    return z, np.exp(z - 1 - np.log(z - b) - a / (2**1.5 * b) * np.log(raised / lowered))


@program(normal(1, 6, shift=1.5, scale=0.3), np.array([1.2, 0.4, 2.0]))
def pharmacokinetic_fit(observed, parameters):
    absorption, elimination, volume = parameters
    t = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
    doses = {0.0: 5.0, 3.0: 2.0}
    model = sum(
        np.where(
            t > at, dose * (np.exp(-elimination * (t - at)) - np.exp(-absorption * (t - at))), 0
        )
        for at, dose in doses.items()
    )
    model = model * absorption / (volume * (absorption - elimination))
    residual = (np.log(observed) - np.log(model + 0.1)) / 0.2
    return residual @ residual, np.trapezoid(model, t)


@program(np.array([0.84, 0.05]), np.array([0.71, -1.29]))
def great_circle(start, end):
    (lat1, lon1), (lat2, lon2) = start, end
    half = np.sin((lat2 - lat1) / 2) ** 2
    half = half + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    distance = 6371.0 * 2 * np.arcsin(np.sqrt(half))
    east = np.sin(lon2 - lon1) * np.cos(lat2)
    north = np.cos(lat1) * np.sin(lat2) - np.sin(lat1) * np.cos(lat2) * np.cos(lon2 - lon1)
    return distance, np.rad2deg(np.arctan2(east, north)) % 360


@program(np.array([0.84, 0.05]), np.array([0.71, 0.6]), unbatched="the loop stops by its step")
def vincenty_distance(start, end):
    a, f = 6378.137, 1 / 298.257223563
    b = (1 - f) * a
    u1, u2 = np.arctan((1 - f) * np.tan(start[0])), np.arctan((1 - f) * np.tan(end[0]))
    lon = first = end[1] - start[1]
    for _ in itertools.count():
        crossed = np.cos(u1) * np.sin(u2) - np.sin(u1) * np.cos(u2) * np.cos(lon)
        sin_s = np.hypot(np.cos(u2) * np.sin(lon), crossed)
        cos_s = np.sin(u1) * np.sin(u2) + np.cos(u1) * np.cos(u2) * np.cos(lon)
        s = np.arctan2(sin_s, cos_s)
        sin_a = np.cos(u1) * np.cos(u2) * np.sin(lon) / sin_s
        cos2 = 1 - sin_a**2
        middle = cos_s - 2 * np.sin(u1) * np.sin(u2) / cos2
        c = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
        inner = middle + c * cos_s * (2 * middle**2 - 1)
        before, lon = lon, first + (1 - c) * f * sin_a * (s + c * sin_s * inner)
        if abs(lon - before) < 1e-15:
            break
    u = cos2 * (a**2 - b**2) / b**2
    big_a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    big_b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    return b * big_a * (s - big_b * sin_s * (middle + big_b / 4 * cos_s * (2 * middle**2 - 1)))


@program(np.array([4000.0, 500.0, 4900.0]))
def geodetic_from_cartesian(position):
    a, e2 = 6378.137, 0.00669438
    x, y, z = position
    p = np.sqrt(x * x + y * y)
    latitude = np.arctan2(z, p * (1 - e2))
    for _ in range(4):
        n = a / np.sqrt(1 - e2 * np.sin(latitude) ** 2)
        latitude = np.arctan2(z + e2 * n * np.sin(latitude), p)
    return (
        np.degrees([]),
        np.degrees(np.hstack([latitude, np.arctan2(y, x)])),
        p / np.cos(latitude) - n,
    )


@program(normal(2, 4, 3), np.array([3.1, 2.2, 4.0, 3.6]), np.array([0.1, -0.2, 0.3, 0.0]))
def position_fix_by_gauss_newton(satellites, ranges, guess):
    satellites = satellites * 3 + np.array([0, 0, 4.0])
    for _ in range(4):
        apart = guess[:3] - satellites
        distance = np.sqrt((apart**2).sum(axis=1))
        jacobian = np.column_stack([apart / distance[:, None], np.ones(4)])
        residual = ranges - distance - guess[3]
        normal_matrix = jacobian.T @ jacobian + 0.1 * np.eye(4)
        guess = guess + np.linalg.solve(normal_matrix, jacobian.T @ residual)
    return guess, np.sqrt(np.trace(np.linalg.inv(normal_matrix)))


@program(0.5, 0.2, 0.1, uniform(3, 3, 3, low=0.5, high=2))
def age_structured_epidemic(beta, incubation, recovery, contacts):
    population = np.array([300.0, 500.0, 200.0])
    state = np.zeros_like(contacts, shape=(4, 3))
    state[0] = population - 1
    state[2] = 1.0
    s, e, i, r = state
    new_cases = []
    for _ in range(15):
        force = beta * contacts @ (i / population) / 3
        infections, onsets, recoveries = force * s, incubation * e, recovery * i
        s -= infections
        e += infections - onsets
        i += onsets - recoveries
        r += recoveries
        new_cases.append(infections.sum())
    return state, np.stack(new_cases).max()


@program(np.array([1.4, 1.2, 0.9]), uniform(4, 5, low=0.1, high=1))
def renewal_epidemic_likelihood(reproduction, generation):
    generation = generation / generation.sum()
    r = np.repeat(reproduction, 4)
    cases = [np.full(1, 10.0) for _ in range(5)]
    for t in range(len(r)):
        recent = np.concatenate(cases[-5:])
        cases.append(r[t : t + 1] * (recent @ generation[::-1]))
    expected = np.concatenate(cases[5:])
    counts = np.array([11, 14, 15, 19, 20, 26, 30, 31, 33, 30, 26, 25])
    return np.sum(expected - counts * np.log(expected)), expected[-1]


@program(uniform(5, 4, low=0.3, high=0.9), uniform(6, 4, low=0, high=2))
def leslie_matrix_growth(survival, fecundity):
    matrix = np.diag(survival[:-1], k=-1) + np.eye(4)[:, :1] * fecundity
    matrix[-1, -1] = survival[-1]
    values, right = np.linalg.eig(matrix)
    dominant = np.argmax(values.real)
    growth = values[dominant].real
    stable = np.abs(right[:, dominant])
    stable = stable / stable.sum()
    left = np.abs(np.linalg.inv(right)[dominant])
    sensitivity = np.outer(left, stable) / (left @ stable)
    return growth, stable, sensitivity[0]


@program(np.array([10.0, 2.0, 0.5]), uniform(7, 3, 3, low=-0.2, high=0.2))
def generalized_lotka_volterra_in_logarithms(abundance, interactions):
    x = np.log(abundance)
    interactions = interactions - np.eye(3)
    for _ in range(10):
        x += 0.05 * (1 + 0.2 * interactions @ np.exp(x))
    n = np.exp(x)
    shares = n / n.sum()
    return n, -(shares @ np.log(shares)), 1 / np.sum(shares**2)


@program(uniform(8, 3, low=0.05, high=0.4), uniform(9, 4, low=0.1, high=0.9))
def felsenstein_pruning(branches, frequencies):
    frequencies = frequencies / frequencies.sum()
    tree = (("A", 0, "C", 1), 2, "G", 0)

    def transition(length):
        stay = np.exp(-length / (1 - np.sum(frequencies**2)))
        return stay * np.eye(4) + (1 - stay) * frequencies

    @functools.singledispatch
    def partial(node):
        left, b1, right, b2 = node
        up_left = transition(branches[b1]) @ partial(left)
        return up_left * (transition(branches[b2]) @ partial(right))

    @partial.register
    def _(leaf: str):
        return np.eye(4)["ACGT".index(leaf)]

    (inner, b1, leaf, b2) = tree
    root = (transition(branches[b1]) @ partial(inner)) * (transition(branches[b2]) @ partial(leaf))
    return -np.log(frequencies @ root)


@program(uniform(10, 5, 4, low=0.1), 0.5)
def needleman_wunsch_with_soft_maximum(similarity, gap):
    score = np.zeros_like(similarity, shape=(6, 5))
    score[0] = -gap * np.arange(5)
    score[:, 0] = -gap * np.arange(6)
    for i, j in np.ndindex(5, 4):
        choices = np.stack(
            [score[i, j] + similarity[i, j], score[i, j + 1] - gap, score[i + 1, j] - gap]
        )
        score[i + 1, j + 1] = 0.3 * np.log(np.sum(np.exp(choices / 0.3)))
    return score[-1, -1]


@program(uniform(11, 8, low=200, high=300), np.array([0.3, 0.7]))
def energy_balance_of_latitudes(temperature, albedo):
    x = np.linspace(0.05, 0.95, 8)
    insolation = 340 * (1.24 - 0.72 * x**2)
    t = temperature.copy()
    for _ in range(10):
        ice = 1 / (1 + np.exp((t - 263) / 5))
        absorbed = insolation * (1 - (albedo[0] * (1 - ice) + albedo[1] * ice))
        flux = 0.6 * (1 - ((x[1:] + x[:-1]) / 2) ** 2) * np.diff(t) / np.diff(x)
        t += 0.02 * (absorbed - 0.61 * 5.67e-8 * t**4)
        t[:-1] += 0.02 * flux
        t[1:] -= 0.02 * flux
    return t, np.ptp(t)


@program(normal(12, 6, shift=5.0), np.array([40.0, 1.5, 0.3]))
def unit_hydrograph_with_reservoirs(rain, parameters):
    capacity, shape, leak = parameters
    storage, flows = 0.5 * capacity, []
    for p in rain:
        wet = (storage / capacity) ** shape
        runoff = p * wet
        storage = storage + p - runoff - leak * storage / 10
        flows.append(runoff + leak * storage / 10)
    kernel = np.exp(-np.arange(4.0) / shape)
    discharge = np.convolve(np.stack(flows), kernel / kernel.sum())
    return discharge, np.max(discharge)


@program(np.array([0.013, 0.02, -0.01, 0.015]), 440.0)
def beating_partials_and_temperament(detune, pitch):
    just = np.array([1, 5 / 4, 3 / 2, 2])
    tempered = pitch * 2 ** ((np.array([0, 4, 7, 12]) + detune) / 12)
    cents = 1200 * np.log2(tempered / (pitch * just))
    t = np.arange(32) / 4000.0
    wave = np.sum(np.sin(2 * np.pi * np.outer(tempered, t)), axis=0)
    loudness = np.convolve(wave**2, np.full(8, 1 / 8), mode="valid")
    centroid = np.average(np.log2(tempered), weights=1 / (1 + np.abs(cents[::-1]) + cents**2))
    return np.sqrt(loudness[::6]), centroid
