"""The errors of applock. What the driver raises passes through unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._answers import Answer


class ApplockError(Exception):
    """The base of all errors of applock. ``sqlstate`` is empty if the database has none."""

    sqlstate: ClassVar[str] = ""


class InvalidArgument(ApplockError, ValueError):
    """A mistake of the caller: the same call fails again. ``argument`` names the argument if the library found the mistake."""

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
    """The database and this package have different contracts. The message says which is older, and what to do."""


class Held(ApplockError):
    """A lease was refused because another holder has the object: ``answer.holder``, for ``answer.seconds_left`` seconds."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer

    def __str__(self) -> str:
        return f"held by {self.answer.holder} for {self.answer.seconds_left} s"


# The codes for a missing routine, schema, table or procedure: of PostgreSQL, and of MySQL and MariaDB.
MISSING = {"42883", "3F000", "42P01", 1305, 1146}


def codes(error: BaseException) -> set[Any]:
    """The SQLSTATE and the error number of a driver's error."""
    first = error.args[0] if error.args and isinstance(error.args[0], int) else None  # PyMySQL, mysqlclient
    return {getattr(error, name, None) for name in ("sqlstate", "pgcode", "errno")} | {first}


def own_error(error: BaseException) -> ApplockError | None:
    """Return applock's own error for a driver's error, or None if applock has none."""
    found = codes(error)
    for kind in InvalidArgument, Lost, Contention:
        if kind.sqlstate in found:
            return kind(getattr(getattr(error, "diag", None), "message_primary", None) or str(error))  # without the line of our procedure
    if found & MISSING:
        return WrongVersion(
            f"{error}: the database has no procedures of applock, or older ones: run `applockctl migrate up`, or name their schema")
    return None


def is_busy(error: BaseException) -> bool:
    """Report whether a call did nothing because of other transactions, so that it can be retried."""
    return bool(codes(error) & {"LK003", "40001", "40P01", "55P03", 1020, 1205, 1213})


def has_done_nothing(error: BaseException) -> bool:
    """Report whether the server refused a call: syntax, rights, arguments, read only. After any other error the call may have taken effect."""
    states = {code[:2] for code in codes(error) if isinstance(code, str)}
    return isinstance(error, ApplockError) or is_busy(error) or bool(states & {"0A", "22", "25", "28", "3F", "42"})
