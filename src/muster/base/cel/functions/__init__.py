"""The functions and operators of CEL, as Kubernetes offers them in rules.

What upstream has beyond these is named in MISSING: an expression that uses it may be right.
"""

from muster.base.cel.functions import addresses, conversions, kubernetes, lists, operators, texts
from muster.base.cel.functions.define import EXTENSIONS, FUNCTIONS, MISSING, Overload

__all__ = ["EXTENSIONS", "FUNCTIONS", "MISSING", "Overload"]
__all__ += ["addresses", "conversions", "kubernetes", "lists", "operators", "texts"]
