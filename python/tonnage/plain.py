"""Text that may hold anything, such as a file's name, as one line that is safe to print."""


def one_line(text: str) -> str:
    """With escapes for line breaks, for what a terminal would obey, and for bytes that are no UTF-8."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def shown(text: str) -> str:
    """The same for a cell of a table: ``?`` for each."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
