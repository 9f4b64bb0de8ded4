"""Writes docs/adopted-packages.md: `python docs/adopted_packages.py`; with names it tries those.

Each function below uses one public package as its documentation does, and gives a function of
real parameters with the point to try. A package that is not installed is left out. A row is right
where the adopted package gives the plain one's value to the last bit, and its gradient agrees with
differences of the plain package.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy  # noqa: ICN001 - np is tapegrad's

import tapegrad
import tapegrad.numpy as np
from tapegrad._compile.background import BUILDER

F = Callable[[Any], Any]


class Case(NamedTuple):
    """A package by its name on PyPI, what is adopted, and what makes a function of parameters."""

    package: str
    adopted: tuple[str, ...]
    about: str
    make: Callable[[], tuple[F, Any]]


CASES: list[Case] = []


def case(package: str, *adopted: str) -> Callable[[Callable[[], Any]], None]:
    def put(make: Callable[[], Any]) -> None:
        about = (make.__doc__ or "").strip()
        CASES.append(Case(package, adopted or (package,), about, make))

    return put


# -- statistics, machine learning -----------------------------------------------------------------


@case("statsmodels")
def _():
    """log-likelihood of a negative binomial regression"""
    from statsmodels.discrete.discrete_model import NegativeBinomial

    draw = numpy.random.default_rng(0)
    X = numpy.column_stack([numpy.ones(30), draw.normal(size=30)])
    model = NegativeBinomial(draw.poisson(2.0, 30), X)
    return model.loglike, numpy.array([0.5, 0.2, 0.3])


@case("scikit-learn", "sklearn")
def _():
    """log marginal likelihood of a Gaussian process by its kernel's parameters"""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    draw = numpy.random.default_rng(0)
    X = draw.normal(size=(12, 2))
    model = GaussianProcessRegressor(1.0 * RBF(1.0) + WhiteKernel(0.1), optimizer=None)
    model.fit(X, numpy.sin(X[:, 0]))
    return model.log_marginal_likelihood, numpy.array([0.1, 0.3, -1.5])


@case("lifelines")
def _():
    """log-likelihood of a Weibull fit by its parameters"""
    from lifelines import WeibullFitter

    times = numpy.array([1.0, 2.5, 3.1, 4.7])
    fitter = WeibullFitter()
    return (
        lambda p: np.sum(fitter._log_hazard(p, times) - fitter._cumulative_hazard(p, times)),
        numpy.array([3.0, 1.4]),
    )


@case("arch")
def _():
    """log-likelihood of an AR(1) model with GARCH(1, 1) errors"""
    from arch import arch_model
    from arch.univariate.recursions_python import garch_recursion

    returns = numpy.random.default_rng(0).normal(size=60)
    model = arch_model(returns, mean="AR", lags=1)
    regressors = numpy.column_stack([numpy.ones(59), returns[:-1]])
    bounds = numpy.tile([1e-6, 1e6], (59, 1))

    def f(p):
        resids = model.resids(p[:2], returns[1:], regressors)
        sigma2, signs = np.zeros(59), np.sign(resids)
        garch_recursion(p[2:], resids**2, signs, sigma2, 1, 0, 1, 59, 1.0, bounds)
        return model.distribution.loglikelihood([], resids, sigma2)

    return f, numpy.array([0.1, 0.2, 0.05, 0.1, 0.8])


@case("pykalman")
def _():
    """log-likelihood by transition matrix and noise"""
    from pykalman import KalmanFilter

    data = numpy.cumsum(numpy.random.default_rng(0).normal(size=15))

    def f(p):
        model = KalmanFilter(
            transition_matrices=np.array([[1.0, p[0]], [0.0, 1.0]]),
            observation_matrices=np.array([[1.0, 0.0]]),
            transition_covariance=p[1] * np.eye(2),
            observation_covariance=np.array([[p[2]]]),
        )
        return model.loglikelihood(data)

    return f, numpy.array([0.1, 0.5, 0.3])


@case("simdkalman")
def _():
    """log-likelihood by the two noises"""
    from simdkalman import KalmanFilter

    data = numpy.cumsum(numpy.random.default_rng(0).normal(size=(1, 15)), axis=1)

    def f(p):
        model = KalmanFilter(
            np.array([[1.0, 1.0], [0.0, 1.0]]),
            np.diag(np.array([p[0], p[1]])),
            np.array([[1.0, 0.0]]),
            p[2],
        )
        return model.compute(data, 0, log_likelihood=True).log_likelihood.sum()

    return f, numpy.array([0.1, 0.2, 0.5])


@case("filterpy")
def _():
    """log-likelihood of a Kalman filter by the noises"""
    from filterpy.common import Q_discrete_white_noise
    from filterpy.kalman import KalmanFilter

    data = numpy.cumsum(numpy.random.default_rng(0).normal(size=20))

    def f(p):
        model = KalmanFilter(dim_x=2, dim_z=1)
        model.x, model.H = np.array([[0.0], [0.0]]), np.array([[1.0, 0.0]])
        model.F = np.array([[1.0, 0.1], [0.0, 1.0]])
        model.P *= 10.0
        model.R *= p[0]
        model.Q = Q_discrete_white_noise(2, 0.1, p[1])
        total = 0.0
        for z in data:
            model.predict()
            model.update(z)
            total = total + model.log_likelihood
        return total

    return f, numpy.array([0.5, 0.3])


@case("pyhf")
def _():
    """log-likelihood of a histogram with an uncorrelated background"""
    from pyhf import simplemodels

    model = simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 12.0])
    data = [53.0, 65.0, *model.config.auxdata]
    return lambda p: model.logpdf(p, data)[0], numpy.array([1.1, 1.02, 0.97])


@case("lmfit")
def _():
    """Voigt, Pearson VII and skewed Gaussian lines"""
    from lmfit import lineshapes

    x = numpy.linspace(-3, 3, 41)

    def f(p):
        lines = lineshapes.voigt(x, *p) ** 2 + lineshapes.pearson7(x, *p)
        return np.sum(lines + lineshapes.skewed_gaussian(x, *p))

    return f, numpy.array([1.2, 0.1, 0.7, 0.6])


@case("antropy")
def _():
    """Hjorth mobility and complexity of a signal"""
    import antropy

    t = numpy.linspace(0, 3, 100)
    return (
        lambda p: sum(antropy.hjorth_params(np.sin(p[0] * t) + p[1] * np.cos(5 * t))),
        numpy.array([2.0, 0.3]),
    )


@case("peakutils")
def _():
    """centroid of a peak after its baseline was taken off"""
    import peakutils

    x = numpy.linspace(0, 10, 60)

    def f(p):
        y = peakutils.peak.gaussian(x, p[0], p[1], p[2]) + 0.1 * x
        return peakutils.centroid(x, y - peakutils.baseline(y, 2))

    return f, numpy.array([3.0, 5.0, 0.8])


@case("gstools")
def _():
    """variogram of a Matern model by variance, length scale and nugget"""
    import gstools

    lags = numpy.linspace(0.1, 3, 10)
    return (
        lambda p: np.sum(
            gstools.Matern(dim=2, var=p[0], len_scale=p[1], nugget=p[2], nu=1.5).variogram(lags)
        ),
        numpy.array([1.3, 0.8, 0.1]),
    )


# -- astronomy, orbits, geodesy -------------------------------------------------------------------


@case("sgp4")
def _():
    """position and velocity of a satellite by four of its elements"""
    from sgp4.model import WGS72, Satrec

    def f(p):
        sat = Satrec()
        rest = (5.7904160274885, 0.0472294454407, 6.0858854693)
        sat.sgp4init(WGS72, "i", 5, 18441.785, p[0], 6.969196665e-13, 0.0, p[1], p[2], p[3], *rest)
        _error, r, v = sat.sgp4_tsince(30.0)
        return r[0] + 2 * r[1] + 3 * v[2]

    return f, numpy.array([2.8098e-05, 0.1859667, 3.1415, 0.5980929])


@case("skyfield")
def _():
    """propagation of a Kepler orbit"""
    from skyfield.keplerlib import propagate

    def f(p):
        r, v = propagate(p[:3], p[3:], numpy.float64(0.0), numpy.array([12.5]), 2.9591220828e-4)
        return r[0, 0] + 2 * r[1, 0] + 30 * v[2, 0]

    return f, numpy.array([1.0, 0.1, 0.2, 0.001, 0.017, 0.002])


@case("galpy")
def _():
    """force of the Milky Way at a point"""
    from galpy.potential import MiyamotoNagaiPotential, NFWPotential

    def f(p):
        disk = MiyamotoNagaiPotential(a=p[0], b=0.0375, normalize=0.6)
        halo = NFWPotential(a=p[1], normalize=0.35)
        return disk.Rforce(p[2], p[3]) + halo.zforce(p[2], p[3])

    return f, numpy.array([0.5, 2.0, 1.1, 0.2])


@case("astropy")
def _():
    """comoving distance in a flat universe"""
    from astropy.cosmology import FlatLambdaCDM

    return (
        lambda p: FlatLambdaCDM(H0=p[0], Om0=p[1]).comoving_distance(p[2]).value,
        numpy.array([70.0, 0.3, 1.2]),
    )


@case("pymap3d")
def _():
    """azimuth, elevation and range; distance along the ellipsoid"""
    import pymap3d
    from pymap3d.vincenty import vdist

    def f(p):
        az, el, r = pymap3d.geodetic2aer(p[0], p[1], p[2], 42.0, -82.0, 200.0)
        return az + el + r / 1e3 + vdist(p[0], p[1], 10.0, 20.0)[0] / 1e6

    return f, numpy.array([42.1, -81.9, 1000.0])


@case("geographiclib")
def _():
    """inverse and direct geodesic problem"""
    from geographiclib.geodesic import Geodesic

    def f(p):
        ahead = Geodesic.WGS84.Direct(p[0], p[1], 40.0, 2e6)
        return Geodesic.WGS84.Inverse(p[0], p[1], p[2], p[3])["s12"] / 1e6 + ahead["lat2"]

    return f, numpy.array([40.6, -73.8, 51.6, -0.5])


@case("haversine")
def _():
    """distance of two points, and the point ahead"""
    from haversine import haversine, inverse_haversine

    def f(p):
        lat, lon = inverse_haversine((p[0], p[1]), 500.0, p[2])
        return haversine((p[0], p[1]), (48.9, 2.4)) / 100 + lat - lon

    return f, numpy.array([45.8, 4.8, 0.7])


@case("astral")
def _():
    """elevation of the sun by latitude and longitude"""
    import datetime as dt

    from astral import Observer
    from astral.sun import elevation

    when = dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC)
    return lambda p: elevation(Observer(p[0], p[1], 0.0), when), numpy.array([48.0, 11.0])


# -- robotics, control ----------------------------------------------------------------------------


@case("pyquaternion")
def _():
    """rotation of a vector, interpolated"""
    from pyquaternion import Quaternion

    def f(p):
        a = Quaternion(axis=[1.0, 0.0, 0.0], angle=p[0])
        b = Quaternion(axis=[0.0, 1.0, 1.0], angle=p[1])
        return Quaternion.slerp(a, b, 0.3).rotate(np.array([1.0, 2.0, p[2]]))[1]

    return f, numpy.array([0.4, 1.1, 3.0])


@case("transforms3d")
def _():
    """Euler angles through a matrix and a quaternion"""
    from transforms3d import euler, quaternions

    def f(p):
        q = quaternions.mat2quat(euler.euler2mat(*p, "syxz"))
        return q[0] + 2 * q[1] + euler.euler2axangle(*p)[1]

    return f, numpy.array([0.3, -0.5, 0.9])


@case("spatialmath-python", "spatialmath")
def _():
    """a chain of motions applied to a point"""
    from spatialmath import SE3

    def f(p):
        motion = SE3.Rx(p[0]) * SE3.Trans(p[1], 0.2, 0.3) * SE3.RPY([0.1, p[2], 0.3])
        return np.sum(motion.t**2)

    return f, numpy.array([0.3, 1.5, 0.4])


@case("control")
def _():
    """gain of a system in state space"""
    import control

    def f(p):
        A = np.array([[0.0, 1.0], [-p[0], -p[1]]])
        return np.abs(control.ss(A, [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]])(1.5j))

    return f, numpy.array([2.0, 0.3])


@case("quantecon")
def _():
    """value of a linear quadratic control problem"""
    import quantecon

    def f(p):
        lq = quantecon.LQ(
            Q=np.array([[p[0]]]), R=np.array([[0.0, 0.0], [0.0, 1.0]]),
            A=np.array([[1.0, 0.0], [p[1], 0.9]]), B=np.array([[0.0], [1.0]]), C=None, T=5,
            beta=0.95, Rf=np.eye(2),
        )  # fmt: skip
        for _ in range(5):
            lq.update_values()
        return np.sum(lq.P)

    return f, numpy.array([1.3, 0.4])


# -- optics, colour, acoustics, microwaves --------------------------------------------------------


@case("tmm")
def _():
    """reflection of a thin film by thicknesses and angle"""
    from tmm import coh_tmm

    layers = [1.0, 2.2 + 0.01j, 1.5, 1.0]
    return (
        lambda p: coh_tmm("s", layers, [numpy.inf, p[0], p[1], numpy.inf], p[2], 550.0)["R"],
        numpy.array([100.0, 300.0, 0.3]),
    )


@case("miepython")
def _():
    """scattering efficiencies of a sphere by index and size"""
    import miepython

    def f(p):
        ext, sca, _back, g = miepython.efficiencies_mx(p[0] - 1j * p[1], p[2])
        return ext + 2 * sca + g

    return f, numpy.array([1.5, 0.1, 2.5])


@case("prysm")
def _():
    """a wavefront of Zernike polynomials, propagated to its point spread function"""
    from prysm.coordinates import cart_to_polar, make_xy_grid
    from prysm.geometry import circle
    from prysm.polynomials import zernike_nm
    from prysm.propagation import Wavefront

    x, y = make_xy_grid(24, diameter=2)
    r, t = cart_to_polar(x, y)
    pupil = circle(1, r)

    def f(p):
        phase = p[0] * zernike_nm(2, 0, r, t) + p[1] * zernike_nm(3, 1, r, t)
        wave = Wavefront.from_amp_and_phase(pupil, phase, 0.6, x[0, 1] - x[0, 0])
        return np.max(wave.focus(efl=10.0, Q=2).intensity.data) / 1e3

    return f, numpy.array([60.0, 40.0])


@case("colour-science", "colour")
def _():
    """difference CIE 2000 of two colours, one from a spectrum's tristimulus values"""
    import colour

    def f(p):
        return colour.delta_E(colour.XYZ_to_Lab(p), numpy.array([50.0, 10.0, 20.0]))

    return f, numpy.array([0.21, 0.12, 0.05])


@case("scikit-rf", "skrf")
def _():
    """reflection of a coaxial line with a load"""
    from skrf import Frequency
    from skrf.media import DefinedGammaZ0

    frequency = Frequency(1, 2, 3, "GHz")

    def f(p):
        media = DefinedGammaZ0(frequency, z0=p[0], gamma=0.1 + 20j)
        return np.sum(np.abs((media.line(p[1], "m") ** media.load(0.3)).s) ** 2)

    return f, numpy.array([50.0, 0.03])


@case("impedance")
def _():
    """spectrum of an equivalent circuit of a battery"""
    from impedance.models.circuits import CustomCircuit

    start = [0.01, 0.005, 0.1, 0.8]
    circuit = CustomCircuit("R0-p(R1,CPE1)", initial_guess=start)
    frequencies = numpy.logspace(-1, 3, 8)

    def f(p):
        circuit.parameters_ = p
        return np.sum(np.abs(circuit.predict(frequencies)))

    return f, numpy.array(start)


# -- chemistry, materials, thermodynamics ---------------------------------------------------------


@case("chemicals", "chemicals", "fluids")
def _():
    """vapour pressure, surface tension and the density of water"""
    import chemicals

    def f(p):
        T = p[0]
        low = chemicals.Antoine(T, 8.95894, 510.595, -15.95) / 1e5
        tension = chemicals.Zuo_Stenby(T, 190.56, 4599000.0, 0.012) * 50
        return low + tension + chemicals.iapws95_rho(T + 250.0, 1e5) / 1e3

    return f, numpy.array([120.0])


@case("thermo", "thermo", "chemicals", "fluids")
def _():
    """molar volume and departure enthalpy of the Peng-Robinson equation of state"""
    from thermo import PR

    def f(p):
        state = PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=p[0], P=p[1])
        return state.V_l * 1e4 + state.H_dep_l / 1e4

    return f, numpy.array([299.0, 1e6])


@case("ht", "ht", "fluids")
def _():
    """heat transfer in a pipe, and the effectiveness of a heat exchanger"""
    import ht

    def f(p):
        pipe = ht.conv_internal.Nu_conv_internal(Re=p[0], Pr=p[1], eD=1e-4)
        return pipe / 100 + ht.effectiveness_from_NTU(p[2], 0.6, subtype="counterflow")

    return f, numpy.array([1e5, 1.2, 1.7])


@case("fluids")
def _():
    """friction factor and pressure drop in a pipe"""
    import fluids

    def f(p):
        friction = fluids.friction_factor(Re=p[0], eD=p[1])
        return friction * 100 + fluids.K_from_f(friction, L=100.0, D=p[2]) / 10

    return f, numpy.array([1e5, 1e-4, 0.3])


@case("iapws")
def _():
    """enthalpy and volume of water by temperature and pressure"""
    from iapws import IAPWS97

    def f(p):
        water = IAPWS97(T=p[0], P=p[1])
        return water.h / 100 + water.v * 1000

    return f, numpy.array([350.0, 1.2])


@case("pyXSteam")
def _():
    """enthalpy and density of steam by pressure and temperature"""
    from pyXSteam.XSteam import XSteam

    table = XSteam(XSteam.UNIT_SYSTEM_MKS)
    return lambda p: table.h_pt(p[0], p[1]) / 100 + table.rho_pt(p[0], p[1]), numpy.array(
        [2.0, 250.0]
    )


@case("ase")
def _():
    """energy of four argon atoms by their positions"""
    from ase import Atoms
    from ase.calculators.lj import LennardJones

    x = numpy.array([[0, 0, 0], [1.1, 0, 0.1], [0, 1.2, 0], [0, 0.1, 1.15]])

    def f(p):
        atoms = Atoms("Ar4", positions=x)
        atoms.set_positions(p.reshape(4, 3))
        atoms.calc = LennardJones(rc=10.0)
        return atoms.get_potential_energy()

    return f, x.ravel()


@case("periodictable")
def _():
    """scattering length density for neutrons by density and wavelength"""
    import periodictable

    def f(p):
        sld = periodictable.neutron_sld("SiO2", density=p[0], wavelength=p[1])
        return sld[0] + 1e4 * sld[1] + sld[2]

    return f, numpy.array([2.2, 4.75])


@case("refnx")
def _():
    """reflectivity of neutrons from a film"""
    from refnx.reflect import SLD, ReflectModel, use_reflect_backend

    use_reflect_backend("python").__enter__()  # not the one in C
    q = numpy.linspace(0.02, 0.1, 5)

    def f(p):
        stack = SLD(0.0) | SLD(p[0])(p[1], 3.0) | SLD(2.07)(0, 3.0)
        return np.sum(np.log(ReflectModel(stack, bkg=1e-7)(q)))

    return f, numpy.array([3.47, 120.0])


# -- weather, energy, sea -------------------------------------------------------------------------


@case("pvlib")
def _():
    """current of a solar module, and diffuse light"""
    from pvlib import irradiance, pvsystem

    def f(p):
        diode = pvsystem.calcparams_desoto(
            p[0], p[1], alpha_sc=0.004, a_ref=1.6, I_L_ref=6.0, I_o_ref=1e-9, R_sh_ref=300.0,
            R_s=0.35,
        )  # fmt: skip
        light = irradiance.haydavies(30.0, 180.0, p[2], 300.0, 1200.0, 50.0, 170.0)
        return pvsystem.i_from_v(25.0, *diode, method="newton") + light

    return f, numpy.array([900.0, 45.0, 120.0])


@case("psychrolib")
def _():
    """wet bulb temperature and enthalpy of moist air"""
    import psychrolib

    psychrolib.SetUnitSystem(psychrolib.SI)

    def f(p):
        humidity = psychrolib.GetHumRatioFromRelHum(p[0], p[1], p[2])
        dew = psychrolib.GetTDewPointFromRelHum(p[0], p[1])
        return psychrolib.GetMoistAirEnthalpy(p[0], humidity) / 1e4 + dew

    return f, numpy.array([25.0, 0.6, 101325.0])


@case("ambiance")
def _():
    """density and speed of sound in the standard atmosphere"""
    from ambiance import Atmosphere

    def f(p):
        air = Atmosphere(p)
        return np.sum(air.density * air.speed_of_sound)

    return f, numpy.array([500.0, 12000.0])


@case("seawater")
def _():
    """density and speed of sound of sea water"""
    import seawater

    return (
        lambda p: seawater.dens(p[0], p[1], p[2]) + seawater.svel(p[0], p[1], p[2]),
        numpy.array([35.0, 10.0, 1000.0]),
    )


# -- finance --------------------------------------------------------------------------------------


@case("numpy-financial", "numpy_financial")
def _():
    """net present value, payment, and internal rate of return"""
    import numpy_financial as npf

    def f(p):
        flows = np.array([-100.0, p[1], 40.0, 60.0])
        return npf.npv(p[0], flows) + npf.pmt(p[0], 12, 1000.0) + 100 * npf.irr(flows)

    return f, numpy.array([0.05, 39.0])


@case("mibian")
def _():
    """price and delta of an option (Black-Scholes)"""
    import mibian

    def f(p):
        option = mibian.BS([p[0], p[1], 1.5, 30], volatility=p[2])
        return option.callPrice + option.putDelta

    return f, numpy.array([1.45, 1.4, 20.0])


@case("vollib", "vollib", "py_lets_be_rational", "lets_be_rational", "cody_special")
def _():
    """price and vega of an option"""
    from vollib.black_scholes import black_scholes
    from vollib.black_scholes.greeks.analytical import vega

    return (
        lambda p: (
            black_scholes("c", p[0], 100.0, 0.5, 0.01, p[1])
            + vega("c", p[0], 100.0, 0.5, 0.01, p[1])
        ),
        numpy.array([101.0, 0.2]),
    )


# -- finite elements, structures ------------------------------------------------------------------


@case("calfem-python", "calfem")
def _():
    """deflection of a frame of two beams"""
    import calfem.core as cfc

    edof = numpy.array([[1, 2, 3, 4, 5, 6], [4, 5, 6, 7, 8, 9]])

    def f(p):
        K, load = np.zeros((9, 9)), np.zeros((9, 1))
        load[4] = -1000.0
        for row, (x0, x1) in zip(edof, ((0.0, p[2]), (p[2], 4.0)), strict=True):
            element = cfc.beam2e([x0, x1], [0.0, 0.5], [p[0] * 1e9, 0.01, p[1] * 1e-4])
            K = cfc.assem(row, K, element)
        a, _ = cfc.solveq(K, load, numpy.array([1, 2, 3, 7, 8]))
        return a[4, 0] * 1e3

    return f, numpy.array([200.0, 0.8, 2.2])


@case("scikit-fem", "skfem")
def _():
    """energy of a membrane by stiffness and load"""
    import skfem
    from skfem.helpers import dot, grad

    mesh = skfem.MeshTri().refined(2)
    basis = skfem.Basis(mesh, skfem.ElementTriP1())

    def f(p):
        stiffness = skfem.BilinearForm(lambda u, v, _: p[0] * dot(grad(u), grad(v)) + p[1] * u * v)
        load = skfem.LinearForm(lambda v, w: p[2] * w.x[0] * v)
        A, b = stiffness.assemble(basis), load.assemble(basis)
        u = skfem.solve(*skfem.condense(A, b, D=mesh.boundary_nodes()))
        return b @ u

    return f, numpy.array([1.3, 0.4, 2.0])


@case("anastruct")
def _():
    """deflection of a truss by stiffness and load"""
    from anastruct import SystemElements

    def f(p):
        frame = SystemElements()
        frame.add_element([[0, 0], [3, 4]], EA=p[0], EI=p[1])
        frame.add_element([[3, 4], [8, 4]], EA=p[0], EI=p[1])
        frame.add_support_fixed(1)
        frame.add_support_hinged(3)
        frame.q_load(q=p[2], element_id=2)
        frame.solve()
        return frame.get_node_displacements(2)["uy"] * 1e3

    return f, numpy.array([15000.0, 5000.0, -10.0])


@case("PyNiteFEA", "Pynite")
def _():
    """deflection of a beam by its modulus and load"""
    from Pynite import FEModel3D

    def f(p):
        model = FEModel3D()
        model.add_node("A", 0, 0, 0)
        model.add_node("B", 14.0, 0, 0)
        model.add_material("steel", p[0], 11200.0, 0.3, 0.000284)
        model.add_section("S", 20.0, 100.0, 150.0, 250.0)
        model.add_member("M", "A", "B", "steel", "S")
        model.def_support("A", True, True, True, True, True, True)
        model.add_node_load("B", "FY", p[1])
        model.analyze()
        return model.nodes["B"].DY["Combo 1"] * 1e3

    return f, numpy.array([29000.0, -20.0])


@case("bayesian-optimization", "bayes_opt")
def _():
    """expected improvement of a maximum by mean and standard deviation"""
    from bayes_opt.acquisition import ExpectedImprovement

    chosen = ExpectedImprovement(xi=0.01)
    chosen.y_max = 1.0
    return lambda p: chosen.base_acq(p[0], p[1]), numpy.array([0.8, 0.4])


@case("gsw")
def _():
    """density of sea water (TEOS-10)"""
    import gsw

    return lambda p: gsw.rho(p[0], p[1], p[2]), numpy.array([35.0, 10.0, 1000.0])


@case("PyAstronomy")
def _():
    """position on a Kepler orbit"""
    from PyAstronomy.pyasl import KeplerEllipse

    def f(p):
        x, y, z = KeplerEllipse(p[0], p[1], e=p[2], Omega=10.0, i=30.0, w=20.0).xyzPos(1.3)
        return x + 2 * y + 3 * z

    return f, numpy.array([1.1, 4.0, 0.3])


@case("boinor")
def _():
    """propagation of an orbit"""
    from boinor.core.propagation.farnocchia import farnocchia_rv

    def f(p):
        r, v = farnocchia_rv(398600.4, p[:3], p[3:], 1200.0)
        return np.sum(r) / 1e3 + np.sum(v)

    return f, numpy.array([7000.0, 100.0, 2000.0, 0.5, 7.2, 1.0])


@case("copulas")
def _():
    """log-density of a Clayton copula"""
    from copulas.bivariate import Clayton

    def f(p):
        copula = Clayton()
        copula.theta = p[0]
        return np.sum(np.log(copula.probability_density(np.stack([p[1:3], p[3:]], axis=1))))

    return f, numpy.array([1.5, 0.3, 0.6, 0.4, 0.8])


@case("pyet")
def _():
    """evaporation after Penman and Monteith"""
    from pyet import meteo_utils

    def f(p):
        slope, gamma = meteo_utils.calc_vpc(p[0]), meteo_utils.calc_psy(p[1])
        return slope / (slope + gamma) * meteo_utils.calc_e0(p[0])

    return f, numpy.array([21.0, 100.0])


# -- the trial ------------------------------------------------------------------------------------


def differences(f: F, x: Any) -> Any:
    """Central differences of fourth order, each with the step whose neighbour agrees best."""
    out = numpy.zeros(x.size)
    for i in range(x.size):
        found = []
        for size in 10.0 ** numpy.arange(-2, -7, -1):
            e = numpy.zeros(x.size)
            e[i] = size * max(abs(x[i]), 1e-3)
            near, far = f(x + e) - f(x - e), f(x + 2 * e) - f(x - 2 * e)
            found.append((8 * near - far) / (12 * e[i]))
        gaps = numpy.abs(numpy.diff(found))
        out[i] = found[int(numpy.argmin(gaps)) + 1]
    return out


class Result(NamedTuple):
    """The result of a trial; seconds of the run, of its gradient, and of that as a program."""

    text: str  # "right", or why not
    vmap: str = ""
    plain: float = 0.0
    eager: float = 0.0
    compiled: float = 0.0


def agree(one: Any, other: Any) -> bool:
    one, other = numpy.asarray(one), numpy.asarray(other)
    close = numpy.abs(one - other) <= 2e-5 * numpy.abs(other) + 1e-7 * numpy.max(numpy.abs(other))
    return bool(numpy.all(close))


def try_case(case: Case) -> Result:
    """Differentiate the function of the adopted package and compare with the plain one's."""
    plain, x = case.make()
    value, reference = float(plain(x)), differences(lambda x: float(plain(x)), x)
    with tapegrad.adopt(*case.adopted):
        f, _ = case.make()
        adopted = float(f(x))
        seconds, _ = timed(lambda: f(x))
        try:
            eager, gradient = timed(lambda: tapegrad.grad(f)(x))
        except Exception as error:
            return Result(refused(error, REASONS.get(case.package)), plain=seconds)
        if not agree(gradient, reference):
            known = MISTAKES.get(case.package, f"{gradient}, not {reference}")
            return Result(f"WRONG gradient: {known}")
        if adopted != value:
            return Result(f"WRONG value: {adopted!r}, not {value!r}")
        compiled, text = program_of(f, x, gradient)
        notes = [note for note in ("right", forward(f, x, gradient), text) if note]
        return Result("; ".join(notes), mapped(f, x, gradient), seconds, eager, compiled)


def forward(f: F, x: Any, gradient: Any) -> str:
    tangent = numpy.linspace(1, 2, x.size) * numpy.maximum(numpy.abs(x), 1e-3)
    try:
        _, made = tapegrad.jvp(f, (x,), (tangent,))
    except Exception as error:
        return f"jvp {refused(error)}"
    expected = gradient @ tangent
    return "" if agree(made, expected) else f"WRONG jvp: {made}, not {expected}"


def program_of(f: F, x: Any, gradient: Any) -> tuple[float, str]:
    try:
        program = tapegrad.compile(tapegrad.grad(f))
        for _ in range(5):  # what changes from call to call is known then
            program(x)
        BUILDER.wait()
        for _ in range(10):  # and here whether machine code is faster
            program(x)
        seconds, made = timed(lambda: program(x))
    except Exception as error:
        return 0.0, f"compile {refused(error)}"
    return seconds, "" if agree(made, gradient) else f"WRONG compiled: {made}, not {gradient}"


def mapped(f: F, x: Any, gradient: Any) -> str:
    both = numpy.stack([x, x * 1.001])
    try:
        made = tapegrad.vmap(tapegrad.grad(f))(both)
    except Exception as error:
        return refused(error)
    expected = numpy.stack([gradient, tapegrad.grad(f)(both[1])])
    return "right" if agree(made, expected) else f"WRONG: {made}, not {expected}"


def refused(error: Exception, known: str | None = None) -> str:
    """The first words of an error."""
    if "-v" in sys.argv:
        traceback.print_exception(error)
    words = " ".join(str(error).split()).partition(";")[0]
    words = words.removeprefix("vmap(f): ").removeprefix("vmap(<lambda>): ")
    return f"refused: {known or f'{type(error).__name__}, {words[:140]}'}"


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of a few runs in seconds, and the result."""
    best, until = float("inf"), time.perf_counter() + 0.3
    while True:
        start = time.perf_counter()
        made = call()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() > until:
            return best, made


# Reasons of refusals whose errors do not say them.
REASONS = {
    "anastruct": "the moments of elements are computed in Cython",
    "astropy": "a Quantity is a subclass of ndarray",
    "gsw": "its functions are ufuncs in C",
    "impedance": "it writes the parameters into a text that it evaluates",
    "pykalman": "masked arrays meet traced ones",
}
# And behind a wrong derivative.
MISTAKES = {
    "skyfield": "it finds a root by bisection, whose steps have the derivatives of its bounds",
}

INTRODUCTION = """\
# Packages that were adopted

<!-- Written by docs/adopted_packages.py: change that, not this. -->

Public packages, installed and unchanged, whose functions are differentiated by `tapegrad.adopt`.
In each the first function that takes real parameters was tried. Right means: the value is that of
the plain package to the last bit; `grad`, `jvp` and a compiled gradient agree with differences of
the plain package. `python docs/adopted_packages.py` tries those that are installed.

The column vmap says whether `vmap(grad(f))` agrees with a loop; most packages branch on their
values, which a vmap refuses. The last two columns say how many runs of the function its gradient
costs, as it is and compiled, once machine code is there. Where the package uses numba the function
itself is what numba compiles, so that its gradient costs many runs.

"""
HEAD = """\
| Package | Version | Differentiated | Result | vmap | grad | compiled |
|---|---|---|---|---|---:|---:|
"""


def row(case: Case) -> str:
    try:
        result = try_case(case)
    except Exception as error:
        result = Result(refused(error).replace("refused", "FAILS"))
    ratios = [
        f"{seconds / result.plain:.2g}" if seconds else ""
        for seconds in (result.eager, result.compiled)
    ]
    version = importlib.metadata.version(case.package)
    cells = (case.package, version, case.about, result.text, result.vmap, *ratios)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main(names: list[str]) -> None:
    """Print the rows of these packages, or write the page of all, each in a process of its own."""
    if names:
        warnings.simplefilter("ignore")
        for case in CASES:
            if case.package in names:
                print(row(case), flush=True)
        return
    rows = []
    for case in CASES:
        try:
            importlib.metadata.version(case.package)
        except importlib.metadata.PackageNotFoundError:
            print(f"{case.package}: not installed", file=sys.stderr)
            continue
        command = [sys.executable, __file__, case.package]
        made = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        rows += [line for line in made.stdout.splitlines() if line.startswith("| ")] or [
            f"| {case.package} | | {case.about} | FAILS | | | |"
        ]
        print(rows[-1], flush=True)
    right = sum("| right" in line and "WRONG" not in line for line in rows)
    page = Path(__file__).with_name("adopted-packages.md")
    text = f"{INTRODUCTION}{right} of {len(rows)} are right.\n\n{HEAD}" + "\n".join(rows) + "\n"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).resolve().parent))  # packages would find coverage.py there
    main([name for name in sys.argv[1:] if name != "-v"])
