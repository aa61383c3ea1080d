"""JSON that is nested more deeply than our decoder goes: whoever may write an object must not blind who watches it."""

from __future__ import annotations

import re

# deeper than any field we read, and far below the thousand levels at which the decoder gives up
_MOST = 200
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]')


def shallow(document: bytes) -> bytes:
    """The document with null in the place of everything that is nested too deeply."""
    kept: list[bytes] = []
    depth = begin = end = 0
    for token in _TOKEN.finditer(document):
        sign = token[0]
        if sign in b"[{":
            depth += 1
            if depth == _MOST + 1:
                begin = token.start()
        elif sign in b"]}":
            depth -= 1
            if depth == _MOST:
                kept += (document[end:begin], b"null")
                end = token.end()
    return b"".join((*kept, document[end:]))
