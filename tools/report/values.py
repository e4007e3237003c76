"""Numbers as people read them."""

import math

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
RATES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def digits(value, count=3):
    """A decimal number with this many digits; without an exponent if that is short."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{count}g}"
    places = max(0, count - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text and abs(value) < 1 else text


def time(seconds):
    if seconds == 0:
        return "0 s"
    for unit, name in TIMES:
        if abs(seconds) >= unit or unit == TIMES[-1][0]:
            return f"{digits(seconds / unit)} {name}"


def clipped(share):
    """A share as the benchmark's own table shows it: what a measurement found below 0 is 0."""
    return min(1.0, max(0.0, share))


def share(value):
    return f"{100 * value:.1f} %"


def rate(value):
    for unit, name in RATES:
        if abs(value) >= unit or unit == 1.0:
            return f"{digits(value / unit)} {name}/s".replace("  ", " ")


def ratio(value):
    return f"{digits(value)} ×"


def number(value):
    return f"{int(value):,}" if float(value).is_integer() and abs(value) < 1e15 else digits(value, 4)


def size(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{int(count) // unit} {name}"
    return f"{number(count)} B"


def shown(kind, value):
    return {"share": share, "time": time, "rate": rate, "ratio": ratio}.get(kind, number)(value)


def plural(count, word):
    return f"{count} {word}{'' if str(count) == '1' else 's'}"


def first_up(text):
    return text[:1].upper() + text[1:]


def span(kind, numbers):
    """The range of the numbers; one number if they look alike."""
    low, high = shown(kind, min(numbers)), shown(kind, max(numbers))
    return low if low == high else f"{low} to {high}"
