"""`scipy.constants` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from typing import Any
from scipy.constants import ConstantWarning as ConstantWarning
from scipy.constants import codata as codata
from scipy.constants import constants as constants

Avogadro: Any
Boltzmann: Any
Btu: Any
Btu_IT: Any
Btu_th: Any
G: Any
Julian_year: Any
N_A: Any
Planck: Any
R: Any
Rydberg: Any
Stefan_Boltzmann: Any
Wien: Any
acre: Any
alpha: Any
angstrom: Any
arcmin: Any
arcminute: Any
arcsec: Any
arcsecond: Any
astronomical_unit: Any
atm: Any
atmosphere: Any
atomic_mass: Any
atto: Any
au: Any
bar: Any
barrel: Any
bbl: Any
blob: Any
c: Any
calorie: Any
calorie_IT: Any
calorie_th: Any
carat: Any
centi: Any
def convert_temperature(val: Any, old_scale: Any, new_scale: Any) -> Any: ...
day: Any
deci: Any
degree: Any
degree_Fahrenheit: Any
deka: Any
dyn: Any
dyne: Any
e: Any
eV: Any
electron_mass: Any
electron_volt: Any
elementary_charge: Any
epsilon_0: Any
erg: Any
exa: Any
exbi: Any
femto: Any
fermi: Any
def find(sub: Any = None, disp: bool = False) -> Any: ...
fine_structure: Any
fluid_ounce: Any
fluid_ounce_US: Any
fluid_ounce_imp: Any
foot: Any
g: Any
gallon: Any
gallon_US: Any
gallon_imp: Any
gas_constant: Any
gibi: Any
giga: Any
golden: Any
golden_ratio: Any
grain: Any
gram: Any
gravitational_constant: Any
h: Any
hbar: Any
hectare: Any
hecto: Any
horsepower: Any
hour: Any
hp: Any
inch: Any
k: Any
kgf: Any
kibi: Any
kilo: Any
kilogram_force: Any
kmh: Any
knot: Any
def lambda2nu(lambda_: Any) -> Any: ...
lb: Any
lbf: Any
light_year: Any
liter: Any
litre: Any
long_ton: Any
m_e: Any
m_n: Any
m_p: Any
m_u: Any
mach: Any
mebi: Any
mega: Any
metric_ton: Any
micro: Any
micron: Any
mil: Any
mile: Any
milli: Any
minute: Any
mmHg: Any
mph: Any
mu_0: Any
nano: Any
nautical_mile: Any
neutron_mass: Any
def nu2lambda(nu: Any) -> Any: ...
ounce: Any
oz: Any
parsec: Any
pebi: Any
peta: Any
physical_constants: Any
pi: Any
pico: Any
point: Any
pound: Any
pound_force: Any
def precision(key: Any) -> Any: ...
proton_mass: Any
psi: Any
pt: Any
quecto: Any
quetta: Any
ronna: Any
ronto: Any
short_ton: Any
sigma: Any
slinch: Any
slug: Any
speed_of_light: Any
speed_of_sound: Any
stone: Any
survey_foot: Any
survey_mile: Any
tebi: Any
tera: Any
ton_TNT: Any
torr: Any
troy_ounce: Any
troy_pound: Any
u: Any
def unit(key: Any) -> Any: ...
def value(key: Any) -> Any: ...
week: Any
yard: Any
year: Any
yobi: Any
yocto: Any
yotta: Any
zebi: Any
zepto: Any
zero_Celsius: Any
zetta: Any
