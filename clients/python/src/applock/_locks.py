"""The operations: each is one call of one procedure, or reads one view."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, Generic, Literal, NoReturn, ParamSpec, TypeVar, overload

from . import _answers as answers
from ._answers import Answer, Grant, Lock, Permit, Row
from ._arguments import Id, Seconds, flag, number, page, seconds, target, text
from ._drivers import add_sqlstate, driver_of, lasts
from ._errors import InvalidArgument, WrongVersion, own_error

P = ParamSpec("P")
T = TypeVar("T")

# The version of the procedures' contract that this package is made for.
CONTRACT = 1

# The views, and the columns that identify a row.
KEYS = {
    "appl_lock_live": ["object_type", "object_id"],
    "appl_lock_waiting": ["object_type", "object_id", "operator_id", "client_id"],
    "appl_lock_asking": ["object_type", "object_id", "operator_id", "client_id"],
    "appl_lock_viewers": ["object_type", "object_id", "operator_id", "client_id"],
    "appl_lock_history": ["event_id"],
    "appl_lock_policies": ["object_type"],
    "appl_lock_stats": ["object_type", "department_id"],
}


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A statement to be sent, and what its rows mean."""

    statement: str
    arguments: list[Any]
    meaning: Callable[[list[dict[str, Any]]], T]
    needs_transaction: bool = False


class operation(Generic[P, T]):
    """A method that describes a call. Locks makes the call, and AsyncLocks returns an awaitable of it."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, instance: None, owner: object) -> Callable[..., Call[T]]: ...
    @overload
    def __get__(self, instance: Locks, owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: AsyncLocks, owner: object) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: object) -> Any:
        if instance is None:
            return self._describe

        def make(*args: P.args, **kwargs: P.kwargs) -> Any:
            return instance._make(self._describe(instance, *args, **kwargs))

        return update_wrapper(make, self._describe.__get__(instance))


class Operations:
    """The common part of Locks and AsyncLocks.

    Ids, operators and departments are text, numbers or UUIDs. A ttl is whole seconds or a timedelta. Without one a new grant
    lasts as long as the policy of its type says, else seven days, and a renewed one as long as before.
    """

    def __init__(self, connection: Any, *, schema: str | None = None, dialect: str | None = None) -> None:
        self._driver = driver_of(connection, dialect)
        # On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
        self._schema = schema or ("applock" if self._driver.postgres else "")
        self._prefix = self._schema and self._schema + "."

    @operation
    def get(
        self, object_type: str, object_id: Id, operator: Id, *,
        department: Id | None = None, ttl: Seconds | None = None, new: bool = False,
    ) -> Call[Answer]:
        """Take or renew the lock on an object until it expires. A refusal is a false answer with the holder.

        ``new`` also refuses to renew the operator's own live lock."""
        return self._answer(
            "get_appl_lock_row", *target(object_type, object_id), text("operator", operator), text("department", department),
            seconds("ttl", ttl), flag("new", new))

    @operation
    def permit(
        self, object_type: str, object_id: Id, permits: int, operator: Id, *,
        department: Id | None = None, ttl: Seconds | None = None,
    ) -> Call[Permit]:
        """Take or renew one of the ``permits`` permits of an object until it expires."""
        return self._call(
            answers.permit, "get_appl_lock_permit", *target(object_type, object_id), number("permits", permits),
            text("operator", operator), text("department", department), seconds("ttl", ttl))

    @operation
    def release(
        self, object_type: str, object_id: Id, operator: Id, fence: int | None = None, *,
        actor: Id | None = None, reason: str | None = None,
    ) -> Call[Answer]:
        """End the operator's grant. The answer is true as well if the object is free. With another actor or a reason the history records it."""
        return self._answer(
            "release_appl_lock_row", *target(object_type, object_id), text("operator", operator), number("fence", fence),
            text("actor", actor), text("reason", reason))

    @operation
    def inquire(self, object_type: str, object_id: Id) -> Call[Lock | None]:
        """Return the lock on an object with its holder, or None if it is free."""
        return self._call(lambda rows: answers.lock(rows[0]), "inquire_appl_lock_row", *target(object_type, object_id))

    @operation
    def transfer(
        self, object_type: str, object_id: Id, from_operator: Id, to_operator: Id, *,
        to_department: Id | None = None, ttl: Seconds | None = None, actor: Id | None = None, reason: str | None = None,
    ) -> Call[Answer]:
        """Hand a held object from one operator to another. The answer has the fence of the new grant."""
        return self._answer(
            "transfer_appl_lock_row", *target(object_type, object_id), text("from_operator", from_operator),
            text("to_operator", to_operator), text("to_department", to_department), seconds("ttl", ttl), text("actor", actor),
            text("reason", reason))

    @operation
    def take(
        self, object_type: str, object_id: Id, operator: Id, reason: str, *,
        department: Id | None = None, expected_fence: int | None = None, ttl: Seconds | None = None,
    ) -> Call[Answer]:
        """Take a held object from its holder, or only from the grant ``expected_fence``. The former holder finds the reason in its inbox."""
        return self._answer(
            "take_appl_lock_row", *target(object_type, object_id), text("operator", operator), text("department", department),
            text("reason", reason), number("expected_fence", expected_fence), seconds("ttl", ttl))

    @operation
    def transfer_all(
        self, from_operator: Id, to_operator: Id, *,
        to_department: Id | None = None, ttl: Seconds | None = None, actor: Id | None = None, reason: str | None = None,
        object_type: str | None = None, after: Answer | None = None, max_rows: int | None = None, dry_run: bool = False,
    ) -> Call[list[Answer]]:
        """Hand over one page of what an operator holds, after the answer ``after``. The last page has fewer than ``max_rows`` answers."""
        return self._answers(
            "transfer_appl_locks", text("from_operator", from_operator), text("object_type", object_type),
            text("to_operator", to_operator), text("to_department", to_department), seconds("ttl", ttl), text("actor", actor),
            text("reason", reason), *page(after, max_rows), flag("dry_run", dry_run))

    @operation
    def release_all(
        self, operator: Id, *, actor: Id | None = None, reason: str | None = None,
        object_type: str | None = None, after: Answer | None = None, max_rows: int | None = None, dry_run: bool = False,
    ) -> Call[list[Answer]]:
        """Release one page of what an operator holds, after the answer ``after``. The last page has fewer than ``max_rows`` answers."""
        return self._answers(
            "release_appl_locks", text("operator", operator), text("object_type", object_type), text("actor", actor),
            text("reason", reason), *page(after, max_rows), flag("dry_run", dry_run))

    @operation
    def note(self, object_type: str, object_id: Id, operator: Id, note: str | None, *, fence: int | None = None) -> Call[Answer]:
        """Leave a note on why the operator holds an object, for everybody to read. None removes it."""
        return self._answer(
            "note_appl_lock_row", *target(object_type, object_id), text("operator", operator), number("fence", fence), text("note", note))

    @operation
    def renew(self, grants: Iterable[Grant]) -> Call[list[Answer]]:
        """Renew many grants in one call, each by its fence. A grant without an answer is locked by another transaction: retry it."""
        document = [
            {
                "object_type": grant.object_type, "object_id": text("object_id", grant.object_id),
                "operator_id": text("operator", grant.operator), "fence": number("fence", grant.fence),
                "ttl_seconds": seconds("ttl", grant.ttl),
            } for grant in grants
        ]
        return self._answers("renew_appl_locks", json.dumps(document))

    @operation
    def assert_held(self, object_type: str, object_id: Id, operator: Id, fence: int) -> Call[None]:
        """Raise Lost unless exactly this grant is live, and keep it so until the end of the transaction, which must be open."""
        return self._call(
            nothing, "assert_appl_lock_row", *target(object_type, object_id), text("operator", operator), number("fence", fence),
            needs_transaction=True)

    @operation
    def serialize(self, object_type: str, object_id: Id) -> Call[None]:
        """Let one transaction at a time work on an object: wait for the others, until the end of this one, which must be open."""
        return self._call(nothing, "serialize_appl_lock_row", *target(object_type, object_id), needs_transaction=True)

    @operation
    def announce(
        self, object_type: str, object_id: Id, operator: Id, client: Id, *,
        department: Id | None = None, wait: Seconds | None = None,
    ) -> Call[None]:
        """List an operator of the program ``client`` as a waiter, until ``wait`` is over."""
        return self._call(
            nothing, "announce_appl_lock_waiter_row", *target(object_type, object_id), text("operator", operator),
            text("department", department), text("client", client), seconds("wait", wait))

    @operation
    def retract(self, object_type: str, object_id: Id, operator: Id, client: Id) -> Call[None]:
        """Remove a waiter from the list."""
        return self._call(
            nothing, "retract_appl_lock_waiter_row", *target(object_type, object_id), text("operator", operator), text("client", client))

    @operation
    def poll(self, client: Id, *, max_rows: int | None = None) -> Call[list[Row]]:
        """Return the objects that a program waits for, the earliest to be free first, with ``free_in_us`` and ``first_fl``: Y when
        it is free, and the turn of the program, whose waiter has been listed longest. It keeps the waiters listed."""
        return self._call(rows_of, "poll_appl_locks", text("client", client), number("max_rows", max_rows))

    @operation
    def ask(
        self, object_type: str, object_id: Id, operator: Id, client: Id, message: str | None = None, *,
        department: Id | None = None, wait: Seconds | None = None,
    ) -> Call[Answer]:
        """Ask an object's holder for it. The request is listed for 60 s, or until ``wait`` is over: repeat the call in each heartbeat.

        ``client`` is the asking program or browser tab. ``wait=0`` withdraws the request. The outcome is ASKED with the ``holder``,
        WITHDRAWN, or GIVEN: the operator has the object now, and ``former`` had it before. The answer is false for FREE, and for OWN:
        the operator has it already."""
        return self._answer(
            "ask_appl_lock_row", *target(object_type, object_id), text("operator", operator), text("department", department),
            text("client", client), text("message", message), seconds("wait", wait))

    @operation
    def answer(
        self, object_type: str, object_id: Id, operator: Id, fence: int, asker: Id, answer: Literal["GIVE", "LATER", "NO"], *,
        client: Id | None = None, reason: str | None = None,
    ) -> Call[Answer]:
        """Answer an operator who asks for an object that ``operator`` holds. The inbox's AWAITED has ``fence``, ``asker`` and ``client``.

        GIVE hands the object over: GIVEN. LATER and NO are for the asker to read: TOLD. The answer is false for HELD, FREE, and for
        GONE: the asker no longer asks. Without ``client`` it is any client of the asker."""
        return self._answer(
            "answer_appl_lock_row", *target(object_type, object_id), text("operator", operator), number("fence", fence),
            text("asker", asker), text("client", client), text("answer", answer), text("reason", reason))

    @operation
    def see(
        self, object_type: str, object_id: Id, operator: Id, client: Id, state: Literal["VIEWING", "EDITING", "IDLE"] | None, *,
        department: Id | None = None, ttl: Seconds | None = None,
    ) -> Call[list[Row]]:
        """List an operator as a viewer of an object in the browser tab ``client``, and return its holder, askers and other viewers.

        ``kind`` of a row is HOLDER, ASKER or VIEWER. The operator is listed for 45 s, or ``ttl``, at most 300 s: repeat the call in each
        heartbeat of 15 s. The state None removes it. The call locks nothing, and the history does not record it."""
        return self._call(
            rows_of, "see_appl_lock", *target(object_type, object_id), text("operator", operator), text("department", department),
            text("client", client), text("state", state), seconds("ttl", ttl))

    @operation
    def inbox(self, operator: Id, *, position: str | None = None, max_rows: int | None = None) -> Call[list[Row]]:
        """Return what others did with an operator's locks, who waits or asks for them, and how its own requests were answered.

        ``kind`` of a row is TAKEN, HANDED, RELEASED, GIVEN or YIELDED, which are events, or AWAITED, LATER or DECLINED. AWAITED of a
        request has the ``message``, and the ``client_id`` and ``fence`` for :meth:`answer`. Pass the ``next_position`` of any row to the
        next call, or the same position where there was no row: no event is left out."""
        return self._call(
            rows_of, "inbox_appl_locks", text("operator", operator), text("position", position), number("max_rows", max_rows))

    @operation
    def set_policy(
        self, object_type: str, actor: Id, *, default_ttl: Seconds | None = None, longest_ttl: Seconds | None = None,
        take_reason: bool | None = None, history: Literal["ALL", "CHANGES"] | None = None, reason: str | None = None,
        presence: bool | None = None, yield_after: Seconds | None = None,
    ) -> Call[Answer]:
        """Set a type's policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom."""
        return self._answer(
            "set_appl_lock_policy_row", text("object_type", object_type), seconds("default_ttl", default_ttl),
            seconds("longest_ttl", longest_ttl), flag("take_reason", take_reason), text("actor", actor), text("reason", reason),
            text("history", history), flag("presence", presence), seconds("yield_after", yield_after))

    @operation
    def drop_policy(self, object_type: str, actor: Id, *, reason: str | None = None) -> Call[Answer]:
        """Remove the policy of a type."""
        return self._answer("drop_appl_lock_policy_row", text("object_type", object_type), text("actor", actor), text("reason", reason))

    @operation
    def purge(self, *, older_than: Seconds | None = None, max_rows: int | None = None) -> Call[int]:
        """Remove the rows of objects that have been free for that long, and return their number."""
        return self._call(purged, "purge_appl_locks_row", seconds("older_than", older_than), number("max_rows", max_rows))

    @operation
    def purge_history(self, *, older_than: Seconds | None = None, max_rows: int | None = None) -> Call[int]:
        """Remove events of that age from the history, and return their number."""
        return self._call(purged, "purge_appl_lock_history_row", seconds("older_than", older_than), number("max_rows", max_rows))

    @operation
    def read(self, view: str, /, *, after: Row | None = None, max_rows: int = 1000, **filters: Any) -> Call[list[Row]]:
        """Return a page of a view in the order of its key, after the row ``after``: the rows with these values in these columns.

        appl_lock_history has two more filters: ``operator_id``, who caused an event or is named in it, and ``since_seconds``, its
        greatest age."""
        if view not in KEYS:
            raise InvalidArgument(f"view must be one of {', '.join(KEYS)}, not {view!r}", "view")
        conditions: list[str] = []
        arguments: list[Any] = []
        for name, value in filters.items():
            if value is None:
                continue
            if name == "since_seconds":
                ago = "statement_timestamp() - %s * interval '1 second'"
                conditions.append("event_ts >= " + (ago if self._driver.postgres else "UTC_TIMESTAMP(6) - INTERVAL %s SECOND"))
                arguments.append(seconds(name, value))
                continue
            if not name.isidentifier():
                raise InvalidArgument(f"{name!r} is no column", name)
            of_event = view == "appl_lock_history" and name == "operator_id"
            conditions.append("%s IN (actor_id, from_operator_id, to_operator_id)" if of_event else name + " = %s")
            arguments.append(text(name, value))
        key = KEYS[view]
        if after is not None:
            condition, values = self._behind(key, [getattr(after, name) for name in key])
            conditions.append(condition)
            arguments.extend(values)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        source = f"{self._prefix}{view}{where} ORDER BY {', '.join(key)} LIMIT %s"
        return self._call(rows_of, source, *arguments, number("max_rows", max_rows))

    @operation
    def check(self) -> Call[None]:
        """Raise WrongVersion if the procedures in the database are older than this package needs. Call it when a program starts."""
        return self._call(expect_contract, "appl_lock_version")

    def _answer(self, routine: str, *arguments: Any) -> Call[Answer]:
        return self._call(lambda rows: answers.answer(routine.removesuffix("_row"), rows[0]), routine, *arguments)

    def _answers(self, routine: str, *arguments: Any) -> Call[list[Answer]]:
        return self._call(lambda rows: [answers.answer(routine, row) for row in rows], routine, *arguments)

    def _call(
        self, meaning: Callable[[list[dict[str, Any]]], T], source: str, *arguments: Any, needs_transaction: bool = False,
    ) -> Call[T]:
        """A source is a routine, or the text after FROM. PostgreSQL answers with JSON, which no setting of a session or driver changes."""
        is_routine = " " not in source
        if is_routine:
            source = f"{self._prefix}{source}({', '.join(['%s'] * len(arguments))})"
        if self._driver.postgres:
            statement = f"SELECT row_to_json(r)::text FROM (SELECT * FROM {source}) AS r"
        else:
            statement = ("CALL " if is_routine else "SELECT * FROM ") + source
        return Call(statement, list(arguments), meaning, needs_transaction)

    def _behind(self, key: list[str], values: list[Any]) -> tuple[str, list[Any]]:
        """The condition for the rows after a row. MySQL and MariaDB read a range of the key only if each column is compared."""
        if self._driver.postgres:
            return f"({', '.join(key)}) > ({', '.join(['%s'] * len(key))})", values
        if len(key) == 1:
            return key[0] + " > %s", values
        condition, further = self._behind(key[1:], values[1:])
        return f"({key[0]} > %s OR {key[0]} = %s AND {condition})", [values[0], values[0], *further]

    def _admit(self, call: Call[Any]) -> None:
        if call.needs_transaction and not lasts(self._driver.connection):
            raise InvalidArgument("there is no transaction, so that this would protect nothing: begin one first", "connection")

    def _rows(self, names: list[str], rows: Iterable[Any]) -> list[dict[str, Any]]:
        result = []
        for row in rows:
            values = list(row.values() if isinstance(row, Mapping) else row)
            raw = json.loads(answers.typed("", values[0])) if self._driver.postgres else dict(zip(names, values))
            result.append({name.removeprefix("p_"): answers.typed(name, value) for name, value in raw.items()})
        return result


class Locks(Operations):
    """The operations on a connection of psycopg, psycopg2, PyMySQL, mysqlclient or mysql-connector-python, which may come from a pool or a wrapper.

    The connection and the transaction are yours: a method's effect is final when you commit, or at once with autocommit. For a
    connection of another driver set ``dialect`` to ``"postgres"`` or ``"mysql"``. ``schema`` is where the procedures are, if not in
    the usual place. An object is as safe for threads as its connection.
    """

    def __init__(self, connection: Any, *, schema: str | None = None, dialect: str | None = None) -> None:
        super().__init__(connection, schema=schema, dialect=dialect)
        if self._driver.asynchronous:
            raise InvalidArgument("Locks is for connections that block: use AsyncLocks for a psycopg.AsyncConnection", "connection")

    def _make(self, call: Call[T]) -> T:
        self._admit(call)
        cursor = self._driver.cursor()
        try:
            cursor.execute(call.statement, call.arguments)
            rows = self._rows([answers.typed("", column[0]) for column in cursor.description], cursor.fetchall())
            # On MySQL and MariaDB a CALL ends with a result of its own, which must be read, too.
            while not self._driver.postgres and cursor.nextset():
                pass
        except Exception as error:
            add_sqlstate(error, cursor)
            refuse(error)
        finally:
            cursor.close()
        return call.meaning(rows)


class AsyncLocks(Operations):
    """The same operations on a psycopg.AsyncConnection: each is awaited."""

    def __init__(self, connection: Any, *, schema: str | None = None) -> None:
        super().__init__(connection, schema=schema)
        if not self._driver.asynchronous:
            raise InvalidArgument("AsyncLocks is for a psycopg.AsyncConnection: use Locks for this one", "connection")

    async def _make(self, call: Call[T]) -> T:
        self._admit(call)
        cursor = self._driver.cursor()
        try:
            await cursor.execute(call.statement, call.arguments)
            rows = self._rows([], await cursor.fetchall())
        except Exception as error:
            refuse(error)
        finally:
            await cursor.close()
        return call.meaning(rows)


def refuse(error: Exception) -> NoReturn:
    own = own_error(error)
    if own is None:
        raise
    raise own from error


def nothing(_: list[dict[str, Any]]) -> None:
    """The meaning of an empty answer."""


def rows_of(rows: list[dict[str, Any]]) -> list[Row]:
    return [Row(**row) for row in rows]


def purged(rows: list[dict[str, Any]]) -> int:
    removed: int = rows[0]["purged"]
    return removed


def expect_contract(rows: list[dict[str, Any]]) -> None:
    installed = next(iter(rows[0].values()))
    if installed < CONTRACT:
        raise WrongVersion(
            f"the database has contract {installed}, and this package needs {CONTRACT}: the database is older, run `applockctl migrate up`")
