"""Text on a terminal: how wide it is, in lines that fit, and without what would command the terminal."""

from unicodedata import combining, east_asian_width


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else combining(letter) == 0 for letter in text)


def without_controls(text: str) -> str:
    """The text without characters that command a terminal, which a file's names may hold; ends of lines stay."""
    return "".join(each if each.isprintable() or each in "\n\u00a0" else f"\\x{ord(each):02x}" for each in text)


def wrapped(text: str, width: int) -> list[str]:
    """Text as lines no wider than that, broken between words where it can be.

    Examples
    --------
    >>> wrapped("what a test costs", 9)
    ['what a', 'test', 'costs']
    """
    lines, line = [], ""
    for word in without_controls(text).replace("\n", " ").split(" "):
        while cell_width(word) > width:  # longer than a line
            head = next(n for n in range(len(word), 0, -1) if cell_width(word[:n]) <= width or n == 1)
            lines += [line] if line else []
            line, word = word[:head], word[head:]
        if line and cell_width(line) + 1 + cell_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
