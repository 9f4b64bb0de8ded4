"""Functions that a drawn program may call, as text that stands above it."""

from __future__ import annotations

# Functions that a program may call, as they stand above it.
HELPERS = {
    "helper": """def helper(a, b):
    c = np.sin(a) * b
    return c + np.cos(c)
""",
    "doubled": """@tapegrad.custom_vjp
def doubled(a):
    return 2.0 * np.sin(a)


doubled.defvjp(lambda a: (2.0 * np.sin(a), a), lambda a, g: (2.0 * np.cos(a) * g,))
""",
    "steep": """@tapegrad.custom_jvp
def steep(a, b):
    return a * a * b


@steep.defjvp
def steep_jvp(primals, tangents):
    (a, b), (a_dot, b_dot) = primals, tangents
    return a * a * b, 2.0 * a * b * a_dot + a * a * b_dot
""",
    "cube": """@tapegrad.primitive
def cube(a):
    return a * a * a


tapegrad.elementwise(cube, lambda _, a: 3.0 * a**2)
""",
}
