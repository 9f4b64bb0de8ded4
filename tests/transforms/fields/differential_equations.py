"""Initial and boundary value problems: explicit, implicit, finite elements and volumes."""

from __future__ import annotations

import numpy as np
from field_programs import normal, program, uniform

POINTS = np.linspace(0, 1, 12)
BUMP = np.exp(-30 * (POINTS - 0.4) ** 2) + normal(1, 12, scale=0.02)


@program(BUMP, 0.4)
def heat_in_place(u, nu):
    u = u.copy()
    u[0] = u[-1] = 0.0
    for _ in range(15):
        u[1:-1] += nu * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(BUMP, 0.05)
def crank_nicolson(u, kappa):
    n, dx, dt = len(u), 1 / 11, 0.02
    laplacian = (np.eye(n, k=1) - 2 * np.eye(n) + np.eye(n, k=-1)) / dx**2
    implicit = np.eye(n) - 0.5 * dt * kappa * laplacian
    explicit = np.eye(n) + 0.5 * dt * kappa * laplacian
    step = np.linalg.solve(implicit, explicit)
    return np.linalg.matrix_power(step, 5) @ u


@program(BUMP, 0.6)
def lax_wendroff(u, courant):
    for _ in range(8):
        left, right = np.roll(u, 1), np.roll(u, -1)
        u = u - courant / 2 * (right - left) + courant**2 / 2 * (right - 2 * u + left)
    return u


@program(1 + BUMP)
def burgers_finite_volume_with_ghost_cells(initial):
    q = np.zeros_like(initial, shape=(len(initial) + 2,))
    q[1:-1] = initial
    inner = q[1:-1]
    for _ in range(10):
        q[0], q[-1] = q[1], q[-2]
        left, right = q[:-1], q[1:]
        speed = np.maximum(np.abs(left), np.abs(right))
        flux = 0.25 * (left**2 + right**2) - 0.5 * speed * (right - left)
        inner -= 0.2 * np.diff(flux)
    return inner


@program(1 + BUMP, 0.3 + 0.2 * BUMP)
def shallow_water(h, hu):
    state = np.stack([h, hu])
    for _ in range(6):
        padded = np.pad(state, ((0, 0), (1, 1)), mode="edge")
        padded[1, [0, -1]] *= -1
        h, hu = padded
        flux = np.stack([hu, hu**2 / h + 4.9 * h**2])
        fastest = np.max(np.abs(hu / h) + np.sqrt(9.8 * h))
        between = 0.5 * (flux[:, 1:] + flux[:, :-1]) - 0.5 * fastest * np.diff(padded, axis=1)
        state = state - 0.05 / fastest * np.diff(between, axis=1) * 11
    return state


@program(BUMP + 0.3 * np.sin(9 * POINTS), 0.5)
def upwind_with_van_leer_limiter(u, c):
    for _ in range(6):
        ahead, behind = np.roll(u, -1) - u, u - np.roll(u, 1)
        product = ahead * behind
        slope = np.where(product > 0, 2 * product / (ahead + behind), 0.0)
        face = u + 0.5 * (1 - c) * slope
        u = u - c * (face - np.roll(face, 1))
    return u


def v_cycle(u, f, h):
    u = u.copy()
    interior = slice(1, -1)
    for _ in range(2):
        smoothed = 0.5 * (u[:-2] + u[2:] + h**2 * f[1:-1])
        u[interior] += 2 / 3 * (smoothed - u[interior])
    if len(u) > 3:
        r = np.zeros_like(u)
        r[interior] = f[interior] + (u[:-2] - 2 * u[1:-1] + u[2:]) / h**2
        coarse = np.zeros_like(u[::2])
        coarse[1:-1] = 0.25 * (r[1:-2:2] + 2 * r[2:-1:2] + r[3::2])
        correction = v_cycle(np.zeros_like(coarse), coarse, 2 * h)
        u[::2] += correction
        u[1::2] += 0.5 * (correction[1:] + correction[:-1])
    for _ in range(2):
        u[interior] = u[interior] / 3 + (u[:-2] + u[2:] + h**2 * f[1:-1]) / 3
    return u


@program(normal(2, 17))
def multigrid_poisson(f):
    u = np.zeros_like(f)
    for _ in range(3):
        u = v_cycle(u, f, 1 / 16)
    return u


@program(uniform(3, 6, low=0.5, high=2.0), normal(4, 6))
def finite_elements_on_a_line(stiffness, load):
    n = len(stiffness)
    k = np.zeros((n + 1, n + 1), like=stiffness)
    f = np.zeros(n + 1, like=load)
    local = n * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for e in range(n):
        k[e : e + 2, e : e + 2] += stiffness[e] * local
        f[e : e + 2] += load[e] / (2 * n)
    free = np.arange(1, n + 1)
    u = np.zeros_like(f)
    u[free] = np.linalg.solve(k[np.ix_(free, free)], f[free])
    return u, 0.5 * u @ k @ u - f @ u


NODES = np.array([[0.0, 0.0], [1.0, 0.1], [1.1, 1.0], [0.1, 0.9], [0.5, 0.6]])
TRIANGLES = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])


@program(NODES, uniform(5, 4, low=1, high=2))
def finite_elements_on_triangles(nodes, conductivity):
    corners = nodes[TRIANGLES]
    e1, e2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = 0.5 * (e1[:, 0] * e2[:, 1] - e1[:, 1] * e2[:, 0])
    opposite = np.roll(corners, -1, axis=1) - np.roll(corners, -2, axis=1)
    blocks = np.einsum("eid,ejd->eij", opposite, opposite)
    blocks *= (conductivity / (4 * area))[:, None, None]
    matrix = np.zeros_like(nodes, shape=(5, 5))
    np.add.at(matrix, (TRIANGLES[:, :, None], TRIANGLES[:, None, :]), blocks)
    load = np.zeros_like(nodes, shape=5)
    np.add.at(load, TRIANGLES, np.repeat(area[:, None] / 3, 3, axis=1))
    matrix[:2] = np.eye(5)[:2]
    load[:2] = [0.0, 1.0]
    return np.linalg.solve(matrix, load)


@program(BUMP, 0.7)
def wave_equation_with_swapped_buffers(start, c):
    old, now, new = start.copy(), start.copy(), np.zeros_like(start)
    sensor = []
    for _ in range(12):
        new[1:-1] = 2 * now[1:-1] - old[1:-1] + c**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        new[0], new[-1] = now[1], 0.0
        old, now, new = now, new, old
        sensor.append(now[7] * 1.0)
    return np.hstack(sensor)


@program(normal(6, 5, 5, scale=0.05, shift=1.0), normal(7, 5, 5, scale=0.05, shift=0.2), 0.05)
def gray_scott(u, v, feed):
    def laplacian(z):
        return sum(np.roll(z, s, axis=a) for s in (1, -1) for a in (0, 1)) - 4 * z

    u, v = u.copy(), v.copy()
    for _ in range(5):
        reaction = u * v * v
        u += 0.16 * laplacian(u) - reaction + feed * (1 - u)
        v += 0.08 * laplacian(v) + reaction - (feed + 0.06) * v
    return u, v


@program(0.8 * BUMP[:8])
def korteweg_de_vries_split_step(u):
    k = np.fft.fftfreq(8, 1 / 8)
    dt = 0.01
    for _ in range(5):
        u = np.fft.ifft(np.exp(1j * k**3 * dt) * np.fft.fft(u)).real
        derivative = np.fft.irfft(1j * np.arange(5) * np.fft.rfft(u), 8)
        u = u - 6 * dt * u * derivative
    return u


@program(normal(8, 6, 6), normal(9, 4, 4))
def red_black_gauss_seidel(u, f):
    u = u.copy()
    inner = u[1:-1, 1:-1]
    i, j = np.indices((4, 4))
    for _ in range(4):
        for colour in (0, 1):
            mask = (i + j) % 2 == colour
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            inner[mask] = 0.25 * (around - f)[mask]
    return u


VELOCITIES = np.array([0, 1, -1])


@program(1 + 0.1 * BUMP, 0.8)
def lattice_boltzmann(rho, tau):
    weights = np.array([2 / 3, 1 / 6, 1 / 6])[:, None]
    f = weights * rho
    for _ in range(6):
        density = f.sum(axis=0)
        momentum = np.tensordot(VELOCITIES, f, axes=1)
        u = momentum / density
        cu = 3 * VELOCITIES[:, None] * u
        f -= (f - weights * density * (1 + cu + 0.5 * cu**2 - 1.5 * u**2)) / tau
        for q, velocity in enumerate(VELOCITIES):
            f[q] = np.roll(f[q], velocity)
    return f.sum(axis=0)


@program(normal(10, 5, 6), 0.3)
def alternating_directions(u, r):
    def operator(n):
        return 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)

    a, b = operator(5), operator(6)
    for _ in range(3):
        half = np.linalg.solve(np.eye(5) + r * a, u - r * u @ b)
        u = np.linalg.solve(np.eye(6) + r * b, (half - r * a @ half).T).T
    return u


@program(np.array([1.0, 0.3]), 1.5, unbatched="the error estimate decides on the step")
def adaptive_bogacki_shampine(y, mu):
    def slope(y):
        return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    t, h = 0.0, 0.1
    while t < 1.0:
        h = min(h, 1.0 - t)
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + 0.75 * h * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = slope(new)
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if error < 1e-3:
            t, y = t + h, new
            h = 0.15
        else:
            h = h / 2
    return y


@program(np.array([1.0, 0.05, 0.0]), np.array([0.4, 30.0, 10.0]))
def backward_euler_of_stiff_kinetics(y, k):
    for _ in range(4):
        old, dt = y, 0.05
        for _ in range(6):
            a, b, c = y
            r1, r2, r3 = k[0] * a, k[1] * b * b, k[2] * b * c
            residual = y - old - dt * np.stack([r3 - r1, r1 - r2 - r3, r2])
            jacobian = np.eye(3) - dt * np.array(
                [
                    [-k[0], k[2] * c, k[2] * b],
                    [k[0], -2 * k[1] * b - k[2] * c, -k[2] * b],
                    [0.0, 2 * k[1] * b, 0.0],
                ],
                like=k,
            )
            y = y - np.linalg.solve(jacobian, residual)
    return y


@program(np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.3, 0.9]))
def adams_bashforth_of_predators(y, rates):
    a, b, c, d = rates
    history = []
    for _ in range(10):
        slope = np.stack([a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]])
        history = [slope, *history[:2]]
        weights = {1: [1.0], 2: [1.5, -0.5], 3: [23 / 12, -16 / 12, 5 / 12]}[len(history)]
        y = y + 0.1 * sum(w * s for w, s in zip(weights, history, strict=True))
    return y


@program(0.9, 1.3)
def shooting_by_secants(end, stiffness):
    def miss(slope):
        u, du = 0.0, slope
        for _ in range(10):
            du = du - 0.1 * stiffness * np.sin(u)
            u = u + 0.1 * du
        return u - end

    s0, s1 = 0.5, 1.5
    f0, f1 = miss(s0), miss(s1)
    for _ in range(5):
        s0, s1, f0 = s1, s1 - f1 * (s1 - s0) / (f1 - f0), f1
        f1 = miss(s1)
    return s1


@program(np.array([1.2, -0.4]), np.array([0.0, 0.3]), 9.81)
def double_pendulum(theta, omega, g):
    def acceleration(theta, omega):
        (a, b), (wa, wb) = theta, omega
        s, c = np.sin(a - b), np.cos(a - b)
        below = 2 - c**2
        first = -(s * c * wa**2 + s * wb**2 + g * (2 * np.sin(a) - c * np.sin(b))) / below
        second = (2 * s * wa**2 + s * c * wb**2 + g * (2 * c * np.sin(a) - 2 * np.sin(b))) / below
        return np.stack([first, second])

    for _ in range(20):
        omega = omega + 0.01 * acceleration(theta, omega)
        theta = theta + 0.01 * omega
    return theta, omega


@program(BUMP[:10].astype(np.float32), np.float32(0.3))
def advection_diffusion_in_single_precision(u, nu):
    u = u.copy()
    work = np.empty_like(u)
    for _ in range(8):
        np.subtract(np.roll(u, 1), u, out=work)
        work *= 0.4
        work += nu * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
        np.add(u, work, out=u)
    return u


@program(normal(11, 7), uniform(12, 7, low=1, high=2))
def chebyshev_collocation(forcing, coefficient):
    n = len(forcing) - 1
    x = np.cos(np.pi * np.arange(n + 1) / n)
    c = np.hstack([2, np.ones(n - 1), 2]) * (-1) ** np.arange(n + 1)
    dx = x[:, None] - x
    d = np.outer(c, 1 / c) / (dx + np.eye(n + 1))
    d -= np.diag(d.sum(axis=1))
    operator = d @ (coefficient[:, None] * d)
    u = np.zeros_like(forcing)
    u[1:-1] = np.linalg.solve(operator[1:-1, 1:-1], forcing[1:-1])
    return u
