"""Quadrature, roots, interpolation, special functions, optimization, algorithms on data."""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import operator
from collections import defaultdict, deque

import numpy as np
from field_programs import normal, program, uniform

# --- Quadrature, roots, series ------------------------------------------------------------------


@program(0.3, 1.4, unbatched="the recursion stops by the error estimate")
def adaptive_simpson(a, width):
    def f(x):
        return np.exp(-x * a) * np.sin(5 * x * width)

    def simpson(low, high):
        return (high - low) / 6 * (f(low) + 4 * f((low + high) / 2) + f(high))

    def refine(low, high, whole, tolerance):
        middle = (low + high) / 2
        left, right = simpson(low, middle), simpson(middle, high)
        if abs(left + right - whole) <= 15 * tolerance:
            return left + right + (left + right - whole) / 15
        return refine(low, middle, left, tolerance / 2) + refine(
            middle, high, right, tolerance / 2
        )

    return refine(0.0, width, simpson(0.0, width), 1e-4)


@program(normal(1, 3))
def gauss_legendre_against_romberg(c):
    nodes, weights = np.polynomial.legendre.leggauss(6)
    integral = weights @ np.cos(np.polyval(c, nodes))
    table = []
    for k in range(5):
        x = np.linspace(-1, 1, 2**k + 1)
        row = [np.trapezoid(np.cos(np.polyval(c, x)), x)]
        for j, previous in enumerate(table[-1] if table else []):
            row.append(row[-1] + (row[-1] - previous) / (4 ** (j + 1) - 1))
        table.append(row)
    return integral, table[-1][-1]


@program(2.0, 0.7, unbatched="each step is chosen by comparisons")
def brent_root_polished(a, b):
    def f(x):
        return x**3 - a * x - b

    low, high = 1.0 + 0 * a, 3.0 + 0 * a
    while high - low > 1e-3:
        candidate = high - f(high) * (high - low) / (f(high) - f(low))
        if not low < candidate < high:
            candidate = (low + high) / 2
        if f(candidate) * f(low) > 0:
            low = candidate
        else:
            high = candidate
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    root = (low + high) / 2
    for _ in range(4):
        root -= f(root) / (3 * root**2 - a)
    return root


@program(0.8, 0.4)
def elliptic_integrals_by_the_arithmetic_geometric_mean(k, phi):
    a, g, total = np.ones_like(k), np.sqrt(1 - k**2), k**2 / 2
    for n in range(6):
        a, g, c = (a + g) / 2, np.sqrt(a * g), (a - g) / 2
        total = total + 2.0**n * c**2
    complete = np.pi / (2 * a)
    return complete, complete * (1 - total) * np.cos(phi)


@program(np.array([0.7, 2.3, 3.9]))
def lanczos_gamma_and_digamma(z):
    coefficients = [676.5203681218851, -1259.1392167224028, 771.32342877765313]
    coefficients += [-176.61502916214059, 12.507343278686905, -0.13857109526572012]
    z = z - 1
    x = 0.99999999999980993 + sum(c / (z + i + 1) for i, c in enumerate(coefficients))
    t = z + 6.5
    return np.sqrt(2 * np.pi) * t ** (z + 0.5) * np.exp(-t) * x


@program(np.array([0.5, 1.7, 3.1]))
def bessel_by_backward_recurrence(x):
    after, now = np.zeros_like(x), np.full_like(x, 1e-30)
    total = np.zeros_like(x)
    for n in range(24, 0, -1):
        before = 2 * n / x * now - after
        after, now = now, before
        if n % 2:
            total += 2 * now if n > 1 else now
    return np.stack([now, after]) / total


@program(1.3, 0.8)
def continued_fraction_by_lentz(x, a):
    tiny = 1e-30
    f = c = x + 1 - a
    d = 0.0
    for n in range(1, 30):
        an, bn = -n * (n - a), x + 2 * n + 1 - a
        d = 1 / (bn + an * d + tiny)
        c = bn + an / c
        f = f * c * d
    return np.exp(-x) * x**a / f


@program(normal(2, 6), 0.35)
def clenshaw_sum(c, x):
    b1 = b2 = 0.0
    for ck in c[:0:-1]:
        b1, b2 = 2 * x * b1 - b2 + ck, b1
    return x * b1 - b2 + c[0]


@program(np.sort(normal(3, 5)), normal(4, 5), 0.2)
def newton_divided_differences(x, y, at):
    table = y.copy()
    for k in range(1, 5):
        table[k:] = (table[k:] - table[k - 1 : -1]) / (x[k:] - x[:-k])
    return functools.reduce(lambda s, i: s * (at - x[i]) + table[i], range(3, -1, -1), table[4])


@program(normal(5, 6), 0.45)
def b_spline_curve_by_recursion(control, t):
    knots = np.r_[[0.0] * 4, 1 / 3, 2 / 3, [1.0] * 4]

    @functools.cache
    def basis(i, p):
        if p == 0:
            return np.where((knots[i] <= t) & (t < knots[i + 1]), 1.0, 0.0)
        out = 0.0
        if knots[i + p] > knots[i]:
            out = out + (t - knots[i]) / (knots[i + p] - knots[i]) * basis(i, p - 1)
        if knots[i + p + 1] > knots[i + 1]:
            span = knots[i + p + 1] - knots[i + 1]
            out = out + (knots[i + p + 1] - t) / span * basis(i + 1, p - 1)
        return out

    return sum(map(operator.mul, control, (basis(i, 3) for i in range(6))))


@program(normal(6, 5, 2), normal(7, 5), 0.9)
def radial_basis_interpolation(sites, values, shape):
    def kernel(a, b):
        r2 = ((a[:, None, :] - b) ** 2).sum(-1)
        return np.sqrt(1 + shape * r2)

    weights = np.linalg.solve(kernel(sites, sites), values)
    gx, gy = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 2), indexing="ij")
    return (kernel(np.c_[gx.ravel(), gy.ravel()], sites) @ weights).reshape(3, 2)


# --- Optimization -------------------------------------------------------------------------------


@program(normal(8, 2), 3.0, unbatched="the simplex moves by comparisons")
def nelder_mead(start, curvature):
    def f(p):
        return (p[0] - 1) ** 2 + curvature * (p[1] - p[0] ** 2) ** 2

    simplex = [start, start + np.array([0.5, 0.0]), start + np.array([0.0, 0.5])]
    for _ in range(12):
        simplex.sort(key=f)
        best, good, worst = simplex
        centre = (best + good) / 2
        reflected = 2 * centre - worst
        if f(reflected) < f(best):
            expanded = 3 * centre - 2 * worst
            simplex[2] = min(reflected, expanded, key=f)
        elif f(reflected) < f(good):
            simplex[2] = reflected
        else:
            contracted = (centre + worst) / 2
            if f(contracted) < f(worst):
                simplex[2] = contracted
            else:
                simplex = [best, *((best + p) / 2 for p in simplex[1:])]
    return min(f(p) for p in simplex), np.mean(simplex[0])


@program(normal(9, 3), uniform(10, 3, low=1, high=4), unbatched="the line search backtracks")
def bfgs_with_armijo(x, scale):
    def f(x):
        return np.sum(scale * (x - 1) ** 2) + np.sum(x**4) / 4

    def slope(x):
        return 2 * scale * (x - 1) + x**3

    h, g = np.eye(3), slope(x)
    for _ in range(5):
        p, t = -h @ g, 1.0
        while f(x + t * p) > f(x) + 1e-4 * t * g @ p:
            t *= 0.5
        s = t * p
        x, before, g = x + s, g, slope(x + s)
        y = g - before
        rho = 1 / (y @ s)
        left = np.eye(3) - rho * np.outer(s, y)
        h = left @ h @ left.T + rho * np.outer(s, s)
    return x, f(x)


@program(normal(11, 8, shift=2.0, scale=0.3), np.array([1.5, 0.5, 0.2]))
def levenberg_marquardt(y, p):
    t = np.linspace(0, 3, 8)
    for _ in range(4):
        e = np.exp(-p[1] * t)
        residual = y - (p[0] * e + p[2])
        jacobian = np.stack([e, -p[0] * t * e, np.ones_like(e)], axis=1)
        gram = jacobian.T @ jacobian
        damped = gram + 0.05 * np.diag(np.diag(gram))
        p = p + np.linalg.solve(damped, jacobian.T @ residual)
    return p, residual @ residual / (8 - 3)


@program(normal(12, 8, 4), normal(13, 8), 0.3)
def lasso_by_splitting(a, b, weight):
    factor = np.linalg.cholesky(a.T @ a + np.eye(4))
    z = u = np.zeros(4)
    for _ in range(10):
        right = a.T @ b + z - u
        x = np.linalg.solve(factor.T, np.linalg.solve(factor, right))
        v = x + u
        z = np.sign(v) * np.clip(np.abs(v) - weight, 0, None)
        u = v - z
    return z, 0.5 * np.linalg.norm(a @ z - b) ** 2 + weight * np.linalg.norm(z, 1)


@program(normal(14, 6))
def projection_onto_the_simplex(v):
    u = np.sort(v)[::-1]
    excess = np.cumsum(u) - 1
    support = np.count_nonzero(u - excess / np.arange(1, 7) > 0)
    theta = excess[support - 1] / support
    return np.maximum(v - theta, 0)


@program(
    np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 2.0]]),
    np.array([8.0, 9.0]),
    np.array([3.0, 2.0, 4.0]),
    unbatched="pivots are chosen by comparisons",
)
def linear_program_by_tableau(a, b, c):
    m, n = a.shape
    table = np.zeros_like(a, shape=(m + 1, n + m + 1))
    table[:m, :n], table[:m, n : n + m], table[:m, -1] = a, np.eye(m), b
    table[-1, :n] = -c
    while (table[-1, :-1] < -1e-12).any():
        column = int(np.argmin(table[-1, :-1]))
        ratios = [
            table[r, -1] / table[r, column] if table[r, column] > 1e-12 else np.inf
            for r in range(m)
        ]
        row = min(range(m), key=ratios.__getitem__)
        table[row] /= table[row, column]
        for r in range(m + 1):
            if r != row:
                table[r] -= table[r, column] * table[row]
    return table[-1, -1], table[-1, n : n + m]


@program(normal(15, 4, 4), normal(16, 4), uniform(17, 4, low=0.2, high=0.6))
def interior_point_of_a_box(root, linear, bound):
    hessian = root @ root.T + np.eye(4)
    x, mu = np.zeros_like(linear), 1.0
    for _ in range(6):
        for _ in range(3):
            upper, lower = bound - x, bound + x
            gradient = hessian @ x + linear + mu / upper - mu / lower
            curved = hessian + np.diag(mu / upper**2 + mu / lower**2)
            step = np.linalg.solve(curved, -gradient)
            longest = np.max(np.abs(step) / np.where(step > 0, upper, lower))
            x = x + step * np.minimum(1.0, 0.9 / longest)
        mu *= 0.3
    return x


# --- Algorithms on data -------------------------------------------------------------------------


@program(uniform(18, 8, low=1, high=3), unbatched="the queue orders what it holds")
def dijkstra_with_a_heap(lengths):
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)]
    graph = defaultdict(list)
    for (i, j), w in zip(edges, lengths, strict=True):
        graph[i].append((j, w))
        graph[j].append((i, w))
    distance, queue = {}, [(0.0, 0)]
    while queue:
        d, node = heapq.heappop(queue)
        if node in distance:
            continue
        distance[node] = d
        for other, w in graph[node]:
            if other not in distance:
                heapq.heappush(queue, (d + w, other))
    return {"far": max(distance.values()), "sum": sum(distance.values())}


@program(normal(19, 7), unbatched="the pivots divide the elements")
def quicksort_then_trimmed_mean(x):
    def ordered(x):
        if len(x) <= 1:
            return x
        pivot, rest = x[0], x[1:]
        small, large = rest[rest < pivot], rest[rest >= pivot]
        return np.concatenate([ordered(small), x[:1], ordered(large)])

    s = ordered(x)
    return s * np.arange(7), s[1:-1].mean()


@program(normal(20, 6), unbatched="bisection compares")
def running_median_in_a_sorted_list(x):
    window, kept, medians = deque(), [], []
    for value in x:
        window.append(value)
        bisect.insort(kept, value)
        if len(window) > 3:
            kept.pop(bisect.bisect_left(kept, window.popleft()))
        medians.append(kept[len(kept) // 2])
    return np.hstack(medians)


@program(normal(21, 5), normal(22, 6), 0.1)
def dynamic_time_warping(a, b, penalty):
    cost = np.full((len(a) + 1, len(b) + 1), np.inf) * np.ones_like(penalty)
    cost[0, 0] = 0.0
    for i, j in itertools.product(range(5), range(6)):
        best = np.minimum(cost[i, j], np.minimum(cost[i, j + 1], cost[i + 1, j]) + penalty)
        cost[i + 1, j + 1] = (a[i] - b[j]) ** 2 + best
    return cost[5, 6]


@program(normal(23, 5, 3), normal(24, 3, 3), unbatched="the path back is read by int()")
def viterbi_path_score(emission, transition):
    score, back = emission[0], []
    for row in emission[1:]:
        candidates = score[:, None] + transition
        back.append(np.argmax(candidates, axis=0))
        score = np.max(candidates, axis=0) + row
    state = int(np.argmax(score))
    path = [state]
    for pointers in reversed(back):
        state = int(pointers[state])
        path.insert(0, state)
    visited = emission[np.arange(5), path]
    return score.max(), visited


@program(uniform(25, 8, low=0.5, high=2.0), uniform(26, 8, low=0.3, high=1.5))
def waiting_times_in_a_queue(between, service):
    steps = service[:-1] - between[1:]
    walk = np.concatenate([[0.0], np.cumsum(steps)])
    waiting = walk - np.minimum.accumulate(walk)
    departures = np.cumsum(between) + waiting + service
    return waiting.mean(), np.maximum(np.diff(departures), 0.3).sum()


@program(np.array([1.0, 0.1, 0.5]), unbatched="the next reaction is drawn by comparisons")
def stochastic_simulation_with_fixed_draws(rates):
    draws = np.random.default_rng(9).random((12, 2))
    x, y, t, area = 6, 2, 0.0, 0.0
    for wait, which in draws:
        propensity = rates * np.array([x, x * y, y])
        total = propensity.sum()
        dt = -np.log(wait) / total
        area += y * dt
        t += dt
        reaction = int(np.searchsorted(np.cumsum(propensity) / total, which))
        x, y = [(x + 1, y), (x - 1, y + 1), (x, y - 1)][reaction]
    return t, area / t


@program(normal(27, 10, 2), np.array([[0.5, 0.5], [-0.5, -0.3]]))
def k_means_then_silhouette(points, centres):
    for _ in range(3):
        squared = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        label = np.argmin(squared, axis=1)
        member = label[:, None] == np.arange(2)
        centres = (member.T @ points) / member.sum(axis=0)[:, None]
    distances = np.linalg.norm(points[:, None] - centres, axis=2)
    near, far = distances.min(axis=1), distances.max(axis=1)
    return centres, np.mean((far - near) / far)


@program(uniform(28, 5, low=0.5, high=3.0), 1.2)
def piecewise_tariff(usage, base):
    tiers = np.array(
        [(1.0, 0.10), (2.0, 0.15), (9.0, 0.25)], dtype=[("upto", "f8"), ("price", "f8")]
    )
    bill = np.zeros_like(usage)
    below = 0.0
    for tier in tiers:
        bill += tier["price"] * np.clip(usage - below, 0, tier["upto"] - below)
        below = tier["upto"]
    discount = np.piecewise(
        bill, [bill < 0.2, bill >= 0.2], [lambda b: 0 * b, lambda b: 0.1 * (b - 0.2)]
    )
    return base * (bill - discount), np.select([usage < 1, usage < 2], [usage, usage**2], 3.0)


@program(normal(29, 4, 3))
def row_functions_along_axes(table):
    def spread(row):
        return np.hstack([row.max() - row.min(), np.log(np.sum(np.exp(row)))])

    by_row = np.stack([spread(row) for row in table])
    by_column = np.apply_along_axis(lambda column: np.cumprod(1 + column)[-1], 0, table)
    largest = np.take_along_axis(table, np.argmax(table, axis=1, keepdims=True), axis=1)
    return by_row, by_column, np.tile(largest.squeeze(), 2)


@program(normal(30, 6), 0.7)
def metropolis_chain_with_fixed_draws(noise, width):
    accept = np.log(np.random.default_rng(4).random(6))
    x, chain = np.zeros_like(width), []
    for step, threshold in zip(noise, accept, strict=True):
        proposal = x + width * step
        log_ratio = -0.25 * (proposal**4 - x**4) - (proposal - 1) ** 2 / 2 + (x - 1) ** 2 / 2
        x = np.where(threshold < log_ratio, proposal, x)
        chain.append(x)
    return np.stack(chain)


@program(normal(31, 3, 3), normal(32, 3), normal(33, 3, scale=0.2))
def ray_against_a_triangle(triangle, direction, origin):
    """Moeller and Trumbore's barycentric coordinates."""
    a, b, c = triangle
    e1, e2 = b - a, c - a
    p = np.cross(direction, e2)
    inverse = 1 / np.inner(e1, p)
    s = origin - a
    q = np.cross(s, e1)
    t, u, v = (inverse * np.vdot(*pair) for pair in ((e2, q), (s, p), (direction, q)))
    n = np.cross(e1, e2)
    return t, u, v, n / np.sqrt(n.dot(n))


@program(normal(34, 7, 2), 0.4)
def signed_distances_blended(points, k):
    def circle(p):
        return np.hypot(p[:, 0], p[:, 1]) - 0.8

    def box(p):
        q = np.abs(p - np.array([0.5, 0.3])) - np.array([0.6, 0.2])
        return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)

    a, b = circle(points), box(points)
    h = np.clip(0.5 + 0.5 * (b - a) / k, 0, 1)
    return b + (a - b) * h - k * h * (1 - h)
