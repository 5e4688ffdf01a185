"""What the operations answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from ._errors import WrongVersion

# Has the caller got what it asked for? An outcome that is not here is of a newer contract.
OUTCOMES = {
    # outcomes: made by `make generate`
    "get_appl_lock": {"ACQUIRED": True, "RENEWED": True, "HELD": False},
    "get_appl_lock_permit": {"ACQUIRED": True, "RENEWED": True, "FULL": False},
    "release_appl_lock": {"RELEASED": True, "FREE": True, "HELD": False},
    "release_appl_locks": {"RELEASED": True, "BUSY": False, "HELD": False, "FREE": False, "WOULD_RELEASE": False},
    "transfer_appl_lock": {"TRANSFERRED": True, "HELD": False, "FREE": False},
    "take_appl_lock": {"TAKEN": True, "HELD": False, "FREE": False},
    "transfer_appl_locks": {"TRANSFERRED": True, "BUSY": False, "HELD": False, "FREE": False, "WOULD_TRANSFER": False},
    "note_appl_lock": {"NOTED": True, "FREE": False, "HELD": False},
    "renew_appl_locks": {"RENEWED": True, "HELD": False, "FREE": False},
    "set_appl_lock_policy": {"SET": True},
    "drop_appl_lock_policy": {"DROPPED": True, "NONE": False},
    "ask_appl_lock": {"ASKED": True, "GIVEN": True, "WITHDRAWN": True, "FREE": False, "OWN": False},
    "answer_appl_lock": {"GIVEN": True, "TOLD": True, "HELD": False, "FREE": False, "GONE": False},
    # outcomes: end
}


# The outcomes after which the other operator that is told is who had the object before.
CHANGED_HANDS = ("TAKEN", "GIVEN")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds an object. The department may be empty."""

    operator: str
    department: str

    def __str__(self) -> str:
        return f"{self.operator} of {self.department}" if self.department else self.operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to an operation on one lock. It is true if it is granted.

    A field that the operation does not fill is zero, empty or None. ``fence`` is 0 unless the caller has a grant.
    ``acquired_at`` is the start of the grant that ends at ``expires_at``, of ``renew`` only the holder's.
    ``holder`` is the operator who has the object instead, also for ASKED, and None if nobody has. ``former`` had it before a take,
    or before it was GIVEN to the asker. One of several answers also names its object.
    """

    granted: bool
    outcome: str
    holder: Holder | None = None
    former: Holder | None = None
    fence: int = 0
    acquired_at: datetime | None = None
    expires_at: datetime | None = None
    seconds_left: int = 0
    note: str = ""
    object_type: str = ""
    object_id: str = ""

    def __bool__(self) -> bool:
        return self.granted


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A permit of an object, and its holder. ``slot_id`` is the object id for all other operations.

    The operator is empty, and the fence 0, if the slot became free during the call.
    """

    slot_id: str = ""
    operator: str = ""
    department: str = ""
    fence: int = 0
    acquired_at: datetime | None = None
    expires_at: datetime | None = None
    seconds_left: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit(Slot):
    """The answer to the request for a permit, and the slot that the caller has. It is true if it is granted.

    When the outcome is FULL, ``holders`` are all slots, the soonest to expire first.
    """

    granted: bool
    outcome: str
    holders: list[Slot] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.granted


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A live lock: its holder, since when, until when, and why."""

    operator: str
    department: str
    fence: int
    acquired_at: datetime
    locked_at: datetime
    expires_at: datetime
    seconds_left: int
    note: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant to be renewed, for a ttl in whole seconds from now on."""

    object_type: str
    object_id: object
    operator: object
    fence: int
    ttl: int


class Row(SimpleNamespace):
    """A row of a view, of an inbox or of a poll. The attributes are the columns, as procedures/README.md has them."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no column {name!r}", name=name, obj=self)


# How the names of numbers end; those of timestamps end with _ts, and everything else is text.
NUMBERS = ("fence", "event_id", "_seconds", "_left", "_us", "live", "expired", "waiters", "purged", "version")

# What fields of an answer are called otherwise than columns.
FIELDS = {
    "operator_id": "operator", "department_id": "department",
    "acquired_ts": "acquired_at", "lock_ts": "locked_at", "expires_ts": "expires_at",
}


def typed(column: str, value: Any) -> Any:
    """Give a value the type of its column, however the connection was told to convert it."""
    if isinstance(value, (bytes, bytearray)):
        value = value.decode()
    if value is None:
        return None
    if column.endswith("_ts"):
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        # MySQL and MariaDB answer in UTC without saying so.
        return moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return int(value) if column.endswith(NUMBERS) else str(value)


def fields(row: dict[str, Any]) -> dict[str, Any]:
    return {FIELDS.get(name, name): value for name, value in row.items()}


def verdict(operation: str, row: dict[str, Any]) -> dict[str, Any]:
    outcome = row.pop("outcome")
    try:
        return {"granted": OUTCOMES[operation][outcome], "outcome": outcome}
    except KeyError:
        raise WrongVersion(
            f"{operation} answered {outcome!r}, which this package does not know: the database is newer, install a newer package"
        ) from None


def answer(operation: str, row: dict[str, Any]) -> Answer:
    values = verdict(operation, row)
    row.pop("ok_fl", None)
    operator, department = row.pop("old_operator_id", ""), row.pop("old_department_id", "")
    if operator:
        values["former" if values["outcome"] in CHANGED_HANDS else "holder"] = Holder(operator, department)
    return Answer(**values, **fields(row))


def permit(rows: list[dict[str, Any]]) -> Permit:
    verdicts = [verdict("get_appl_lock_permit", row) for row in rows]
    if verdicts[0]["granted"]:
        return Permit(**verdicts[0], **fields(rows[0]))
    return Permit(**verdicts[0], holders=[Slot(**fields(row)) for row in rows])


def lock(row: dict[str, Any]) -> Lock | None:
    return Lock(**fields(row)) if row.pop("ok_fl") == "Y" else None
