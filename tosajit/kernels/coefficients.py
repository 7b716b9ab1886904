"""The numbers of the transcendental functions.

A tuple holds the coefficients of a fitted polynomial, highest power first. `tools/fit_functions.py` says for
which function, on which interval and with what error, and fits it again. The other numbers are rounded
constants. Those called `…_HIGH` and `…_LOW` are one number in two parts (Cody and Waite): a multiple of it
is subtracted in two steps, so that little is lost.
"""

LOG2_E = 1.44269504
LN_2 = 0.693147182
LN_2_SMALL = 8.26295832e-08
"""ln 2 · 2**-23: what exponents that are left in their place are multiplied by."""
TWO_LN_2 = 1.38629436
HALF_LOG2_E = 0.72134752
TWO_OVER_PI = 0.63661977
HALF_PI_HIGH, HALF_PI_LOW = 1.5707963, 7.54979e-08
TWO_OVER_ROOT_PI = 1.12837917

ROUNDER = 12582912
"""1.5 · 2**23: a sum with it has the nearest integer in its last bits."""
BIASED_ROUNDER = 12583039
"""The same with the bias of float32's exponents, 127."""
SMALLEST_NORMAL = 1.17549435e-38
TWO_23 = 8388608
TIMES_23 = 192937984
"""23 · 2**23."""
EXPONENT_BITS = -8388608
"""The sign and the exponent of a float32."""
ROOT_HALF_BITS = 0x3F3504F3
"""√½ as the bits of a float32."""

EXP_LEAST, EXP_MOST = -150, 130
"""Beyond them the exponential is 0 and infinity."""
HALF_MOST = 30
"""Beyond it the exponential is more than half precision holds, and that of its negative less."""
SIGMOID_LEAST, SIGMOID_MOST = -89, 88
"""Beyond them the exponential of the negative is infinity, and nothing beside one."""
TANH_MOST, TANH_SHORT_MOST = 8.25, 5
ERF_MOST, ERF_SHORT_MOST = 4, 3
"""From there on functions have the last value of their quotient or polynomial, which rounds to 1."""
ANGLE_MOST = 4e6
"""The magnitude from which on an angle has no precise place in a turn."""

EXP = (2.15853324e-05, 2.61522189e-04, 2.60427431e-03, 2.08331514e-02, 1.24999985e-01)
EXP_FIFTH = (0.0083125256, 0.041890114, 0.16667114, 0.49999231)
EXP_SHORT = (0.166627824, 0.50394856)
EXP_ROOT = (0.020828478, 0.12598714)
LOG = (0.08734841, -0.14307521, 0.14917974, -0.16570508, 0.19962072, -0.25001755, 0.3333395, -0.49999992)
LOG_SHORT = (0.178407, -0.26991427, 0.33570707, -0.49953592)
TANH_OVER = (-5.650877e-09, 6.903448e-06, 0.002663974, 0.12681599)
TANH_UNDER = (0.00019245196, 0.022715425, 0.46014804)
TANH_SHORT_OVER = (0.0006676299, 0.1020229, 0.9999085)
TANH_SHORT_UNDER = (0.012747114, 0.4348719)
ERF = (7.85385771e-05, -8.01019252e-04, 5.18832756e-03, -2.68538119e-02, 1.12835851e-01, -3.76126258e-01)
ERF_REST = (
    1.49848230e-04,
    -2.46972079e-03,
    1.29258229e-02,
    -0.0113734781,
    -0.0614264359,
    -0.14506054,
    1.0008347,
)
ERF_SHORT_OVER = (-0.00042610962, 0.0223068, 0.22516239, 1.1282626)
ERF_SHORT_UNDER = (0.10088108, 0.53126556)
SIN = (2.72493997e-06, -1.98400828e-04, 8.33333187e-03, -1.66666667e-01)
COS = (-2.77408626e-07, 2.48045306e-05, -1.38888959e-03, 4.16666667e-02)
SIN_SHORT = (0.008159873, -0.16663256)
COS_SHORT = (0.040433813, -0.49975055)
