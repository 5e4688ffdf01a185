"""Tests of applock_lease, which clients_test.go runs with each driver on each product."""

import multiprocessing
import os
import signal
import threading

import pytest

import applock
from applock_lease import Held, Lease, Lost

DRIVER = os.environ["APPLOCK_TEST_DRIVER"]
SPAWN = multiprocessing.get_context("spawn")
LONG = 300  # for hangs: no test takes it


def connect():
    if DRIVER == "psycopg":
        import psycopg
        return psycopg.connect()
    if DRIVER == "psycopg2":
        import psycopg2
        return psycopg2.connect("")
    settings = dict(host=os.environ["MYSQL_HOST"], port=int(os.environ["MYSQL_TCP_PORT"]), user=os.environ["MYSQL_USER"],
                    password=os.environ["MYSQL_PWD"], database=os.environ["MYSQL_DATABASE"])
    if DRIVER == "PyMySQL":
        import pymysql
        return pymysql.connect(**settings)
    import mysql.connector
    return mysql.connector.connect(**settings)


@pytest.fixture
def locks():
    """What looks on."""
    connection = connect()
    if DRIVER == "PyMySQL":
        connection.autocommit(True)
    else:
        connection.autocommit = True
    yield applock.Locks(connection)
    connection.close()


def execute(connection, statement):
    cursor = connection.cursor()
    cursor.execute(statement)
    rows = cursor.fetchall() if cursor.description else []
    cursor.close()
    return rows


def count(times):
    for _ in range(times):
        with Lease(connect, "tally", 1, ttl=LONG, wait=LONG):
            connection = connect()
            n = execute(connection, "SELECT n FROM tally")[0][0]
            execute(connection, "UPDATE tally SET n = {}".format(n + 1))
            connection.commit()
            connection.close()


def test_processes_exclude_each_other(locks):
    """Goal: leases exclude processes. Method: three of them count together, each reads and writes in two statements."""
    execute(locks._connection, "CREATE TABLE tally (n INTEGER)")
    execute(locks._connection, "INSERT INTO tally VALUES (0)")
    processes = [SPAWN.Process(target=count, args=(5,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 3
    assert execute(locks._connection, "SELECT n FROM tally")[0][0] == 15


def test_threads_exclude_each_other_and_wait(locks):
    """Goal: a lease is refused at once without wait, with the holder, and comes in when it waits. Method: two in one process."""
    came = threading.Event()

    def follow():
        with Lease(connect, "customer", "waited for", wait=None):
            came.set()

    with Lease(connect, "customer", "waited for", department="CS") as held:
        with pytest.raises(Held) as refused:
            with Lease(connect, "customer", "waited for"):
                pass
        assert refused.value.answer.old_operator_id == held.operator
        assert refused.value.answer.old_department_id == "CS"
        follower = threading.Thread(target=follow)
        follower.start()
        with pytest.raises(Held):
            with Lease(connect, "customer", "waited for", wait=0.1):
                pass
        assert not came.is_set()
    assert came.wait(LONG)
    follower.join()


def test_it_is_renewed(locks):
    """Goal: a lease lasts longer than its ttl, as one grant. Method: wait until the database has renewed it past that."""
    with Lease(connect, "customer", "renewed", ttl=15) as held:
        while True:
            held.lost.wait(0.2)
            held.check()
            found = locks.inquire("customer", "renewed")
            assert (found.ok_fl, found.operator_id, found.fence) == ("Y", held.operator, held.fence)
            if (found.lock_ts - found.acquired_ts).total_seconds() > 15:
                break
    assert not locks.inquire("customer", "renewed")


def test_a_loss_is_noticed(locks):
    """Goal: who loses the lock hears of it, and so does the caller of the block. Method: a supervisor releases it."""
    with pytest.raises(Lost):
        with Lease(connect, "customer", "lost", ttl=3) as held:
            assert locks.release("customer", "lost", held.operator, held.fence)
            assert held.lost.wait(LONG)
            with pytest.raises(Lost):
                held.check()
            assert locks.get("customer", "lost", "JDOE")
    assert locks.inquire("customer", "lost").operator_id == "JDOE"  # the end of the block leaves it alone


def test_a_loss_is_noticed_at_the_end(locks):
    """Goal: a block that was not alone does not end well, also if no renewal has noticed. Method: a supervisor, and a long ttl."""
    with pytest.raises(Lost):
        with Lease(connect, "customer", "lost at the end", ttl=LONG) as held:
            assert locks.release("customer", "lost at the end", held.operator)


def test_an_outage_is_a_loss_in_time(locks):
    """Goal: who cannot renew hears of it while the lock is still there. Method: no connection but the first."""
    connections = []

    def once():
        if connections:
            raise OSError("unreachable")
        connections.append(connect())
        return connections[0]

    with pytest.raises(Lost):
        with Lease(once, "customer", "outage", ttl=6) as held:
            assert held.lost.wait(LONG)
            found = locks.inquire("customer", "outage")
            assert not found or found.operator_id == held.operator
    assert not locks.inquire("customer", "outage")


def test_an_exception_releases(locks):
    """Goal: the object is free after an exception, which comes out as it is. Method: raise, and enter again."""
    entered = Lease(connect, "customer", "raised")
    for _ in range(2):
        with pytest.raises(KeyError):
            with entered:
                raise KeyError("a line has no price")
        assert not locks.inquire("customer", "raised")


def test_a_broken_connection_releases(locks):
    """Goal: the object is free at the end, also if the connection has broken meanwhile. Method: close it."""
    with Lease(connect, "customer", "broken") as held:
        held._locks._connection.close()
    assert not locks.inquire("customer", "broken")


def test_an_interruption_leaves_nothing(locks, monkeypatch):
    """Goal: whoever is interrupted while a get is under way leaves nothing. Method: interrupt between its answer and the rest."""
    get = applock.Locks.get

    def interrupted(self, *arguments):
        assert get(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(applock.Locks, "get", interrupted)
    with pytest.raises(KeyboardInterrupt):
        with Lease(connect, "customer", "interrupted"):
            pass
    assert not locks.inquire("customer", "interrupted")


def test_the_fence_protects_a_transaction(locks):
    """Goal: operator and fence are those of the grant. Method: assert them, and those of a former grant."""
    with Lease(connect, "customer", "fenced") as former:
        pass
    with Lease(connect, "customer", "fenced") as held:
        assert held.fence > former.fence
        locks.assert_held("customer", "fenced", held.operator, held.fence)
        with pytest.raises(applock.LockError) as refused:
            locks.assert_held("customer", "fenced", former.operator, former.fence)
        assert refused.value.sqlstate == "LK002"


def test_a_mistake_is_an_error(locks):
    """Goal: what cannot be meant is refused at once, and not waited for. Method: a ttl of half a second, and no type."""
    with pytest.raises(ValueError):
        Lease(connect, "customer", 42, ttl=0.5)
    with pytest.raises(applock.LockError):
        with Lease(connect, "", 42, wait=None):
            pass


def hold(connection):
    with Lease(connect, "customer", "crashed", ttl=6) as held:
        connection.send((held.operator, held.fence))
        threading.Event().wait()


def test_a_crash_is_overtaken(locks):
    """Goal: the object of a process that was killed is free after the ttl, and the next fence is greater. Method: SIGKILL."""
    here, there = SPAWN.Pipe()
    holder = SPAWN.Process(target=hold, args=(there,), daemon=True)
    holder.start()
    operator, fence = here.recv()
    with pytest.raises(Held) as refused:
        with Lease(connect, "customer", "crashed"):
            pass
    assert refused.value.answer.old_operator_id == operator
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with Lease(connect, "customer", "crashed", wait=LONG) as held:
        assert held.fence > fence
