"""Bessel, elliptic, hypergeometric and such functions in mpmath's terms, with ranges.

`CASES`: the ufunc and which of its results, the value as an expression of mpmath, and a range for
each argument; a range of two integers is one of whole numbers, by which no derivative is asked.
"""

from __future__ import annotations

import mpmath as mp


def fresnel_k(x):
    return mp.exp(-1j * x * x) * mp.erfc(mp.exp(-0.25j * mp.pi) * x) / 2


def wright(a, b, x):
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


def sh_jacobi(n, p, q, x):
    return mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n)


def scaled_ai(z):
    return mp.airyai(z) * mp.exp(2 * z ** mp.mpf(1.5) / 3)


def elliptic(name):
    return lambda u, m: mp.ellipfun(name, u, m=m)


ORDER, Z, SMALL = (-3.0, 20.0), (0.05, 60.0), (0.05, 10.0)
UNIT, INSIDE, DEGREE, SHIFTED = (0.05, 0.95), (-0.95, 0.95), (0.05, 6.0), (0.05, 0.95)
WHOLE, HIGH = (0, 6), (6.0, 60.0)

CASES = [
    ("jv", mp.besselj, ORDER, Z),
    ("yv", mp.bessely, ORDER, Z),
    ("iv", mp.besseli, (0.5, 20.0), (0.05, 20.0)),
    ("kv", mp.besselk, (0.5, 20.0), Z),
    ("ive", lambda v, z: mp.besseli(v, z) * mp.exp(-z), (0.5, 8.0), (0.05, 20.0)),
    ("kve", lambda v, z: mp.besselk(v, z) * mp.exp(z), (0.5, 20.0), Z),
    ("kn", mp.besselk, WHOLE, Z),
    ("yn", mp.bessely, WHOLE, Z),
    ("j0", lambda z: mp.besselj(0, z), Z),
    ("j1", lambda z: mp.besselj(1, z), Z),
    ("y0", lambda z: mp.bessely(0, z), Z),
    ("y1", lambda z: mp.bessely(1, z), Z),
    ("i0", lambda z: mp.besseli(0, z), Z),
    ("i1", lambda z: mp.besseli(1, z), Z),
    ("i0e", lambda z: mp.besseli(0, z) * mp.exp(-z), (0.05, 5000.0)),
    ("i1e", lambda z: mp.besseli(1, z) * mp.exp(-z), (0.05, 5000.0)),
    ("k0e", lambda z: mp.besselk(0, z) * mp.exp(z), (0.05, 5000.0)),
    ("k1e", lambda z: mp.besselk(1, z) * mp.exp(z), (0.05, 5000.0)),
    ("airy:0", mp.airyai, (-9.0, 9.0)),
    ("airy:3", lambda z: mp.airybi(z, derivative=1), (-9.0, 9.0)),
    ("airye:0", scaled_ai, (0.05, 3000.0)),
    ("ber", lambda x: mp.ber(0, x), SMALL),
    ("bei", lambda x: mp.bei(0, x), SMALL),
    ("ker", lambda x: mp.ker(0, x), SMALL),
    ("kei", lambda x: mp.kei(0, x), SMALL),
    ("struve", mp.struveh, (-0.9, 5.0), (0.1, 15.0)),
    ("modstruve", mp.struvel, (-0.9, 5.0), (0.1, 15.0)),
    ("ellipk", mp.ellipk, (-3.0, 0.98)),
    ("ellipe", mp.ellipe, (-3.0, 0.98)),
    ("ellipkm1", lambda p: mp.ellipk(1 - p), (0.001, 2.0)),
    ("ellipkinc", mp.ellipf, (-7.0, 7.0), (-2.0, 0.95)),
    ("ellipeinc", mp.ellipe, (-7.0, 7.0), (-2.0, 0.95)),
    ("ellipj:0", elliptic("sn"), (-5.0, 5.0), (0.02, 0.95)),
    ("ellipj:1", elliptic("cn"), (-5.0, 5.0), (0.02, 0.95)),
    ("ellipj:2", elliptic("dn"), (-5.0, 5.0), (0.02, 0.95)),
    ("elliprc", mp.elliprc, SMALL, SMALL),
    ("elliprd", mp.elliprd, SMALL, SMALL, SMALL),
    ("elliprf", mp.elliprf, SMALL, SMALL, SMALL),
    ("elliprg", mp.elliprg, SMALL, SMALL, SMALL),
    ("elliprj", mp.elliprj, SMALL, SMALL, SMALL, SMALL),
    ("exp1", mp.e1, (0.05, 30.0)),
    ("expi", mp.ei, (-20.0, 20.0)),
    ("expn", mp.expint, WHOLE, SMALL),
    ("sici:0", mp.si, (-20.0, 20.0)),
    ("sici:1", mp.ci, (0.05, 20.0)),
    ("shichi:0", mp.shi, (-20.0, 20.0)),
    ("shichi:1", mp.chi, (0.05, 20.0)),
    ("fresnel:0", mp.fresnels, (-4.0, 4.0)),
    ("fresnel:1", mp.fresnelc, (-4.0, 4.0)),
    ("modfresnelp:1", fresnel_k, (0.05, 50.0)),
    ("wrightomega", lambda x: mp.lambertw(mp.exp(x)).real, (-10.0, 20.0)),
    ("wright_bessel", wright, (0.1, 3.0), (0.1, 4.0), (0.1, 5.0)),
    ("hyp0f1", mp.hyp0f1, (0.2, 8.0), (-10.0, 10.0)),
    ("hyp1f1", mp.hyp1f1, (-3.0, 5.0), (0.2, 5.0), (-10.0, 10.0)),
    ("hyp2f1", mp.hyp2f1, (-3.0, 5.0), (-3.0, 5.0), (0.2, 6.0), (-3.0, 0.9)),
    ("hyp0f1", mp.hyp0f1, (50.0, 9e4), (-30.0, 60.0)),
    ("hyp0f1", mp.hyp0f1, (-999.9, -0.1), (-20.0, 20.0)),
    ("hyp1f1", mp.hyp1f1, (10.0, 3e3), (20.0, 9e4), (-20.0, 20.0)),
    ("hyp1f1", mp.hyp1f1, (0.5, 5.0), (200.0, 9e4), (-20.0, 20.0)),
    ("hyp2f1", mp.hyp2f1, (-5.0, 30.0), (0.5, 30.0), (40.0, 9e4), (-9.0, 0.9)),
    ("hyperu", mp.hyperu, (-2.0, 8.0), (-3.0, 6.0), (0.1, 20.0)),
    ("eval_legendre", mp.legendre, DEGREE, INSIDE),
    ("eval_chebyt", mp.chebyt, DEGREE, INSIDE),
    ("eval_chebyu", mp.chebyu, DEGREE, INSIDE),
    ("eval_chebyc", lambda n, x: 2 * mp.chebyt(n, x / 2), DEGREE, INSIDE),
    ("eval_chebys", lambda n, x: mp.chebyu(n, x / 2), DEGREE, INSIDE),
    ("eval_sh_legendre", lambda n, x: mp.legendre(n, 2 * x - 1), DEGREE, SHIFTED),
    ("eval_sh_chebyt", lambda n, x: mp.chebyt(n, 2 * x - 1), DEGREE, SHIFTED),
    ("eval_sh_chebyu", lambda n, x: mp.chebyu(n, 2 * x - 1), DEGREE, SHIFTED),
    ("eval_laguerre", lambda n, x: mp.laguerre(n, 0, x), DEGREE, SMALL),
    ("eval_genlaguerre", mp.laguerre, DEGREE, (-0.5, 4.0), (0.05, 5.0)),
    ("eval_genlaguerre", mp.laguerre, (0, 8), (-0.5, 4.0), (0.05, 5.0)),
    ("eval_gegenbauer", mp.gegenbauer, (0.5, 6.0), (0.5, 3.0), INSIDE),
    ("eval_jacobi", mp.jacobi, DEGREE, (-0.5, 3.0), (-0.5, 3.0), INSIDE),
    ("eval_jacobi", mp.jacobi, (0, 8), (-0.5, 3.0), (-0.5, 3.0), INSIDE),
    ("eval_sh_jacobi", sh_jacobi, (0.5, 5.0), (3.0, 5.0), (0.5, 2.0), SHIFTED),
    ("eval_legendre", mp.legendre, HIGH, INSIDE),
    ("eval_chebyt", mp.chebyt, HIGH, INSIDE),
    ("eval_chebys", lambda n, x: mp.chebyu(n, x / 2), HIGH, INSIDE),
    ("eval_laguerre", lambda n, x: mp.laguerre(n, 0, x), HIGH, SMALL),
    ("eval_gegenbauer", mp.gegenbauer, HIGH, (0.5, 3.0), INSIDE),
    ("eval_jacobi", mp.jacobi, HIGH, (-0.5, 3.0), (-0.5, 3.0), INSIDE),
    ("eval_hermite", mp.hermite, (0, 8), (-3.0, 3.0)),
    ("pbdv:0", mp.pcfd, (-3.0, 5.0), (-4.0, 4.0)),
    ("pbvv:0", lambda v, x: mp.pcfv(-v - mp.mpf(0.5), x), (-3.0, 4.0), (-3.0, 3.0)),
    ("pbwa:0", mp.pcfw, (-4.0, 4.0), (-4.0, 4.0)),
    ("lpmv", lambda m, v, x: mp.legenp(v, m, x), (0, 3), DEGREE, INSIDE),
]

__all__ = ["CASES"]
