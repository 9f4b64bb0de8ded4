"""Images, shapes, networks of nodes and edges."""

from __future__ import annotations

import numpy as np
from field_programs import normal, program, uniform

IMAGE = uniform(1, 6, 6)


@program(IMAGE, 0.3, np.array([0.4, -0.3]))
def bilinear_rotation(image, angle, shift):
    c, s = np.cos(angle), np.sin(angle)
    rows, columns = np.mgrid[1:5, 1:5] - 2.5
    y = np.clip(c * rows - s * columns + 2.5 + shift[0], 0, 4.99)
    x = np.clip(s * rows + c * columns + 2.5 + shift[1], 0, 4.99)
    i, j = np.floor(y).astype(int), np.floor(x).astype(int)
    fy, fx = y - i, x - j
    top = image[i, j] * (1 - fx) + image[i, j + 1] * fx
    bottom = image[i + 1, j] * (1 - fx) + image[i + 1, j + 1] * fx
    return top * (1 - fy) + bottom * fy


@program(IMAGE, 0.15)
def total_variation_by_chambolle(noisy, weight):
    px, py = np.zeros_like(noisy), np.zeros_like(noisy)
    for _ in range(6):
        divergence = px + py
        divergence[1:] -= px[:-1]
        divergence[:, 1:] -= py[:, :-1]
        u = noisy + weight * divergence
        gx, gy = np.zeros_like(u), np.zeros_like(u)
        gx[:-1], gy[:, :-1] = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
        scale = 1 + 0.25 / weight * np.sqrt(gx**2 + gy**2 + 1e-6)
        px, py = (px + 0.25 / weight * gx) / scale, (py + 0.25 / weight * gy) / scale
    return u


@program(IMAGE, 8.0)
def soft_opening(image, sharpness):
    def dilated(z):
        padded = np.pad(z, 1, mode="symmetric")
        shifted = [padded[i : i + 6, j : j + 6] for i in range(3) for j in range(3)]
        return np.logaddexp.reduce(sharpness * np.stack(shifted), axis=0) / sharpness

    eroded = -dilated(-image)
    return image - dilated(eroded)


@program(IMAGE, 0.6)
def edges_and_corners(image, threshold):
    gx = image[:, 2:] - image[:, :-2]
    gx = gx[:-2] + 2 * gx[1:-1] + gx[2:]
    gy = np.gradient(image, axis=0)[1:-1, 1:-1] * 8
    magnitude = np.hypot(gx, gy)
    edges = 1 / (1 + np.exp(-(magnitude - threshold) / 0.2))
    tensor = np.stack([gx * gx, gx * gy, gx * gy, gy * gy]).sum(axis=(1, 2)).reshape(2, 2)
    return edges, np.linalg.det(tensor) - 0.05 * np.trace(tensor) ** 2


@program(IMAGE)
def soft_histogram_equalization(image):
    centres = np.linspace(0, 1, 5)
    membership = np.exp(-0.5 * ((image[..., None] - centres) / 0.15) ** 2)
    membership /= membership.sum(-1, keepdims=True)
    counts = membership.reshape(-1, 5).mean(axis=0)
    table = np.cumsum(counts) - counts / 2
    return membership @ table, -np.sum(counts * np.log(counts))


@program(IMAGE, uniform(2, 3, 3, low=0.5))
def richardson_lucy(observed, kernel):
    kernel = kernel / kernel.sum()

    def blurred(z, k):
        padded = np.pad(z, 1, mode="wrap")
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
        return np.einsum("ijkl,kl", windows, k)

    estimate = np.full_like(observed, 0.5)
    for _ in range(4):
        estimate = estimate * blurred(observed / blurred(estimate, kernel), kernel[::-1, ::-1])
    return estimate


@program(uniform(3, 4, 4, 3), np.array([0.9, 1.1, 1.05]))
def white_balance_and_chroma(rgb, gains):
    linear = np.where(rgb > 0.04, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92) * gains
    matrix = np.array([[0.41, 0.36, 0.18], [0.21, 0.72, 0.07], [0.02, 0.12, 0.95]])
    xyz = linear @ matrix.T
    f = np.cbrt(xyz / np.array([0.95, 1.0, 1.09]))
    lightness, a, b = (
        116 * f[..., 1] - 16,
        500 * (f[..., 0] - f[..., 1]),
        200 * (f[..., 1] - f[..., 2]),
    )
    return lightness.mean(), np.sqrt(a**2 + b**2).std(), np.arctan2(b.mean(), a.mean())


@program(normal(4, 5, 2), normal(5, 5, 2), 0.1)
def procrustes_alignment(x, y, shrink):
    x0, y0 = x - x.mean(0), y - y.mean(0)
    u, s, vt = np.linalg.svd(x0.T @ y0)
    flip = np.hstack([1.0, np.sign(np.linalg.det(u @ vt))])
    rotation = u * flip @ vt
    scale = (1 - shrink) * (s @ flip) / np.sum(x0**2)
    return np.linalg.norm(scale * x0 @ rotation - y0), rotation


@program(normal(6, 7, 2) + 3 * np.exp(1j * np.arange(7)).view(float).reshape(7, 2))
def polygon_area_centroid_inertia(vertices):
    x, y = vertices.T
    x1, y1 = np.roll(vertices, -1, axis=0).T
    cross = x * y1 - x1 * y
    area = cross.sum() / 2
    centroid = np.hstack([(x + x1) @ cross, (y + y1) @ cross]) / (6 * area)
    inertia = np.dot(cross, x**2 + x * x1 + x1**2 + y**2 + y * y1 + y1**2) / 12
    return area, centroid, inertia


@program(uniform(7, 5, 5, low=0.1), 0.85)
def page_rank(links, damping):
    links = links * (1 - np.eye(5))
    transition = links / links.sum(axis=1, keepdims=True)
    rank = np.full(5, 0.2)
    for _ in range(30):
        rank = damping * rank @ transition + (1 - damping) / 5
    exact = np.linalg.solve(np.eye(5) - damping * transition.T, (1 - damping) * np.full(5, 0.2))
    return rank, np.linalg.norm(exact) / np.linalg.norm(exact, 1)


EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 3], [0, 2]])


@program(uniform(8, 7, low=0.5, high=2))
def laplacian_spectrum_and_resistance(weights):
    i, j = EDGES.T
    laplacian = np.zeros_like(weights, shape=(5, 5))
    laplacian[i, j] = laplacian[j, i] = -weights
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    values = np.linalg.eigvalsh(laplacian)
    inverse = np.linalg.inv(laplacian + 0.2) - 0.2
    diagonal = np.diag(inverse)
    resistance = diagonal[:, None] + diagonal - 2 * inverse
    trees = np.linalg.det(laplacian[1:, 1:])
    return values[1], np.sum(np.triu(resistance)), trees


@program(uniform(9, 7, low=1, high=3))
def shortest_paths_by_floyd_and_warshall(lengths):
    d = np.full_like(lengths, 1e3, shape=(5, 5))
    np.fill_diagonal(d, 0.0)
    for (i, j), length in zip(EDGES, lengths, strict=True):
        d[i, j] = d[j, i] = length
    for k in range(5):
        np.minimum(d, d[:, k, None] + d[k], out=d)
    return d[np.triu_indices(5, 1)]


@program(uniform(10, 7), np.array([1.0, -0.5, 0.3, -1.2, 0.4]))
def heat_diffusion_by_incidence(conductances, potential):
    incidence = np.zeros((7, 5))
    incidence[np.arange(7), EDGES[:, 0]], incidence[np.arange(7), EDGES[:, 1]] = 1, -1
    for _ in range(6):
        potential = potential - 0.2 * incidence.T @ (conductances * (incidence @ potential))
    dissipated = conductances * (incidence @ potential) ** 2
    return potential, dissipated.cumsum()[::3]


@program(normal(11, 5, 2), 1.1)
def force_directed_layout(position, stiffness):
    i, j = EDGES.T
    for _ in range(4):
        apart = position[:, None] - position[None]
        squared = np.einsum("ijk,ijk->ij", apart, apart) + 0.01
        force = (apart / squared[..., None]).sum(axis=1)
        pull = stiffness * (position[i] - position[j])
        np.subtract.at(force, i, pull)
        np.add.at(force, j, pull)
        position = position + 0.05 * force
    return position


@program(uniform(12, 4, 4, low=0.1), uniform(13, 3, low=0.2))
def belief_propagation_on_a_chain(pairwise, prior):
    unary = np.vstack([np.append(prior, 1.0), np.ones((3, 4))])
    forward, backward = [unary[0]], [unary[3]]
    for k in range(1, 4):
        message = forward[-1] @ pairwise
        forward.append(unary[k] * message / message.sum())
        message = pairwise @ backward[-1]
        backward.append(unary[3 - k] * message / message.sum())
    belief = np.stack(forward) * np.stack(backward[::-1]) / unary
    belief /= belief.sum(axis=1)[:, np.newaxis]
    return belief


@program(normal(14, 16), 1.0)
def mandelbrot_escape_smoothness(offsets, scale):
    c = scale * (np.linspace(-1.5, 0.5, 16) + 0.2j * (1 + np.abs(offsets)))
    z = np.zeros_like(c)
    for _ in range(4):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
    return np.log1p(np.abs(z) ** 2)
