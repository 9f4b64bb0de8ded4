"""Linear algebra written out: iterations, factorizations in place, recursions on blocks."""

from __future__ import annotations

import numpy as np
from field_programs import normal, program, uniform

SQUARE = normal(1, 5, 5) + 6 * np.eye(5)
DEFINITE = normal(2, 5, 5) @ normal(2, 5, 5).T + 3 * np.eye(5)
RIGHT = normal(3, 5)


@program(SQUARE, RIGHT)
def conjugate_gradients(design, y):
    a, b = design.T @ design, design.T @ y
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    for _ in range(3):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        rs, previous = r @ r, rs
        p = r + rs / previous * p
    return x


@program(DEFINITE, RIGHT, unbatched="the loop stops by the residual")
def preconditioned_gradients_until_converged(a, b):
    a = (a + a.T) / 2
    m_inv = 1.0 / np.diag(a)
    x = np.zeros_like(b)
    r = b - a @ x
    z = m_inv * r
    p = z
    while np.linalg.norm(r) > 1e-13 * np.linalg.norm(b):
        ap = a @ p
        rz = r @ z
        alpha = rz / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        z = m_inv * r
        p = z + (r @ z) / rz * p
    return x


@program(SQUARE, RIGHT)
def jacobi_sweeps(a, b):
    d = np.diagonal(a)
    rest = a - np.diagflat(d)
    x = b / d
    for _ in range(25):
        x = (b - rest @ x) / d
    return x


@program(SQUARE, RIGHT, 1.1)
def successive_overrelaxation(a, b, omega):
    x = np.zeros_like(b)
    for _ in range(12):
        for i in range(len(b)):
            sigma = a[i, :i] @ x[:i] + a[i, i + 1 :] @ x[i + 1 :]
            x[i] += omega * ((b[i] - sigma) / a[i, i] - x[i])
    return x


@program(normal(4, 5, 5), RIGHT)
def lu_with_partial_pivoting(a, b):
    lu, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n - 1):
        pivot = k + np.argmax(np.abs(lu[k:, k]))
        lu[[k, pivot]] = lu[[pivot, k]]
        b[[k, pivot]] = b[[pivot, k]]
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    for i in range(1, n):
        b[i] -= lu[i, :i] @ b[:i]
    for i in reversed(range(n)):
        b[i] = (b[i] - lu[i, i + 1 :] @ b[i + 1 :]) / lu[i, i]
    return b, np.log(np.abs(np.prod(np.diag(lu))))


@program(DEFINITE)
def cholesky_by_columns(a):
    low = np.tril(a)
    for j in range(len(a)):
        column = low[j:, j]
        column -= low[j:, :j] @ low[j, :j]
        column /= np.sqrt(column[0])
    return low


@program(normal(5, 6, 4))
def householder_triangle(a):
    r = np.array(a, like=a)
    m, n = r.shape
    for k in range(n):
        v = r[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])
    return np.triu(r[:n])


@program(normal(6, 5, 3))
def modified_gram_schmidt(a):
    q = a.copy()
    r = np.zeros_like(a, shape=(3, 3))
    for i in range(3):
        r[i, i] = np.sqrt(np.vdot(q[:, i], q[:, i]))
        q[:, i] /= r[i, i]
        for j in range(i + 1, 3):
            r[i, j] = np.vdot(q[:, i], q[:, j])
            q[:, j] -= r[i, j] * q[:, i]
    return q, r


@program(uniform(7, 4, 4, low=0.2))
def power_iteration_with_deflation(a):
    a = (a + a.T) / 2
    values = []
    for _ in range(2):
        v = np.ones(4) / 2.0
        for _ in range(120):
            v = a @ v
            v /= np.linalg.norm(v)
        values.append(v @ a @ v)
        a = a - values[-1] * np.outer(v, v)
    return np.hstack(values)


@program(DEFINITE, RIGHT)
def lanczos_coefficients(a, start):
    q, before, beta = start / np.linalg.norm(start), np.zeros(5), 0.0
    alphas, betas = [], []
    for _ in range(3):
        w = a @ q - beta * before
        alphas.append(w @ q)
        w = w - alphas[-1] * q
        beta = np.sqrt(np.sum(w**2))
        betas.append(beta)
        before, q = q, w / beta
    t = np.diag(np.stack(alphas))
    t[np.arange(2), np.arange(1, 3)] = t[np.arange(1, 3), np.arange(2)] = np.stack(betas[:2])
    return np.linalg.eigvalsh(t)


@program(SQUARE, RIGHT)
def gmres_by_arnoldi(a, b):
    n, m = len(b), 3
    basis = np.zeros_like(a, shape=(m + 1, n))
    hessenberg = np.zeros_like(a, shape=(m + 1, m))
    beta = np.linalg.norm(b)
    basis[0] = b / beta
    for k in range(m):
        w = a @ basis[k]
        for j in range(k + 1):
            hessenberg[j, k] = basis[j] @ w
            w -= hessenberg[j, k] * basis[j]
        hessenberg[k + 1, k] = np.linalg.norm(w)
        basis[k + 1] = w / hessenberg[k + 1, k]
    y = np.linalg.lstsq(hessenberg, beta * np.eye(m + 1)[0])[0]
    return basis[:m].T @ y


@program(SQUARE)
def newton_schulz_inverse(a):
    x = a.T / (np.abs(a).sum(0).max() * np.abs(a).sum(1).max())
    two = 2 * np.eye(5)
    for _ in range(18):
        x = x @ (two - a @ x)
    return x


@program(normal(8, 4, 4))
def exponential_by_scaling_and_squaring(a):
    scaled = a / 2**4
    out, term = np.eye(4), np.eye(4)
    for k in range(1, 12):
        term = term @ scaled / k
        out = out + term
    for _ in range(4):
        out = out @ out
    return out


@program(normal(9, 8) + 1j * normal(10, 8))
def cooley_tukey(x):
    if len(x) == 1:
        return x
    even, odd = cooley_tukey(x[::2]), cooley_tukey(x[1::2])
    twisted = np.exp(-2j * np.pi * np.arange(len(x) // 2) / len(x)) * odd
    return np.concatenate([even + twisted, even - twisted])


@program(normal(11, 4, 4), normal(12, 4, 4))
def strassen(a, b):
    n = len(a)
    if n == 1:
        return a * b
    h = n // 2
    (a11, a12), (a21, a22) = ((x[:, :h], x[:, h:]) for x in (a[:h], a[h:]))
    (b11, b12), (b21, b22) = ((x[:, :h], x[:, h:]) for x in (b[:h], b[h:]))
    m1 = strassen(a11 + a22, b11 + b22)
    m2 = strassen(a21 + a22, b11)
    m3 = strassen(a11, b12 - b22)
    m4 = strassen(a22, b21 - b11)
    m5 = strassen(a11 + a12, b22)
    m6 = strassen(a21 - a11, b11 + b12)
    m7 = strassen(a12 - a22, b21 + b22)
    return np.block([[m1 + m4 - m5 + m7, m3 + m5], [m2 + m4, m1 - m2 + m3 + m6]])


@program(DEFINITE[:4, :4])
def jacobi_eigenvalues(a):
    a = (a + a.T) / 2
    for _ in range(5):
        for p in range(3):
            for q in range(p + 1, 4):
                theta = 0.5 * np.arctan2(2 * a[p, q], a[q, q] - a[p, p])
                c, s = np.cos(theta), np.sin(theta)
                a[[p, q]] = c * a[p] - s * a[q], s * a[p] + c * a[q]
                a[:, [p, q]] = np.stack([c * a[:, p] - s * a[:, q], s * a[:, p] + c * a[:, q]], 1)
    return np.sort(np.diag(a))


@program(normal(13, 6), uniform(14, 6, low=3, high=4), normal(15, 6))
def thomas_with_periodic_ends(off, diagonal, rhs):
    """Sherman and Morrison's correction of a tridiagonal solve."""

    def thomas(d, r):
        d, r = d.copy(), r.copy()
        for i in range(1, len(d)):
            w = off[i - 1] / d[i - 1]
            d[i] -= w * off[i - 1]
            r[i] -= w * r[i - 1]
        r[-1] /= d[-1]
        for i in range(len(d) - 2, -1, -1):
            r[i] = (r[i] - off[i] * r[i + 1]) / d[i]
        return r

    gamma = -diagonal[0]
    d = diagonal.copy()
    d[0] -= gamma
    d[-1] -= off[-1] ** 2 / gamma
    u = np.zeros_like(rhs)
    u[0], u[-1] = gamma, off[-1]
    x, z = thomas(d, rhs), thomas(d, u)
    factor = (x[0] + x[-1] * off[-1] / gamma) / (1 + z[0] + z[-1] * off[-1] / gamma)
    return x - factor * z
