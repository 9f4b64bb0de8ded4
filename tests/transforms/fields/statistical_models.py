"""Regression, likelihoods, mixtures, survival, ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from field_programs import normal, program, uniform

DESIGN = np.column_stack([np.ones(8), normal(1, 8, 2)])
COUNTS = np.array([1.0, 0.0, 3.0, 2.0, 5.0, 1.0, 2.0, 4.0])


@program(normal(2, 3, scale=0.3), DESIGN)
def logistic_regression_by_reweighting(beta, x):
    y = np.array([0, 1, 1, 0, 1, 0, 1, 0])
    for _ in range(3):
        mu = 1.0 / (1.0 + np.exp(-x @ beta))
        w = mu * (1 - mu)
        hessian = (x.T * w) @ x + 0.5 * np.eye(x.shape[1])
        beta = beta + np.linalg.solve(hessian, x.T @ (y - mu) - 0.5 * beta)
    return beta, np.sqrt(np.diag(np.linalg.inv(hessian)))


@program({"intercept": 0.2, "slopes": normal(3, 3, scale=0.3), "log_exposure": normal(4, 8)})
def poisson_deviance(parameters):
    eta = parameters["intercept"] + DESIGN @ parameters["slopes"] + parameters["log_exposure"]
    mu = np.exp(eta)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturated = np.where(COUNTS > 0, COUNTS * np.log(COUNTS / mu), 0.0)
    return 2 * np.sum(saturated - (COUNTS - mu))


@program(normal(5, 3), normal(6, 8), 0.8)
def huber_loss(beta, y, delta):
    r = y - DESIGN @ beta
    inside = np.abs(r) <= delta
    loss = np.zeros_like(r)
    loss[inside] = 0.5 * r[inside] ** 2
    loss[~inside] = delta * (np.abs(r[~inside]) - 0.5 * delta)
    return loss.mean()


@program(normal(7, 6), np.log(0.7), np.log(1.2), np.log(0.3))
def gaussian_process_evidence(y, log_length, log_amplitude, log_noise):
    t = np.linspace(0, 2, 6)
    k = np.exp(2 * log_amplitude - 0.5 * np.subtract.outer(t, t) ** 2 / np.exp(2 * log_length))
    k[np.diag_indices_from(k)] += np.exp(2 * log_noise)
    low = np.linalg.cholesky(k)
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return -0.5 * y @ alpha - np.log(low.diagonal()).sum() - 3 * np.log(2 * np.pi)


@program(uniform(8, 3, 3, low=0.2), uniform(9, 3, 4, low=0.2), uniform(10, 3, low=0.2))
def hidden_markov_forward(transition, emission, start):
    transition = transition / transition.sum(axis=1, keepdims=True)
    emission = emission / emission.sum(axis=1, keepdims=True)
    alpha = start / start.sum()
    log_likelihood = 0.0
    for symbol in [0, 2, 3, 1, 1, 0]:
        alpha = (alpha @ transition) * emission[:, symbol]
        scale = alpha.sum()
        log_likelihood += np.log(scale)
        alpha /= scale
    return log_likelihood


@program(normal(11, 12), np.array([0.4, 0.6]), np.array([-0.7, 0.9]), np.array([0.8, 1.3]))
def mixture_expectation_maximization(x, weights, means, sigmas):
    for _ in range(4):
        z = (x[:, np.newaxis] - means) / sigmas
        dens = weights * np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * sigmas)
        resp = dens / dens.sum(1)[:, None]
        n = resp.sum(0)
        weights, means = n / len(x), resp.T @ x / n
        sigmas = np.sqrt(np.einsum("nk,nk->k", resp, (x[:, None] - means) ** 2) / n)
    return {"weights": weights, "means": means, "sigmas": sigmas}


@program(uniform(12, 6, low=0.1, high=0.9), uniform(13, 6, low=0.1, high=0.9), 1.7)
def clayton_copula(u, v, theta):
    total = u**-theta + v**-theta - 1
    log_density = np.log1p(theta) - (1 + theta) * np.log(u * v) - (2 + 1 / theta) * np.log(total)
    tail = 2.0 ** (-1.0 / theta)
    return log_density.sum(), theta / (theta + 2), tail


@program(normal(14, 3, scale=0.4), normal(15, 8, 3))
def cox_partial_likelihood(beta, covariates):
    time = np.array([5.0, 3.1, 8.2, 1.4, 9.9, 2.2, 7.3, 6.5])
    event = np.array([1, 0, 1, 1, 0, 1, 1, 0], dtype=bool)
    order = np.argsort(-time)
    risk = (covariates @ beta)[order]
    at_risk = np.logaddexp.accumulate(risk)
    return -np.sum((risk - at_risk)[event[order]])


@dataclass
class Weibull:
    log_scale: Any
    log_shape: Any

    def log_hazard(self, t):
        k = np.exp(self.log_shape)
        return self.log_shape - self.log_scale + (k - 1) * (np.log(t) - self.log_scale)

    def cumulative_hazard(self, t):
        return (t / np.exp(self.log_scale)) ** np.exp(self.log_shape)


@program(Weibull(0.4, -0.2), uniform(16, 6, low=0.5, high=4.0))
def censored_weibull(model, times):
    observed = np.array([True, True, False, True, False, True])
    return np.sum(model.log_hazard(times)[observed]) - model.cumulative_hazard(times).sum()


@program(normal(17, 7))
def list_mle(scores):
    relevance = np.array([2, 0, 3, 1, 5, 4, 6])
    ranked = scores[np.argsort(relevance)[::-1]]
    largest = ranked.max()
    tail = np.cumsum(np.exp(ranked - largest)[::-1])[::-1]
    return np.sum(np.log(tail) + largest - ranked)


@program(normal(18, 6), 0.5)
def smooth_ndcg(scores, temperature):
    gains = np.array([3.0, 0.0, 7.0, 1.0, 0.0, 3.0])
    apart = (scores[None, :] - scores[:, None]) / temperature
    wins = 1 / (1 + np.exp(-apart))
    ranks = 1 + wins.sum(axis=1) - np.diag(wins)
    ideal = np.sum(np.sort(gains)[::-1] / np.log2(np.arange(2, 8)))
    return np.sum(gains / np.log2(1 + ranks)) / ideal


@program(normal(19, 9))
def bootstrap_standard_error(sample):
    draws = np.random.default_rng(0).integers(0, len(sample), size=(20, len(sample)))
    estimates = np.median(sample[draws], axis=1) / np.std(sample[draws], axis=1)
    low, high = np.percentile(estimates, [5, 95])
    return estimates.std(ddof=1), high - low


@program(normal(20, 10), normal(21, 10), 0.6)
def kernel_regression_cross_validation(x, y, bandwidth):
    weights = np.exp(-0.5 * ((x[:, None] - x) / bandwidth) ** 2)
    np.fill_diagonal(weights, 0.0)
    fitted = weights @ y / weights.sum(axis=-1)
    return np.mean((y - fitted) ** 2)


@program(normal(22, 9, 3), normal(23, 3))
def mahalanobis_of_sample_covariance(data, point):
    centred = data - data.mean(axis=0)
    cov = np.cov(centred, rowvar=False)
    away = point - data.mean(axis=0)
    correlation = np.corrcoef(data.T)
    return away @ np.linalg.pinv(cov) @ away, correlation[np.triu_indices(3, k=1)]


@program(normal(24, 10, 4) * np.array([3.0, 2.0, 1.0, 0.5]))
def principal_component_reconstruction(data):
    mean = np.mean(data, axis=0)
    _, s, vt = np.linalg.svd(data - mean, full_matrices=False)
    kept = vt[:2]
    back = (data - mean) @ kept.T @ kept + mean
    return np.sum(np.square(back - data) * np.arange(4)), s[:2] ** 2 / np.sum(s**2)


@program(normal(25, 7), 0.9)
def quantile_regression_loss(y, slope):
    tau = np.array([[0.1], [0.5], [0.9]])
    r = y - slope * np.arange(7) / 7 - np.array([[-1.0], [0.03], [1.0]])
    return np.maximum(tau * r, (tau - 1) * r).mean(axis=1)


@program(uniform(26, 5, low=1, high=4), uniform(27, 5, low=1, high=4))
def beta_moments_and_entropy_bound(a, b):
    def log_gamma(z):
        shift = np.ones_like(z)
        for k in range(6):
            shift = shift * (z + k)
        z = z + 6
        series = 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5)
        return (z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + series - np.log(shift)

    log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    mode = (a - 1) / (a + b - 2)
    return log_beta - (a - 1) * np.log(mode) - (b - 1) * np.log1p(-mode)


@program(normal(28, 3), normal(29, 3, scale=0.3), normal(30, 12))
def random_effects_with_groups(effects, log_spread, y):
    group = np.array([0, 0, 1, 2, 2, 2, 1, 0, 1, 2, 0, 1])
    sigma = np.exp(log_spread)[group]
    total = np.bincount(group, weights=(y - effects[group]) ** 2 / sigma**2)
    counts = np.bincount(group)
    shrunk = effects * counts / (counts + np.exp(-2 * log_spread))
    return -0.5 * total - counts * log_spread, shrunk
