"""The operators of TFLite by family: each module here is imported, and declares what it lowers."""

from tosajit.frontends.frame import Declarations

DECLARATIONS = Declarations(__name__)
operator = DECLARATIONS.operator
refuse = DECLARATIONS.refuse
