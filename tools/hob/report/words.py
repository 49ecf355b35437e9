"""Numbers as a person would say them."""

import math

# Share of the time that waiting for computing targets takes before ghosts are advised.
WORTH_ADVISING = 0.02
# A saving that is as long as the run, or longer, is given as a factor: 3 times faster.
MUCH_FASTER = 2.0
# Savings, and their causes.
SAVED_BY = {
    "cached gets": ("waiting", "gets that the cache answered"),
    "batches": ("communication", "small operations that went out together"),
    "message matching": ("searching long queues", "messages that Hob matched"),
    "overlap": ("waiting", "messages that moved while the program computed"),
}


def number(value):
    """Three digits that count, and never an exponent: 1093.7 -> '1,090', 0.00012345 -> '0.000123'."""
    if not value:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(value)))
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def brief(text, most=54):
    """For a title: the beginning, where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quantity(value):
    """1234567 -> '1.23 million'."""
    for unit, scale in (("billion", 1e9), ("million", 1e6)):
        if abs(value) >= scale:
            return f"{number(value / scale)} {unit}"
    if isinstance(value, float) and abs(value) < 1000:
        return number(value)
    return f"{value:,.0f}"


def counted(counts):
    """{'puts': 30, 'gets': 5} -> '30 puts and 5 gets'."""
    return " and ".join(f"{quantity(count)} {name}" for name, count in counts.items())


def size(value):
    """1536 -> '1.5 KiB'."""
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= scale:
            return f"{number(value / scale)} {unit}"
    return f"{value:.0f} B"


def seconds(value):
    if value is None:
        return "unknown"
    if value >= 7200:
        return f"{value / 3600:,.0f} h"
    if value >= 120:
        return f"{number(value / 60)} min"
    return f"{number(value)} s" if value >= 0.9995 else f"{number(value * 1e3)} ms"


# As src/report/saved.cpp has it.
CLOSE, NOTHING, MORE = 1.5, 0.1, 1.5


def saved_amount(saved):
    """'about 148 ms', '310 to 620 ms', 'up to 2 ms', 'at least 3 ms' of a Saved."""
    if saved.most < saved.usual:
        return f"at least {seconds(saved.usual)}"
    if saved.most <= CLOSE * saved.least or saved.most <= 0:
        return f"about {seconds(saved.usual)}"
    if saved.least < NOTHING * saved.most:
        return f"up to {seconds(saved.most)}"
    low, high = seconds(saved.least), seconds(saved.most)
    unit = low.rpartition(" ")[2]
    return f"{low.rpartition(' ')[0] if high.endswith(' ' + unit) else low} to {high}"


def whom(saved):
    """Whom a saving is given for: "each rank", or, where ranks differ, "the average rank"."""
    most = max(saved.by_rank, default=0)
    return "the average rank" if most > MORE * saved.usual else "each rank"


def saved_on_each(saved):
    """'about 148 ms on each rank', 'about 148 ms on the average rank (296 ms on rank 0)'."""
    amount, each = saved_amount(saved), whom(saved)
    text = f"{amount} on {each}"
    # Beside a range, one number for one rank reads as if it contradicted it.
    if each != "each rank" and amount.startswith(("about", "at least")):
        most = max(saved.by_rank)
        text += f" ({seconds(most)} on rank {saved.by_rank.index(most)})"
    return text


def share(part, whole):
    """As per cent; the ends only where they are exact."""
    if not whole:
        return "0%"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "less than 0.1%"
    if 99.9 < percent < 100:
        return "more than 99.9%"
    return f"{number(percent)}%"
