"""The script: every chapter in its order.  Each works in namespaces of its own."""

from __future__ import annotations

from tests.control_plane.comparison import (
    applying,
    applying_custom,
    bad_input,
    creating,
    custom_kinds,
    custom_rules,
    custom_versions,
    deleting,
    documents,
    every_kind,
    everyday,
    listing,
    patching,
    scheduling,
    watching,
)

SCRIPT = (
    *documents.STEPS,
    *every_kind.STEPS,
    *bad_input.STEPS,
    *creating.STEPS,
    *listing.STEPS,
    *patching.STEPS,
    *applying.STEPS,
    *applying_custom.STEPS,
    *watching.STEPS,
    *scheduling.STEPS,
    *deleting.STEPS,
    *everyday.STEPS,
    *custom_kinds.STEPS,
    *custom_rules.STEPS,
    *custom_versions.STEPS,
)
