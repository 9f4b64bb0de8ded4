"""Options, bonds, portfolios, volatility; growth, trade, choice, inequality."""

from __future__ import annotations

import numpy as np
from field_programs import normal, program, uniform


def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    poly = np.polyval([1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153, 0.0], t)
    tail = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1 - tail, tail)


@program(100.0, 0.25, 0.03, 0.8)
def black_scholes_smile(spot, vol, rate, expiry):
    strikes = np.array([80.0, 95.0, 107.0, 130.0])
    sd = vol * np.sqrt(expiry)
    d1 = (np.log(spot / strikes) + (rate + vol**2 / 2) * expiry) / sd
    call = spot * normal_cdf(d1) - strikes * np.exp(-rate * expiry) * normal_cdf(d1 - sd)
    return call, call - spot + strikes * np.exp(-rate * expiry)


@program(100.0, 0.3, 0.05)
def american_put_on_a_binomial_tree(spot, vol, rate):
    n, strike, dt = 8, 103.0, 1 / 8
    up = np.exp(vol * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    prices = spot * up ** np.arange(-n, n + 1, 2)
    value = np.maximum(strike - prices, 0.0)
    for step in range(n, 0, -1):
        prices = prices[:-1] * up
        value = np.exp(-rate * dt) * (p * value[1:] + (1 - p) * value[:-1])
        value = np.maximum(value, strike - prices)
        assert len(value) == step
    return value[0]


@program(100.0, 0.2, 0.01)
def asian_option_with_fixed_draws(spot, vol, rate):
    z = np.random.default_rng(7).standard_normal((40, 6))
    z = np.vstack([z, -z])
    growth = (rate - vol**2 / 2) / 6 + vol * np.sqrt(1 / 6) * z
    paths = spot * np.exp(np.cumsum(growth, axis=1))
    payoff = np.maximum(paths.mean(axis=1) - 99.0, 0)
    control = np.exp(np.log(paths).mean(1)) - spot
    beta = np.cov(payoff, control)[0, 1] / control.var(ddof=1)
    return np.exp(-rate) * (payoff - beta * control).mean()


@program({"v0": 0.04, "kappa": 1.5, "theta": 0.05, "xi": 0.4, "rho": -0.6})
def heston_paths(p):
    rng = np.random.default_rng(11)
    log_s, v = np.zeros(20), np.full(20, 1.0) * p["v0"]
    for _ in range(6):
        z1, z2 = rng.normal(size=(2, 20))
        z2 = p["rho"] * z1 + np.sqrt(1 - p["rho"] ** 2) * z2
        positive = np.maximum(v, 1e-4)
        log_s = log_s - positive / 12 + np.sqrt(positive / 6) * z1
        v = v + p["kappa"] * (p["theta"] - positive) / 6 + p["xi"] * np.sqrt(positive / 6) * z2
    return np.mean(np.maximum(np.exp(log_s) - 0.97, 0)), np.mean(v)


@program(97.3, 0.04)
def bond_yield_duration_convexity(price, coupon):
    t = np.arange(1, 11) / 2
    cash = np.full_like(t, 50.0) * coupon
    cash = cash + np.where(t == t[-1], 100.0, 0.0)
    y = 0.05 + 0 * price
    for _ in range(8):
        discounted = cash * np.exp(-y * t)
        y += (discounted.sum() - price) / (t @ discounted)
    weights = discounted / discounted.sum()
    return y, weights @ t, weights @ t**2


@program(np.array([0.04, -0.02, 0.01]), 1.8)
def nelson_siegel_curve(beta, tau):
    maturities = np.array([0.25, 1, 2, 5, 10, 30])
    x = maturities / tau
    slope = -np.expm1(-x) / x
    loadings = np.column_stack([np.ones_like(x), slope, slope - np.exp(-x)])
    yields = loadings @ beta
    prices = np.exp(-yields * maturities)
    return yields, -np.diff(np.log(prices)) / np.ediff1d(maturities)


@program(normal(1, 20, 4, scale=0.05), np.array([0.05, 0.07, 0.03, 0.06]), 0.055)
def markowitz_frontier(returns, expected, target):
    cov = np.cov(returns.T) + 1e-3 * np.eye(4)
    ones = np.ones(4)
    lagrangian = np.zeros((6, 6), like=returns)
    lagrangian[:4, :4] = 2 * cov
    for row, constraint in ((4, ones), (5, expected)):
        lagrangian[row, :4] = lagrangian[:4, row] = constraint
    right = np.concatenate([np.zeros(4), np.ones(1), np.atleast_1d(target)])
    w = np.linalg.solve(lagrangian, right)[:4]
    return w, np.sqrt(w @ cov @ w)


@program(normal(2, 14), np.array([0.1, 0.15, 0.7]))
def garch_likelihood(returns, parameters):
    omega, alpha, beta = parameters
    variance = np.empty_like(returns)
    variance[0] = returns.var()
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return 0.5 * np.sum(np.log(variance) + returns**2 / variance), np.sqrt(variance[-1])


@program(normal(3, 15, scale=0.02))
def drawdown_and_expected_shortfall(returns):
    wealth = np.cumprod(1 + returns)
    peak = np.maximum.accumulate(wealth)
    drawdown = 1 - wealth / peak
    ordered = np.sort(returns)
    sharpe = returns.mean() / returns.std() * np.sqrt(252)
    return drawdown.max(), -ordered[:3].mean(), sharpe


@program(normal(4, 12, 3, scale=0.1), np.array([0.2, 0.5, 0.3]))
def entropic_and_spectral_risk(scenarios, weights):
    loss = -scenarios @ weights
    entropic = np.log(np.mean(np.exp(3 * loss))) / 3
    ranks = (np.arange(12) + 0.5) / 12
    spectrum = np.exp(4 * ranks)
    ordered = loss[np.argsort(loss, kind="stable")]
    return entropic, np.average(ordered, weights=spectrum), np.quantile(loss, 0.93)


@program(0.3, 0.96, 0.1)
def ramsey_growth_by_time_iteration(alpha, beta, depreciation):
    steady = (alpha / (1 / beta - 1 + depreciation)) ** (1 / (1 - alpha))
    grid = np.array([0.71, 0.84, 0.97, 1.12, 1.29])
    share = 0.7 * np.ones_like(grid)
    for _ in range(15):
        k = grid * steady
        resources = k**alpha + (1 - depreciation) * k
        consumption = share * resources
        following = resources - consumption
        ahead = np.interp(following / steady, grid, consumption)
        gross = alpha * following ** (alpha - 1) + 1 - depreciation
        share = 0.7 * share + 0.3 * ahead / (beta * gross) / resources
    return share, steady


@program(normal(5, 4, 2), 0.8)
def discounted_choice_by_soft_value_iteration(rewards, discount):
    moves = np.array([[1, 0], [2, 0], [3, 1], [3, 2]])
    v = np.zeros_like(rewards[:, 0])
    for _ in range(30):
        q = rewards + discount * v[moves]
        v = np.logaddexp(q[:, 0], q[:, 1])
    policy = np.exp(q - v[:, None])
    return v, policy[:, 0]


@program(uniform(6, 3, 3, high=0.25), uniform(7, 3, low=1, high=3))
def leontief_prices_and_output(technology, demand):
    leontief_inverse = np.linalg.inv(np.eye(3) - technology)
    output = leontief_inverse @ demand
    value_added = 1 - technology.sum(axis=0)
    emissions = np.array([0.3, 1.2, 0.7])
    return output, emissions @ leontief_inverse, np.dot(value_added**2, output)


@program(np.array([0.5, -0.2, 0.3]), np.array([-1.5, 0.6]))
def random_coefficients_demand(quality, taste):
    nodes = np.random.default_rng(5).normal(size=(25, 1))
    prices = np.array([1.0, 1.4, 0.8])
    utility = quality + (taste[0] + taste[1] * nodes) * prices
    exponent = np.exp(utility)
    shares = exponent / (1 + exponent.sum(axis=1, keepdims=True))
    slope = (taste[0] + taste[1] * nodes[:, :1]) * shares
    own = np.mean(slope * (1 - shares), axis=0)
    return shares.mean(0), own * prices / shares.mean(axis=0)


@program(uniform(8, 9, low=1, high=10), 0.7)
def gini_lorenz_atkinson(incomes, aversion):
    ordered = np.sort(incomes)
    n = len(ordered)
    lorenz = np.insert(np.cumsum(ordered) / ordered.sum(), 0, 0.0)
    gini = 1 - 2 * np.trapezoid(lorenz, dx=1 / n)
    atkinson = 1 - np.mean(incomes ** (1 - aversion)) ** (1 / (1 - aversion)) / incomes.mean()
    return gini, atkinson, lorenz[::3]


@program(np.array([0.3, 0.6, 0.45]), uniform(9, 3, 2, low=0.5, high=2))
def exchange_equilibrium_by_newton(taste, endowment):
    price = 1.0
    for _ in range(12):
        income = price * endowment[:, 0] + endowment[:, 1]
        excess = np.sum(taste * income / price - endowment[:, 0])
        slope = -np.sum(taste * endowment[:, 1]) / price**2
        price = price - excess / slope
    income = price * endowment[:, 0] + endowment[:, 1]
    welfare = np.prod((taste * income / price) ** taste)
    return price, welfare


@program(np.array([0.6, 0.2]), np.array([[0.5, 0.1], [-0.2, 0.4]]), np.array([1.0, 0.4, 0.8]))
def impulse_responses_of_an_autoregression(constant, coefficients, shocks):
    root = np.zeros_like(shocks, shape=(2, 2))
    root[np.tril_indices(2)] = shocks
    responses = [root]
    for _ in range(4):
        responses.append(coefficients @ responses[-1])
    stacked = np.array(responses, like=root)
    shares = np.cumsum(stacked**2, axis=0)
    shares = shares / shares.sum(axis=2, keepdims=True)
    return shares[-1, :, 0], np.linalg.solve(np.eye(2) - coefficients, constant), stacked[-1]
