"""What can go wrong, as a user of the package sees it. The text of each says what to do next."""


class TonnageError(Exception):
    """Base of all errors of this package. ``exit_code`` is what the command line exits with."""

    exit_code = 1


def system_text(error: OSError) -> str:
    """What the system says of an error, and of which file."""
    return f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")


class RequestError(TonnageError):
    """The request was wrong: nothing was measured, nothing written."""

    exit_code = 2


class MeasurementError(TonnageError):
    """A measurement failed; its record says why."""


class RecordError(TonnageError):
    """A run directory that cannot be read, or whose files contradict each other."""
