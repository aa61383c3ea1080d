"""How log lines look: for people on a terminal, as JSON for machines.  Both go to standard error."""

from __future__ import annotations

import logging
import sys
from typing import Any

import msgspec
import structlog

from muster.app.settings import LogFormat, LogLevel


def configure(*, form: LogFormat = "text", level: LogLevel = "info") -> None:
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    factory: Any
    if form == "json":
        shared += [structlog.processors.EventRenamer("message"), structlog.processors.JSONRenderer(serializer=_json)]
        factory = structlog.BytesLoggerFactory(file=sys.stderr.buffer)
    else:
        shared += [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0, sort_keys=False)]
        factory = structlog.PrintLoggerFactory(file=sys.stderr)
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=factory,
        cache_logger_on_first_use=False,
    )


def _json(line: Any, **_: Any) -> bytes:
    return msgspec.json.encode(line, enc_hook=str)
