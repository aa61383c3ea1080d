"""Prints the tables of docs/architecture.md and docs/dialects.md anew: `make docs`."""

from tests.docs import dialects, printed

for module in (printed, dialects):
    module.PAGE.write_text(module.reprinted(module.PAGE.read_text()))
