"""How figures are printed."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np


def machine() -> str:
    """The machine, in one line."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass  # not Linux
    python = ".".join(map(str, sys.version_info[:3]))
    return f"machine: {model}, {os.cpu_count()} cores; Python {python}, numpy {np.__version__}"


def line(shape: str, *figures: str) -> None:
    print(f"  {shape:<58} {'   '.join(figures)}", flush=True)


def title(text: str) -> None:
    print(f"\n{text}", flush=True)
