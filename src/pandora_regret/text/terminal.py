"""Text on a terminal: how wide it is, in lines that fit, and without what would command the terminal."""

from unicodedata import combining, east_asian_width


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else combining(letter) == 0 for letter in text)


def without_controls(text: str) -> str:
    """The text without characters that command a terminal, which a file's names may hold; ends of lines stay."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\u00a0" else f"\\x{ord(letter):02x}" for letter in text
    )


def wrapped(text: str, width: int) -> list[str]:
    """Text as lines no wider than that, broken between words where it can be.

    Examples
    --------
    >>> wrapped("what a test costs", 9)
    ['what a', 'test', 'costs']
    """
    lines = [""]
    for word in without_controls(text).replace("\n", " ").split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(longer) <= width:
            lines[-1] = longer
            continue
        lines += [""] if lines[-1] else []
        for letter in word:  # of a word that may be longer than a line
            if lines[-1] and cell_width(lines[-1] + letter) > width:
                lines.append("")
            lines[-1] += letter
    return lines
