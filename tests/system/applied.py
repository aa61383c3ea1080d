"""Server-side apply as it must come out for objects that are maps of plain values: who wants which field to be what.

Of each object, by manager, the fields that are its own.  An apply makes the fields that it names its manager's, and
drops those that the manager named before and nobody else wants; what somebody else wants otherwise is a conflict,
unless it is forced.  An edit takes over what it changes.
"""

import msgspec

_decode = msgspec.json.decode
PARTS = ("data", "spec")
"""Of an object, what is looked at."""


class Applied:
    """One object."""

    def __init__(self):
        self.owned = {}
        """By manager: values by path."""
        self._maps = set()
        """Ways to fields: who once had one in a map still has the map."""

    @classmethod
    def of(cls, stored):
        """An object as it says that it is, of which nobody knows what was done to it."""
        found, document = cls(), _decode(stored.data)
        held = _held(document)
        found._maps = {path[:end] for path in held for end in range(1, len(path))}
        for manager, paths in _noted(document).items():
            found.owned[manager] = {path: held[path] for path in paths if path in held}
        return found

    @property
    def fields(self):
        """What the object must hold."""
        return {path: value for wanted in self.owned.values() for path, value in wanted.items()}

    def conflicts(self, manager, config):
        """Who else wants something else."""
        return [
            other
            for other, wanted in self.owned.items()
            if other != manager and any(path in wanted and wanted[path] != value for path, value in config.items())
        ]

    def apply(self, manager, config):
        """The manager wants this, and nothing else any more."""
        self._take_over(manager, config)
        self.owned[manager] = dict(config)

    def edit(self, manager, path, value):
        """The manager changes one field; None takes it away.

        A merge patch that takes away what is not there makes the map in which it would be.
        """
        self._maps |= {path[:end] for end in range(1, len(path))}
        if self.fields.get(path) == value:
            return
        self._take_over(manager, {path: value})
        self.owned.setdefault(manager, {})[path] = value
        if value is None:
            del self.owned[manager][path]

    def _take_over(self, manager, config):
        self._maps |= {path[:end] for path in config for end in range(1, len(path))}
        for other, wanted in self.owned.items():
            if other != manager:
                kept = {path: value for path, value in wanted.items() if path not in config or config[path] == value}
                self.owned[other] = kept

    def difference(self, stored):
        """What of a stored object is not as it must be; "" if all of it is."""
        document = _decode(stored.data)
        held = _held(document)
        if held != self.fields:
            return f"{stored.name} holds {held}, and must hold {self.fields}"
        noted = {manager: paths - self._maps for manager, paths in _noted(document).items()}
        for manager in noted.keys() | self.owned.keys():
            wanted = set(self.owned.get(manager, ()))
            if noted.get(manager, set()) != wanted:
                return f"{stored.name} says that {manager} owns {noted.get(manager)}, and it owns {wanted}"
        return ""


def document(config):
    """The object that has these values."""
    made = {}
    for (*way, last), value in config.items():
        inner = made
        for name in way:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return made


def _held(document):
    return {path: value for part in PARTS for path, value in _leaves(document.get(part, {}), (part,))}


def _noted(document):
    """Whose the fields are, as the object says it: paths by manager."""
    noted = {}
    for entry in document["metadata"].get("managedFields", ()):
        fields = entry.get("fieldsV1", {})
        paths = {path for part in PARTS for path in _named(fields.get(f"f:{part}", {}), (part,))}
        noted.setdefault(entry["manager"], set()).update(paths)
    return noted


def _leaves(value, path):
    """What is null is a map that is left of somebody who owns nothing in it, as in Kubernetes."""
    if not isinstance(value, dict):
        if value is not None:
            yield path, value
        return
    for name, inner in value.items():
        yield from _leaves(inner, (*path, name))


def _named(fields, path):
    inner = {name: value for name, value in fields.items() if name != "."}
    if not inner and len(path) > 1:
        yield path
    for name, value in inner.items():
        yield from _named(value, (*path, name.removeprefix("f:")))
