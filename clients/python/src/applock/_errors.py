"""The errors of applock. What the driver raises passes through unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._answers import Answer


class ApplockError(Exception):
    """The base of all errors of applock. ``sqlstate`` is empty where the database has none for it."""

    sqlstate: ClassVar[str] = ""


class InvalidArgument(ApplockError, ValueError):
    """A mistake of the caller: the same call fails again. ``argument`` names it where the library has found it itself."""

    sqlstate = "LK001"

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class Lost(ApplockError):
    """The asserted grant, or the lease, has ended: the caller may not be alone."""

    sqlstate = "LK002"


class Contention(ApplockError):
    """The object changed hands too often during the call, which has done nothing: call again."""

    sqlstate = "LK003"


class WrongVersion(ApplockError):
    """The database and this package do not fit together. The message says which one is older, and what to do."""


class Held(ApplockError):
    """A lease was refused because somebody else has the lock: ``answer.holder``, for ``answer.seconds_left`` seconds."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer

    def __str__(self) -> str:
        return f"held by {self.answer.holder} for {self.answer.seconds_left} s"


# No such routine, schema, table or procedure, as PostgreSQL, and MySQL and MariaDB, say it.
MISSING = {"42883", "3F000", "42P01", 1305, 1146}


def codes(error: BaseException) -> set[Any]:
    """What the drivers have of SQLSTATE and error number."""
    first = error.args[0] if error.args and isinstance(error.args[0], int) else None  # PyMySQL
    return {getattr(error, name, None) for name in ("sqlstate", "pgcode", "errno")} | {first}


def own_error(error: BaseException) -> ApplockError | None:
    """Return applock's own error for one of a driver, and None if it is nothing of applock's."""
    found = codes(error)
    for kind in InvalidArgument, Lost, Contention:
        if kind.sqlstate in found:
            return kind(str(error))
    if found & MISSING:
        return WrongVersion(
            f"{error}: the database has no procedures of applock, or older ones: run `applockctl migrate up`, or name their schema")
    return None


def is_busy(error: BaseException) -> bool:
    """Tell whether a call has done nothing because others were in its way, so that it may be made again."""
    return bool(codes(error) & {"LK003", "40001", "40P01", "55P03", 1020, 1205, 1213})


def has_done_nothing(error: BaseException) -> bool:
    """Tell whether the server has refused a call: syntax, rights, arguments, read only. After any other error it may have been done."""
    states = {code[:2] for code in codes(error) if isinstance(code, str)}
    return isinstance(error, ApplockError) or is_busy(error) or bool(states & {"0A", "22", "25", "28", "3F", "42"})
