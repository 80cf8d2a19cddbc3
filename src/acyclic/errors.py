"""The few errors that acyclic raises on purpose; each message says what was given, what is accepted and what to do."""

from collections.abc import Sequence


class AcyclicError(Exception):
    """Base of every error that the library raises on purpose."""


class InputError(AcyclicError, ValueError):
    """An argument, a table or a file cannot be used as it is."""


class KnowledgeError(InputError):
    """Statements of prior knowledge contradict each other or name unknown columns."""


class CycleError(InputError):
    """A graph that has to be acyclic is not.

    Attributes
    ----------
    cycle : tuple of str
        The names along one cycle, the first not repeated at the end.
    """

    def __init__(self, message: str, cycle: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.cycle = tuple(cycle)


class MissingExtraError(AcyclicError, ImportError):
    """A part of the library needs an optional package that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}; install it with: pip install 'acyclic[{extra}]'")
        self.extra = extra
