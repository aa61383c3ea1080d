"""Prints the tables of docs/architecture.md anew: `make docs`."""

from tests.docs.printed import PAGE, reprinted

PAGE.write_text(reprinted(PAGE.read_text()))
