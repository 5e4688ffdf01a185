"""Access to a connection of any supported driver, with any settings."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from ._errors import InvalidArgument


class Driver(NamedTuple):
    """A connection of a driver, and a way to open a cursor with plain rows."""

    connection: Any
    postgres: bool
    asynchronous: bool
    cursor: Callable[[], Any]


def driver_of(connection: Any, dialect: str | None) -> Driver:
    """Find the driver's connection in pools and wrappers. A dialect is for an unknown driver."""
    inner = getattr(connection, "driver_connection", None) or connection  # SQLAlchemy
    inner = getattr(getattr(inner, "cursor", None), "__self__", inner)  # a delegate, such as MySQL's pooled connection
    if is_a(inner, "psycopg.Connection"):
        return Driver(inner, True, False, lambda: named("psycopg.Cursor")(inner, row_factory=named("psycopg.rows.tuple_row")))
    if is_a(inner, "psycopg.AsyncConnection"):
        return Driver(inner, True, True, lambda: named("psycopg.AsyncCursor")(inner, row_factory=named("psycopg.rows.tuple_row")))
    if is_a(inner, "psycopg2.extensions.connection"):
        return Driver(inner, True, False, lambda: inner.cursor(cursor_factory=named("psycopg2.extensions.cursor")))
    if is_a(inner, "pymysql.connections.Connection"):
        return Driver(inner, False, False, lambda: named("pymysql.cursors.Cursor")(inner))
    if is_a(inner, "MySQLdb.connections.Connection"):  # mysqlclient
        return Driver(inner, False, False, lambda: named("MySQLdb.cursors.Cursor")(inner))
    if is_a(inner, "mysql.connector.abstracts.MySQLConnectionAbstract"):
        return Driver(inner, False, False, inner.cursor)
    if dialect is None:
        raise InvalidArgument(
            f"{type(connection).__qualname__} is no connection of psycopg, psycopg2, PyMySQL, mysqlclient or "
            'mysql-connector-python: if it works like one, say dialect="postgres" or dialect="mysql"', "dialect")
    if dialect not in ("postgres", "mysql"):
        raise InvalidArgument(f'dialect must be "postgres" or "mysql", not {dialect!r}', "dialect")
    if not callable(getattr(inner, "cursor", None)) or iscoroutinefunction(inner.cursor):
        raise InvalidArgument(f"{type(connection).__qualname__} has no cursor() as the DB-API has it", "connection")
    return Driver(inner, dialect == "postgres", False, inner.cursor)


def named(path: str) -> Any:
    """Return a name of a loaded module, or None: only drivers that the program uses count."""
    module, _, name = path.rpartition(".")
    return getattr(sys.modules.get(module), name, None)


def is_a(connection: Any, path: str) -> bool:
    kind = named(path)
    return kind is not None and isinstance(connection, kind)


def add_sqlstate(error: Any, cursor: Any) -> None:
    """Note the SQLSTATE in an error of mysqlclient, where only the connection has it, until the next statement."""
    last = getattr(getattr(cursor, "connection", None), "sqlstate", None)
    if callable(last):
        with contextlib.suppress(Exception):  # the connection may be closed
            error.sqlstate = last()


def begun(connection: Any) -> bool:
    """Report whether a transaction has begun."""
    if is_a(connection, "MySQLdb.connections.Connection"):
        return begun_in_mysqlclient(connection)
    if hasattr(connection, "info"):  # psycopg and psycopg2
        return bool(connection.info.transaction_status != 0)
    if hasattr(connection, "get_autocommit"):  # PyMySQL
        return bool(connection.server_status & 1)
    if hasattr(connection, "in_transaction"):  # mysql-connector-python
        return bool(connection.in_transaction)
    raise InvalidArgument("whether a transaction is open cannot be told: give the driver's own connection", "connection")


def begun_in_mysqlclient(connection: Any) -> bool:
    """The driver does not tell. With autocommit only a transaction keeps a savepoint; without it only a transaction refuses its own settings."""
    has_autocommit = autocommits(connection)
    try:
        if has_autocommit:
            connection.query("SAVEPOINT applock_begun")
            connection.query("RELEASE SAVEPOINT applock_begun")
        else:
            connection.query("SET TRANSACTION READ WRITE")
    except named("MySQLdb.Error") as error:
        if error.args[0] not in (1305, 1568):
            raise
        return not has_autocommit
    return has_autocommit


def lasts(connection: Any) -> bool:
    """Report whether the next statement is in a transaction that continues after it."""
    if hasattr(connection, "get_autocommit") and not connection.get_autocommit():  # without asking the server
        return True
    return begun(connection) or not autocommits(connection)


def autocommits(connection: Any) -> bool:
    return bool(connection.get_autocommit() if hasattr(connection, "get_autocommit") else connection.autocommit)


def set_autocommit(connection: Any, wanted: bool) -> Any:
    """Set autocommit. Await the result if it is awaitable."""
    if hasattr(connection, "set_autocommit"):  # psycopg
        return connection.set_autocommit(wanted)
    if callable(connection.autocommit):  # PyMySQL
        return connection.autocommit(wanted)
    connection.autocommit = wanted
    return None
