"""Checks of untrusted input files, and the error for wrong ones."""

import math


class InputError(Exception):
    def __init__(self, path, reason):
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = str(path), reason


def is_number(value):
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer that no double holds
        return False


def text_of(value):
    return value if isinstance(value, str) else ""
