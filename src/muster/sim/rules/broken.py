"""What a rule raises that does not hold."""

from __future__ import annotations


class BrokenRuleError(AssertionError):
    """A rule that does not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
