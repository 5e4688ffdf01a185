"""Converts arguments for the procedures. Impossible values are refused before a call; None is left to the database."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any, TypeAlias

from ._answers import Answer
from ._errors import InvalidArgument

Id: TypeAlias = str | int | uuid.UUID
"""A name of an object or a person. It is sent as text."""

Seconds: TypeAlias = int | timedelta
"""Whole seconds."""


def text(name: str, value: Any) -> str | None:
    """PostgreSQL has no routine that takes an integer as an id."""
    if isinstance(value, str):
        return str.__str__(value)  # the value of an enumeration
    if value is None or isinstance(value, (int, uuid.UUID)) and not isinstance(value, bool):
        return None if value is None else str(value)
    raise InvalidArgument(f"{name} must be text, a whole number or a UUID, not {value!r:.80}", name)


def number(name: str, value: Any) -> int | None:
    if value is None or isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63:
        return value
    raise InvalidArgument(f"{name} must be a whole number, not {value!r:.80}", name)


def seconds(name: str, value: Any) -> int | None:
    exact = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(exact, float) and exact.is_integer():
        exact = int(exact)
    try:
        return number(name, exact)
    except InvalidArgument:
        raise InvalidArgument(f"{name} must be a whole number of seconds or a timedelta of such, not {value!r:.80}", name) from None


def flag(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None if value is None else "Y" if value else "N"
    raise InvalidArgument(f"{name} must be True or False, not {value!r:.80}", name)


def target(object_type: Any, object_id: Any) -> tuple[str | None, str | None]:
    return text("object_type", object_type), text("object_id", object_id)


def page(after: Answer | None, max_rows: int | None) -> tuple[str | None, str | None, int | None]:
    behind = (None, None) if after is None else target(after.object_type, after.object_id)
    return *behind, number("max_rows", max_rows)
