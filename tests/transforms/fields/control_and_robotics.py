"""Feedback, optimal control, kinematics, cameras, curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from field_programs import normal, program, uniform

import tapegrad.numpy as tnp

A = np.array([[1.0, 0.1], [-0.2, 0.95]])
B = np.array([[0.0], [0.1]])


@program(A, B, np.array([1.0, 0.3]), 0.2)
def riccati_iteration(a, b, state_cost, effort):
    q = np.diag(state_cost)
    p = q
    for _ in range(40):
        s = b.T @ p @ b + effort
        k = np.linalg.solve(s, b.T @ p @ a)
        p = q + a.T @ p @ (a - b @ k)
    closed = a - b @ k
    return k, p, np.abs(np.linalg.eigvals(closed))


@program(normal(1, 5, 1), np.array([1.0, -0.5]))
def model_predictive_cost(inputs, x0):
    x, cost = x0, 0.0
    for u in inputs:
        cost += x @ x + 0.1 * u @ u
        cost += 5 * np.sum(np.maximum(np.abs(u) - 0.8, 0) ** 2)
        x = A @ x + B @ np.clip(u, -0.9, 0.9)
    return cost + 10 * np.dot(x, x)


@program(normal(2, 4), normal(3, 2))
def condensed_horizon_solution(reference, x0):
    powers = [np.linalg.matrix_power(A, k) for k in range(5)]
    free = np.concatenate([(powers[k + 1] @ x0)[:1] for k in range(4)])
    forced = np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1):
            forced[i, j] = (powers[i - j] @ B)[0, 0]
    hessian = forced.T @ forced + 0.01 * np.eye(4)
    u = np.linalg.solve(hessian, forced.T @ (reference - free))
    return u, free + forced @ u


@dataclass
class Controller:
    kp: Any
    ki: Any
    kd: Any
    limit: float = field(default=1.5, metadata={"static": True})

    def __post_init__(self):
        self.reset()

    def reset(self):
        self.integral, self.previous = 0.0, 0.0

    def __call__(self, error, dt):
        self.integral += error * dt
        rate = (error - self.previous) / dt
        self.previous = error
        return self.limit * np.tanh(
            (self.kp * error + self.ki * self.integral + self.kd * rate) / 3
        )


@program(Controller(2.0, 0.5, 0.1), 1.1)
def servo_with_saturation(controller, setpoint):
    controller.reset()
    position = velocity = cost = 0.0
    for _ in range(20):
        error = setpoint - position
        force = controller(error, 0.05)
        velocity += 0.05 * (force - 0.4 * velocity)
        position += 0.05 * velocity
        cost += 0.05 * (error**2 + 0.01 * force**2)
    return cost, position


@program(normal(4, 3), np.array([0.3, 0.5, 0.2]))
def denavit_hartenberg_arm(joints, lengths):
    def link(theta, a, alpha):
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        return tnp.array(
            [
                [c, -s * ca, s * sa, a * c],
                [s, c * ca, -c * sa, a * s],
                [0.0, sa, ca, 0.1],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )

    pose = np.eye(4)
    for theta, a, alpha in zip(joints, lengths, (np.pi / 2, 0.0, -0.4), strict=True):
        pose = pose @ link(theta, a, alpha)
    return pose[:3, 3], pose[:3, :3].T @ np.array([0.0, 0.0, 1.0])


def multiplied(p, q):
    w = p[0] * q[0] - p[1:] @ q[1:]
    return np.append(w, p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))


@program(np.array([0.9, 0.1, -0.3, 0.2]), normal(5, 6, 3), normal(6, 3))
def attitude_from_gyroscope(q, rates, vector):
    q = q / np.linalg.norm(q)
    for w in rates:
        angle = np.sqrt(w @ w) * 0.1
        axis = w / np.sqrt(w @ w)
        q = multiplied(q, np.concatenate([[np.cos(angle / 2)], axis * np.sin(angle / 2)]))
    conjugate = q * np.array([1, -1, -1, -1])
    turned = multiplied(multiplied(q, np.append(0.0, vector)), conjugate)[1:]
    yaw = np.arctan2(2 * (q[0] * q[3] + q[1] * q[2]), 1 - 2 * (q[2] ** 2 + q[3] ** 2))
    return turned, yaw, np.arcsin(2 * (q[0] * q[2] - q[3] * q[1]))


@program(normal(7, 3, scale=0.4), normal(8, 3), normal(9, 5, 3))
def camera_reprojection(rotation, translation, points):
    angle = np.linalg.norm(rotation)
    x, y, z = rotation / angle
    zero = np.zeros_like(x)
    k = np.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    r = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
    seen = points @ r.T + translation + np.array([0, 0, 6.0])
    flat = seen[:, :2] / seen[:, 2:]
    r2 = np.sum(flat**2, axis=1, keepdims=True)
    pixels = 500 * flat * (1 + 0.1 * r2 - 0.02 * r2**2) + [320, 240]
    return np.sqrt(1 + np.sum((pixels - 300) ** 2, axis=1) / 900) - 1


@program(normal(10, 4, 3, scale=0.5), normal(11, 4, 3, scale=0.3))
def pose_graph_error(poses, odometry):
    def between(a, b):
        c, s = np.cos(a[2]), np.sin(a[2])
        dx, dy = b[:2] - a[:2]
        turn = np.arctan2(np.sin(b[2] - a[2]), np.cos(b[2] - a[2]))
        return np.stack((c * dx + s * dy, -s * dx + c * dy, turn))

    information = np.diag([2.0, 2.0, 10.0])
    total = 0.0
    for k in range(4):
        e = between(poses[k], poses[(k + 1) % 4]) - odometry[k]
        total += e.T @ information @ e
    return total


@program(normal(12, 3, scale=0.5), np.array([0.6, 0.4]))
def damped_inverse_kinematics(joints, target):
    lengths = np.array([0.5, 0.4, 0.3])
    for _ in range(5):
        angles = np.cumsum(joints)
        tips = np.cumsum(lengths * np.exp(1j * angles))
        tip = tips[-1]
        arms = tip - np.concatenate([[0.0], tips[:-1]])
        jacobian = np.stack([-arms.imag, arms.real])
        miss = target - np.hstack([tip.real, tip.imag])
        joints = joints + jacobian.T @ np.linalg.solve(
            jacobian @ jacobian.T + 0.05 * np.eye(2), miss
        )
    return joints


@program(np.array([0.4, 0.7]), np.array([0.2, -0.1]), np.array([1.0, 0.8]))
def two_link_arm_dynamics(q, dq, masses):
    m1, m2 = masses
    for _ in range(8):
        c2, s2 = np.cos(q[1]), np.sin(q[1])
        off = m2 * (0.25 + 0.5 * c2)
        inertia = np.block([[m1 * 0.25 + m2 * (1.25 + c2), off], [off, m2 * 0.25]])
        h = 0.5 * m2 * s2
        coriolis = h * np.stack([-dq[1] * (2 * dq[0] + dq[1]), dq[0] ** 2])
        g2 = 4.9 * m2 * np.cos(q.sum())
        gravity = np.stack([9.81 * (0.5 * m1 + m2) * np.cos(q[0]) + g2, g2])
        dq = dq + 0.02 * np.linalg.solve(inertia, 0.1 * np.ones(2) - coriolis - gravity)
        q = q + 0.02 * dq
    return q, 0.5 * dq @ inertia @ dq


@program(normal(13, 5, 2))
def bezier_length_by_de_casteljau(control):
    t = np.linspace(0, 1, 9)[:, None, None]
    points = np.broadcast_to(control, (9, 5, 2))
    while points.shape[1] > 1:
        points = (1 - t) * points[:, :-1] + t * points[:, 1:]
    steps = np.diff(points[:, 0], axis=0)
    return np.hypot(steps[:, 0], steps[:, 1]).sum()


@program(normal(14, 6), 2.3)
def natural_cubic_spline(y, at):
    n = len(y)
    matrix = 4 * np.eye(n - 2) + np.eye(n - 2, k=1) + np.eye(n - 2, k=-1)
    second = np.zeros_like(y)
    second[1:-1] = np.linalg.solve(matrix, 6 * np.diff(y, n=2))
    i = np.searchsorted(np.arange(1, n - 1), 2.3)
    s = at - i
    bend = ((1 - s) ** 3 - (1 - s)) * second[i] + (s**3 - s) * second[i + 1]
    return (1 - s) * y[i] + s * y[i + 1] + bend / 6


@program(normal(15, 4, 2), uniform(16, 3, low=0.3, high=0.8))
def trajectory_with_obstacles(inner, radii):
    path = np.vstack([np.zeros((1, 2)), inner, np.full((1, 2), 3.0)])
    centres = np.array([[1.0, 1.2], [2.0, 1.5], [0.5, 2.5]])
    midpoints = np.vstack([path, 0.5 * (path[1:] + path[:-1])])
    clearance = np.linalg.norm(midpoints[:, None] - centres, axis=2) - radii
    barrier = np.where(clearance < 0.6, (0.6 - clearance) ** 2, 0.0).sum()
    return (
        barrier
        + np.sum(np.diff(path, n=2, axis=0) ** 2)
        + 0.1 * np.sum(np.diff(path, axis=0) ** 2)
    )


@program(uniform(17, 3, low=0.2, high=2), uniform(18, 4, low=0.5, high=1.5))
def frequency_response_margins(zeros, poles):
    omega = np.logspace(-1, 1, 7)
    s = 1j * omega
    gain = np.polyval(np.poly(-zeros), s) / np.polyval(np.poly(-poles), s)
    decibels = 20 * np.log10(np.abs(gain))
    sensitivity = 1 / np.abs(1 + gain)
    return decibels, np.angle(gain, deg=True), sensitivity.max()
