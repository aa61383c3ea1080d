"""The one error tree.

    MusterError                      everything this project raises on purpose
    ├── QuantityError  (ValueError)  a resource quantity that Kubernetes would not read
    ├── SelectorError  (ValueError)  a selector that Kubernetes would not read
    ├── CelError  (ValueError)       an expression in CEL that is none, or has no value
    │   ├── CelUnsupported           one that may be right, and uses what we do not have
    │   └── CelCostError             one whose value takes more steps than it may
    ├── ObjectError                  a Kubernetes object that cannot be read
    ├── ScenarioError                a scenario file that cannot be used; says where
    ├── JournalError                 a journal that cannot be written or replayed
    ├── ConfigError                  a configuration that cannot be used
    ├── PluginError                  a plugin by users failed, or gave what is no answer
    ├── LocalError                   an embedded cluster that cannot be started or used
    └── KubeError                    a cluster that cannot be worked with
        ├── KubeconfigError          no usable address or credentials
        ├── Unreachable              the server gave no answer: refused, cut off, timed out
        ├── ApiError                 the server said no; `code` and `reason` tell what kind of no
        └── LeaseLost                another replica leads now, or nobody can tell

An exception means a bug, a broken wire or input that cannot be read.  "It does not fit" is a value.
"""

__all__ = [
    "ApiError",
    "CelCostError",
    "CelError",
    "CelUnsupported",
    "ConfigError",
    "JournalError",
    "KubeError",
    "KubeconfigError",
    "LeaseLost",
    "LocalError",
    "MusterError",
    "ObjectError",
    "PluginError",
    "QuantityError",
    "ScenarioError",
    "SelectorError",
    "Unreachable",
]

# A field may hold a whole document; a line for a person has room for this much of it.
_LONGEST_FIELD = 120


class MusterError(Exception):
    """A failure with a message, the fields that describe it and what to do next.

    `str(error)` is always one line: message, fields, hint.  Programs read `.fields`, never the line.
    """

    def __init__(self, message: str, *, hint: str | None = None, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields

    def __str__(self) -> str:
        line = self.message
        if self.fields:
            line += " (" + ", ".join(f"{name}={_show(value)}" for name, value in self.fields.items()) + ")"
        if self.hint:
            line += "; " + self.hint
        return " ".join(line.split())


class QuantityError(MusterError, ValueError):
    """A resource quantity that Kubernetes would not read."""


class SelectorError(MusterError, ValueError):
    """A selector that Kubernetes would not read.  Field `position` counts characters from 0."""


class CelError(MusterError, ValueError):
    """An expression in CEL that is none, or has no value.  `.message` is upstream's, which may have several lines."""


class CelUnsupported(CelError):
    """An expression that may be right, and uses what we do not have."""


class CelCostError(CelError):
    """An expression whose value takes more steps than it may."""


class ObjectError(MusterError):
    """A Kubernetes object that cannot be read."""


class ScenarioError(MusterError):
    """A scenario file that cannot be used.

    `where` is the place as a person would look it up ("burst.yaml:12", "events[3].nodes"); it leads the line,
    as with compilers.
    """

    # `where` has a default only because exceptions are copied and unpickled from their message alone.
    def __init__(self, message: str, *, where: str = "", hint: str | None = None, **fields: object) -> None:
        super().__init__(message, hint=hint, **fields)
        self.where = where

    def __str__(self) -> str:
        line = super().__str__()
        return f"{self.where}: {line}" if self.where else line


class JournalError(MusterError):
    """A journal that cannot be written or replayed."""


class ConfigError(MusterError):
    """A configuration that cannot be used."""


class PluginError(MusterError):
    """A plugin by users failed, or gave what is no answer; the message has its name, too."""

    # a default for the same reason
    def __init__(self, message: str, *, plugin: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.plugin = plugin


class LocalError(MusterError):
    """An embedded cluster that cannot be started or used."""


class KubeError(MusterError):
    """A cluster that cannot be worked with."""


class KubeconfigError(KubeError):
    """No usable address or credentials."""


class Unreachable(KubeError):
    """The server gave no answer.  What was asked may have been done all the same."""


class ApiError(KubeError):
    """The server said no.  `message` is its own, `reason` one of the API's fixed words, such as NotFound."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code, reason=reason)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""


class LeaseLost(KubeError):
    """Another replica leads now, or nobody can tell."""


def _show(value: object) -> str:
    """Strings quoted, so that blanks and line ends inside them can be seen; anything else as it prints."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_FIELD else text[:_LONGEST_FIELD] + "..."
