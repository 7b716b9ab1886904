"""The standard operators of NNEF by family: each module here is imported, and declares what it lowers."""

from tosajit.frontends.frame import Declarations

DECLARATIONS = Declarations(__name__)
operator = DECLARATIONS.operator
refuse = DECLARATIONS.refuse

NUMBERS = "real int"
ALL = "real int bool"
