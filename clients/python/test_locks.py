"""Tests of Locks, and by a loop of AsyncLocks, which clients_test.go runs with each driver on each product."""

import asyncio
import inspect
import itertools
import os
import pickle
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from enum import Enum

import pytest

import applock
from player import connect

DRIVER = os.environ["APPLOCK_TEST_DRIVER"]
ASYNC = DRIVER == "psycopg-async"
POSTGRES = DRIVER.startswith("psycopg")
LOOP = asyncio.new_event_loop()
Locks = applock.AsyncLocks if ASYNC else applock.Locks


def settled(value):
    return LOOP.run_until_complete(value) if asyncio.iscoroutine(value) else value


class Settled:
    """An object whose methods do not return before what they answer is there."""

    def __init__(self, of):
        self.of = of

    def __getattr__(self, name):
        found = getattr(self.of, name)
        return (lambda *args, **kwargs: settled(found(*args, **kwargs))) if callable(found) else found


def open_connection(**options):
    return settled(connect(DRIVER, **options))


@pytest.fixture
def connection():
    opened = open_connection(autocommit=True)
    yield opened
    settled(opened.close())


@pytest.fixture
def locks(connection):
    return Settled(Locks(connection))


def execute(connection, statement):
    cursor = connection.cursor()
    settled(cursor.execute(statement))


def test_a_refusal_is_false(locks):
    """Goal: no answer can be taken for another. Method: each operation that can be refused, granted and refused."""
    lock = locks.get("case", 1, "A", department="CS")
    assert lock and lock.granted and lock.holder is None and lock.fence > 0
    refused = locks.get("case", 1, "B")
    assert not refused and refused.holder == applock.Holder("A", "CS") and str(refused.holder) == "A of CS"

    mine = locks.permit("room", "d", 1, "A")
    full = locks.permit("room", "d", 1, "B")
    assert mine and mine.slot_id == "d#1" and mine.operator == "A" and mine.holders == []
    assert not full and full.outcome == "FULL" and [slot.operator for slot in full.holders] == ["A"] and full.fence == 0

    renewals = locks.renew([applock.Grant("case", 1, "A", lock.fence, 60), applock.Grant("room", "d#1", "A", mine.fence + 1, 60)])
    assert [(answer.object_id, bool(answer)) for answer in sorted(renewals, key=lambda answer: answer.object_id)] == [("1", True), ("d#1", False)]

    assert not any(locks.release_all("A", dry_run=True))
    assert all(locks.transfer_all("A", "B", object_type="case"))
    assert not locks.note("case", 1, "A", "mine")
    assert not locks.transfer("case", 1, "A", "C")
    taken = locks.take("case", 1, "BOSS", "urgent")
    assert taken and taken.former.operator == "B" and taken.holder is None
    assert not locks.take("case", 1, "BOSS", "urgent", expected_fence=1)
    assert locks.inquire("case", 1).operator == "BOSS"
    assert locks.release("case", 1, "BOSS")
    assert locks.inquire("case", 1) is None
    assert not locks.drop_policy("case", "BOSS")


def test_pages_go_on_behind_an_answer(locks):
    """Goal: each page begins behind the last answer of the one before. Method: three locks, two pages."""
    for object_id in 1, 2, 3:
        locks.get("paged", object_id, "P")
    first = locks.release_all("P", max_rows=2)
    second = locks.release_all("P", after=first[-1], max_rows=2)
    assert [answer.object_id for answer in first + second] == ["1", "2", "3"]


def test_an_unknown_outcome_is_an_error(locks, monkeypatch):
    """Goal: what a newer database answers is never taken for yes or no. Method: a package that does not know ACQUIRED."""
    monkeypatch.delitem(applock._answers.OUTCOMES["get_appl_lock"], "ACQUIRED")
    with pytest.raises(applock.WrongVersion, match="newer package"):
        locks.get("case", "unknown", "A")


def objects_of(cursor):
    """A cursor class whose rows are of a kind that nobody else knows."""
    return type("Objects", (cursor,), {"fetchall": lambda self: [object() for _ in cursor.fetchall(self)]})


def hostile():
    """Connections that were set up in other ways."""
    if DRIVER in ("psycopg", "psycopg-async"):
        import psycopg
        from psycopg.types.string import TextLoader
        is_async = DRIVER == "psycopg-async"
        yield {"row_factory": psycopg.rows.dict_row}
        yield {"row_factory": psycopg.rows.namedtuple_row, "cursor_factory": psycopg.AsyncClientCursor if is_async else psycopg.ClientCursor}
        yield {"row_factory": psycopg.rows.scalar_row}
        yield {"options": "-c datestyle=German -c timezone=Asia/Kathmandu -c intervalstyle=iso_8601"}
        yield {"adapters": {"timestamptz": TextLoader, "int8": TextLoader}}
    elif DRIVER == "psycopg2":
        import psycopg2.extensions
        import psycopg2.extras
        for factory in (psycopg2.extras.RealDictCursor, psycopg2.extras.DictCursor, psycopg2.extras.NamedTupleCursor,
                        objects_of(psycopg2.extensions.cursor)):
            yield {"cursor_factory": factory}
        yield {"options": "-c datestyle=German -c timezone=Asia/Kathmandu"}
        yield {"adapters": psycopg2.extensions.new_type((20, 1184), "TEXT", lambda value, cursor: value)}
    elif DRIVER == "PyMySQL":
        import pymysql
        for cursor in (pymysql.cursors.DictCursor, pymysql.cursors.SSCursor, pymysql.cursors.SSDictCursor,
                       objects_of(pymysql.cursors.Cursor)):
            yield {"cursorclass": cursor}
        yield {"conv": pymysql.converters.encoders}
        yield {"use_unicode": False}
        yield {"init_command": "SET time_zone = '+05:45'"}
    elif DRIVER == "mysqlclient":
        import MySQLdb.converters
        import MySQLdb.cursors
        for cursor in (MySQLdb.cursors.DictCursor, MySQLdb.cursors.SSCursor, MySQLdb.cursors.SSDictCursor,
                       objects_of(MySQLdb.cursors.Cursor)):
            yield {"cursorclass": cursor}
        yield {"conv": {kind: encode for kind, encode in MySQLdb.converters.conversions.items() if isinstance(kind, type)}}
        yield {"use_unicode": False}
        yield {"init_command": "SET time_zone = '+05:45'"}
    else:
        import mysql.connector.conversion

        class Texts(mysql.connector.conversion.MySQLConverter):
            def row_to_python(self, row, fields):
                return tuple(value and bytes(value).decode() for value in row)

        yield {"converter_class": Texts}
        yield from IN_BOTH


# Those of mysql-connector-python in Python and in C.
IN_BOTH = [{}, {"raw": True}, {"buffered": True}, {"use_unicode": False}, {"consume_results": True}, {"time_zone": "+05:45"}]


@pytest.mark.parametrize("options", list(hostile()), ids=str)
def test_settings_of_a_connection_change_nothing(options):
    """Goal: numbers are integers, moments are aware and in UTC, whatever the user has set. Method: each such setting."""
    answer_as_ever(dict(options))


def answer_as_ever(options):
    adapters = options.pop("adapters", {})
    connection = open_connection(autocommit=True, **options)
    if isinstance(adapters, dict):
        for name, loader in adapters.items():
            connection.adapters.register_loader(name, loader)
    else:
        import psycopg2.extensions
        psycopg2.extensions.register_type(adapters, connection)
    locks = Settled(Locks(connection))
    lock = locks.get("customer", 42, "JÖRG", ttl=3600)
    assert lock.outcome == "ACQUIRED" and type(lock.fence) is int and lock.fence > 0
    assert lock.expires_at.tzinfo is timezone.utc
    assert abs(lock.expires_at - datetime.now(timezone.utc) - timedelta(hours=1)) < timedelta(minutes=30)
    assert locks.get("customer", 42, "B").holder.operator == "JÖRG"
    found = locks.inquire("customer", 42)
    assert found.fence == lock.fence and found.acquired_at.tzinfo is timezone.utc
    assert locks.take("customer", 42, "B", "urgent").former.operator == "JÖRG"
    for row, columns in [
        (locks.read("appl_lock_history", object_type="customer", event="TAKEN")[-1], ["event_id", "from_fence", "to_fence"]),
        (locks.read("appl_lock_live", object_type="customer", object_id=42)[0], ["fence", "seconds_left", "ttl_seconds"]),
        (locks.read("appl_lock_stats", object_type="customer")[0], ["live", "expired", "oldest_seconds", "waiters"]),
        (locks.inbox("JÖRG")[-1], ["event_id", "seconds_left", "fence"]),
    ]:
        assert all(type(getattr(row, column)) is int for column in columns), row
    assert locks.release("customer", 42, "B")
    settled(connection.close())


if DRIVER == "mysql-connector-python":
    @pytest.mark.parametrize("options", IN_BOTH, ids=str)
    def test_settings_of_a_connection_in_c_change_nothing(options):
        """Goal: the same with the driver's part in C. Method: a program of its own, since its TLS is to be loaded before that of Python."""
        program = f"import _mysql_connector, test_locks; test_locks.answer_as_ever({ {'use_pure': False, **options} !r})"
        subprocess.run([sys.executable, "-c", program], check=True, cwd=os.path.dirname(__file__))


def test_what_protects_nothing_is_refused(locks, connection):
    """Goal: serialize and assert_held outside of a transaction are mistakes, before anything is called. Method: with and without one."""
    fence = locks.get("case", "tx", "A").fence
    within = [lambda locks: locks.serialize("case", "tx"), lambda locks: locks.assert_held("case", "tx", "A", fence)]
    for call in within:
        with pytest.raises(applock.InvalidArgument, match="transaction"):
            call(locks)
        execute(connection, "BEGIN")
        call(locks)
        execute(connection, "ROLLBACK")
        with pytest.raises(applock.InvalidArgument, match="transaction"):
            call(locks)
        other = open_connection()
        call(Settled(Locks(other)))
        call(Settled(Locks(other)))
        settled(other.rollback())
        settled(other.close())


def test_the_three_errors(locks, connection):
    """Goal: a mistake, a loss and contention are told apart, and what the driver raises passes. Method: raise each."""
    with pytest.raises(applock.InvalidArgument) as mistake:
        locks.get("", 42, "A")
    assert mistake.value.sqlstate == "LK001" and "p_object_type" in str(mistake.value) and mistake.value.__cause__ is not None
    execute(connection, "BEGIN")
    with pytest.raises(applock.Lost) as lost:
        locks.assert_held("case", "nobody's", "A", 1)
    assert lost.value.sqlstate == "LK002"
    execute(connection, "ROLLBACK")
    with pytest.raises(Exception) as others:
        locks.read("appl_lock_live", no_such_column=1)
    assert not isinstance(others.value, applock.ApplockError)


def test_answers_and_errors_travel(locks):
    """Goal: a worker process can hand its answers and errors to another. Method: pickle them."""
    answer, row = locks.get("travel", 1, "A", department="CS", ttl=60), locks.read("appl_lock_live", object_type="travel")[0]
    refused = locks.get("travel", 1, "B")
    mistake = applock.InvalidArgument("ttl is wrong", "ttl")
    there = pickle.loads(pickle.dumps([answer, row, applock.Held(refused), mistake]))
    assert there[:2] == [answer, row] and there[2].answer == refused and there[3].argument == "ttl"
    assert [str(error) for error in there[2:]] == ["held by A of CS for 60 s", "ttl is wrong"]


def test_a_database_that_is_older_says_what_to_do(locks, connection, monkeypatch):
    """Goal: who has forgotten to migrate is told so. Method: no procedures, and an older contract."""
    locks.check()
    elsewhere = Settled(Locks(connection, schema="nowhere"))
    for call in elsewhere.check, lambda: elsewhere.get("case", 1, "A"):
        with pytest.raises(applock.WrongVersion, match="applockctl migrate up"):
            call()
    monkeypatch.setattr(applock._locks, "CONTRACT", 1000)
    with pytest.raises(applock.WrongVersion, match="the database is older, run `applockctl migrate up`"):
        locks.check()


def test_an_end_is_right_where_clocks_change(locks, connection, monkeypatch):
    """Goal: an end in an hour that a zone skips or repeats is the same moment everywhere. Method: ends in both nights, in Amsterdam."""
    execute(connection, "SET timezone = 'Europe/Amsterdam'" if POSTGRES else "SET time_zone = '+02:00'")
    monkeypatch.setenv("TZ", "Europe/Amsterdam")
    time.tzset()
    try:
        for month, hour in itertools.product((3, 10), range(4)):
            end = datetime(datetime.now().year + 1, month, 31, hour, 30, tzinfo=timezone.utc)
            end -= timedelta(days=end.isoweekday() % 7)  # the last Sunday
            lock = locks.get("clocks", f"{month} {hour}", "A", ttl=int((end - datetime.now(timezone.utc)).total_seconds()))
            assert abs(lock.expires_at - end) < timedelta(minutes=30)
            assert locks.inquire("clocks", f"{month} {hour}").expires_at == lock.expires_at
    finally:
        monkeypatch.undo()
        time.tzset()


class Clerk(str, Enum):
    ANN = "ANN"


def test_arguments_are_converted_or_refused_by_name(locks):
    """Goal: what is meant is understood, and what cannot be is named, before anything is called. Method: both kinds."""
    for ttl in timedelta(minutes=1), 60.0, 60:
        assert locks.get("argument", 1, 4711, ttl=ttl).seconds_left == 60
    assert locks.inquire("argument", 1).operator == "4711"
    assert [answer.outcome for answer in locks.release_all(4711, dry_run=True)] == ["WOULD_RELEASE"]
    assert locks.get("argument", 2, Clerk.ANN) and locks.inquire("argument", 2).operator == "ANN"
    assert not locks.get("argument", 2, "ANN", new=True)
    for argument, call in {
        "ttl": lambda: locks.get("argument", 3, "A", ttl=1.5),
        "object_id": lambda: locks.get("argument", b"3", "A"),
        "operator": lambda: locks.get("argument", 3, True),
        "new": lambda: locks.get("argument", 3, "A", new="Y"),
        "dry_run": lambda: locks.release_all("A", dry_run="Y"),
        "fence": lambda: locks.release("argument", 3, "A", "17"),
        "max_rows": lambda: locks.poll("A", max_rows=2**70),
        "view": lambda: locks.read("appl_lock"),
        "wait": lambda: locks.announce("argument", 3, "A", "c", wait=timedelta(milliseconds=1)),
    }.items():
        with pytest.raises(applock.InvalidArgument, match=argument) as refused:
            call()
        assert refused.value.argument == argument and isinstance(refused.value, ValueError)
    with pytest.raises(TypeError, match="ttl_seconds"):
        locks.get("argument", 3, "A", ttl_seconds=60)
    with pytest.raises(TypeError, match="positional"):
        locks.get("argument", 3, "A", 60)
    with pytest.raises(applock.InvalidArgument, match=r"get_appl_lock: p_object_type must not be empty['\")]*$"):
        locks.get("", 3, "A")
    with pytest.raises(AttributeError, match="operator"):
        locks.read("appl_lock_live", object_type="argument")[0].operator
    assert locks.inquire("argument", 3) is None
    assert list(inspect.signature(locks.of.inquire).parameters) == ["object_type", "object_id"]


class Wrapped:
    """A connection of an unknown driver, whose rows may be dictionaries."""

    def __init__(self, connection, row=tuple):
        self._inner, self._row = connection, row

    def cursor(self):
        cursor = self._inner.cursor()
        if self._row is tuple:
            return cursor

        class Dictionaries:
            def __getattr__(self, name):
                return getattr(cursor, name)

            def fetchall(self):
                return [dict(zip([column[0] for column in cursor.description], row)) for row in cursor.fetchall()]

        return Dictionaries()


def test_what_is_no_connection_is_refused():
    """Goal: what cannot work is refused at once. Method: no connection, and one that is for the other class."""
    for nothing in None, "dsn", object(), Wrapped(None):
        with pytest.raises(applock.InvalidArgument, match="dialect"):
            Locks(nothing)
    blocking = connect("psycopg" if ASYNC else DRIVER)
    with pytest.raises(applock.InvalidArgument, match="use Locks"):
        applock.AsyncLocks(blocking)
    blocking.close()
    if ASYNC:
        connection = open_connection()
        with pytest.raises(applock.InvalidArgument, match="use AsyncLocks"):
            applock.Locks(connection)
        settled(connection.close())


if not ASYNC:
    SQLALCHEMY = {
        "psycopg": "postgresql+psycopg", "psycopg2": "postgresql+psycopg2", "PyMySQL": "mysql+pymysql",
        "mysqlclient": "mysql+mysqldb", "mysql-connector-python": "mysql+mysqlconnector",
    }

    def engine():
        import sqlalchemy
        return sqlalchemy.create_engine(SQLALCHEMY[DRIVER] + "://", creator=lambda: connect(DRIVER), pool_size=1)

    def pooled(autocommit):
        """A connection that a pool or a wrapper has given, and how to give it back."""
        if not autocommit:
            from sqlalchemy.orm import Session
            with Session(engine()) as session:
                yield session.connection().connection
        raw = engine().raw_connection()
        applock._drivers.set_autocommit(raw.driver_connection, autocommit)
        yield raw
        if DRIVER == "psycopg":
            import psycopg_pool
            pool = psycopg_pool.ConnectionPool("", kwargs={"autocommit": autocommit}, min_size=1, open=True)
            with pool.connection() as connection:
                yield connection
            pool.close()
        elif DRIVER == "mysql-connector-python":
            import mysql.connector.pooling
            settings = dict(host=os.environ["MYSQL_HOST"], port=int(os.environ["MYSQL_TCP_PORT"]), user=os.environ["MYSQL_USER"],
                            password=os.environ["MYSQL_PWD"], database=os.environ["MYSQL_DATABASE"], autocommit=autocommit)
            yield mysql.connector.pooling.MySQLConnectionPool(pool_size=1, pool_name="a", **settings).get_connection()

    def test_pools_and_wrappers_work():
        """Goal: a connection that a pool lends is one. Method: SQLAlchemy's and the driver's own pool, and that D4 holds there."""
        for connection in pooled(autocommit=True):
            locks = applock.Locks(connection)
            assert locks.get("pool", 1, "A", ttl=60)
            with pytest.raises(applock.InvalidArgument, match="transaction"):
                locks.serialize("pool", 1)
        for connection in pooled(autocommit=False):
            applock.Locks(connection).serialize("pool", 1)
            connection.rollback()

    def test_a_subclass_works(connection):
        """Goal: a subclass of a connection in another module is one. Method: make one."""
        class Mine(type(connection)):
            pass

        if DRIVER == "psycopg":
            import psycopg
            mine = type("Mine", (psycopg.Connection,), {}).connect(autocommit=True)
        elif DRIVER == "psycopg2":
            import psycopg2
            mine = psycopg2.connect("", connection_factory=Mine)
        else:
            mine = Mine(host=os.environ["MYSQL_HOST"], port=int(os.environ["MYSQL_TCP_PORT"]), user=os.environ["MYSQL_USER"],
                        password=os.environ["MYSQL_PWD"], database=os.environ["MYSQL_DATABASE"])
        assert applock.Locks(mine).get("subclass", 1, "A")
        mine.close()

    def test_another_driver_works_by_its_dialect(connection):
        """Goal: a connection of another driver works with a dialect, and what it cannot tell is refused. Method: a wrapper."""
        for wrapped in Wrapped(connection, dict), Wrapped(connection):
            locks = applock.Locks(wrapped, dialect="postgres" if POSTGRES else "mysql")
            assert locks.get("dialect", 1, "A") and locks.inquire("dialect", 1).operator == "A"
        with pytest.raises(applock.InvalidArgument, match="transaction"):
            locks.serialize("dialect", 1)
        with pytest.raises(applock.InvalidArgument, match="dialect"):
            applock.Locks(wrapped, dialect="oracle")

    def test_contention_is_an_error_of_its_own(connection):
        """Goal: contention is told from mistakes. Method: a cursor that has the database raise LK003 instead."""
        class Contended(Wrapped):
            def cursor(self):
                cursor = self._inner.cursor()
                raising = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'LK003'; END $$" if POSTGRES else "SIGNAL SQLSTATE 'LK003'"

                class Raising:
                    def __getattr__(self, name):
                        return getattr(cursor, name)

                    def execute(self, statement, arguments):
                        cursor.execute(raising)

                return Raising()

        with pytest.raises(applock.Contention) as contended:
            applock.Locks(Contended(connection), dialect="postgres" if POSTGRES else "mysql").get("case", 1, "A")
        assert contended.value.sqlstate == "LK003" and not isinstance(contended.value, ValueError)
