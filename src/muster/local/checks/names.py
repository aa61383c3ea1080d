"""Which names Kubernetes takes, and what it says of others.

Kubernetes checks names of objects with older functions that speak of "characters", and fields that declare their format
with newer ones that speak of "bytes"; both count bytes.  `label_problems` and `subdomain_problems` are the older,
`short_name_problems` and `long_name_problems` the newer ones.
"""

from __future__ import annotations

import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_CONDITION_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")

LONGEST_LABEL = 63
LONGEST_SUBDOMAIN = 253
LONGEST_PORT_NAME = 15


def regex_words(words: str, pattern: str, *examples: str) -> str:
    """What is said of a value that does not match, with the pattern and some that would."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} ({f'e.g. {shown}' if shown else ''}regex used for validation is '{pattern}')"


_LABEL_WORDS = regex_words(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character",
    _LABEL.pattern,
    "my-name",
    "123-abc",
)
_LABEL_1035_WORDS = regex_words(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _LABEL_1035.pattern,
    "my-name",
    "abc-123",
)
_SUBDOMAIN_WORDS = regex_words(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character",
    _SUBDOMAIN.pattern,
    "example.com",
)
_QUALIFIED_WORDS = regex_words(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED.pattern,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE_WORDS = regex_words(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    f"({_QUALIFIED.pattern})?",
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY_WORDS = regex_words(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY.pattern,
    "key.name",
    "KEY_NAME",
    "key-name",
)

_CONDITION_REASON_WORDS = regex_words(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _CONDITION_REASON.pattern,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)


def label_problems(name: str, is_prefix: bool = False) -> list[str]:
    """Of a DNS label, up to 63 characters."""
    return _label_problems(_masked(name) if is_prefix else name, "characters")


def subdomain_problems(name: str, is_prefix: bool = False) -> list[str]:
    """Of a DNS subdomain, up to 253 characters: what most kinds are named by."""
    return _subdomain_problems(_masked(name) if is_prefix else name, "characters")


def dns1035_label_problems(name: str, is_prefix: bool = False) -> list[str]:
    """Of a DNS label that begins with a letter."""
    name = _masked(name) if is_prefix else name
    problems = _too_long(name, LONGEST_LABEL, "characters")
    return problems if _LABEL_1035.fullmatch(name) else [*problems, _LABEL_1035_WORDS]


def short_name_problems(name: str) -> list[str]:
    """Of a field whose declared format is k8s-short-name."""
    return _label_problems(name, "bytes")


def long_name_problems(name: str) -> list[str]:
    """Of a field whose declared format is k8s-long-name."""
    return _subdomain_problems(name, "bytes")


def path_segment_problems(name: str, is_prefix: bool = False) -> list[str]:
    """Of what may stand in a path, and no more."""
    if not is_prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{mark}'" for mark in ("/", "%") if mark in name]


def qualified_problems(key: str) -> list[str]:
    """Of the key of a label or annotation: an optional prefix and a name."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        tail = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_QUALIFIED_WORDS} {tail}"]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in long_name_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _too_long(name, LONGEST_LABEL, "bytes")]
    if not _QUALIFIED.fullmatch(name):
        problems.append(f"name part {_QUALIFIED_WORDS}")
    return problems


def label_value_problems(value: str) -> list[str]:
    problems = _too_long(value, LONGEST_LABEL, "bytes")
    if value and not _QUALIFIED.fullmatch(value):
        problems.append(_VALUE_WORDS)
    return problems


def config_key_problems(key: str) -> list[str]:
    """Of a key in a ConfigMap or Secret."""
    problems = _too_long(key, LONGEST_SUBDOMAIN, "characters")
    if not _CONFIG_KEY.fullmatch(key):
        problems.append(_CONFIG_KEY_WORDS)
    if key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def port_name_problems(name: str) -> list[str]:
    """Of a port's name, as IANA names services."""
    is_fine = _PORT_NAME.fullmatch(name) and "--" not in name and len(name) <= LONGEST_PORT_NAME
    return (
        [] if is_fine else [f"must be at most {LONGEST_PORT_NAME} of a-z, 0-9 and single hyphens, one of them a letter"]
    )


def condition_reason_problems(reason: str) -> list[str]:
    return [] if _CONDITION_REASON.fullmatch(reason) else [_CONDITION_REASON_WORDS]


def http_path_problems(path: str) -> list[str]:
    return [] if _HTTP_PATH.fullmatch(path) else [regex_words("Invalid path", _HTTP_PATH.pattern)]


def _label_problems(name: str, unit: str) -> list[str]:
    problems = _too_long(name, LONGEST_LABEL, unit)
    if not _LABEL.fullmatch(name):
        problems.append("must not contain dots" if _SUBDOMAIN.fullmatch(name) else _LABEL_WORDS)
    return problems


def _subdomain_problems(name: str, unit: str) -> list[str]:
    problems = _too_long(name, LONGEST_SUBDOMAIN, unit)
    return problems if _SUBDOMAIN.fullmatch(name) else [*problems, _SUBDOMAIN_WORDS]


def _too_long(name: str, longest: int, unit: str) -> list[str]:
    return [f"must be no more than {longest} {unit}"] if len(name.encode()) > longest else []


def _masked(prefix: str) -> str:
    # a suffix will follow a last dash; Kubernetes forgives the character before it too
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
