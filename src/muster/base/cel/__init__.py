"""CEL, the expression language of Kubernetes' rules and device selectors.

    types.Type     what a variable is            compile_expression("self.a < self.b", {"self": ...})  → Program
    data.typed     JSON as values of a type      program.evaluate({"self": ...}, Budget(1_000_000))    → a value

Compiled once, evaluated often; no evaluation takes more steps than its budget.  Words are upstream's.

    syntax     tokens, and the tree of an expression
    types      the types, and what fits where
    values     what types Python does not have, and equality
    functions  functions and operators, and the names of those that are missing
    program    checks a tree, and makes functions of it
    running    what those do
    data       values from JSON

It is written here, since the packages that there are cannot be told the types of an object's fields, so that they take
rules that Kubernetes refuses, and do not count steps.
"""

from muster.base.cel.data import typed
from muster.base.cel.program import Program, compile_expression
from muster.base.cel.values import Budget

__all__ = ["Budget", "Program", "compile_expression", "typed"]
