"""Tests of Lease and AsyncLease, which clients_test.go runs with each driver on each product."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import CancelledError

import pytest

import applock
from applock import Held, Lost
from player import connect as connect_with

DRIVER = os.environ["APPLOCK_TEST_DRIVER"]
ASYNC = DRIVER == "psycopg-async"
BLOCKING = "psycopg" if ASYNC else DRIVER
SPAWN = multiprocessing.get_context("spawn")
LONG = 300  # for hangs: no test takes it


def connect():
    return connect_with(DRIVER)


def a_loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


LOOP = a_loop()


def settled(value):
    return asyncio.run_coroutine_threadsafe(value, LOOP).result() if asyncio.iscoroutine(value) else value


class Signal:
    """An event of the loop, for other threads."""

    def __init__(self, event):
        self.is_set, self._event = event.is_set, event

    def wait(self, timeout):
        async def waited():
            try:
                return await asyncio.wait_for(self._event.wait(), timeout)
            except TimeoutError:
                return False

        return settled(waited())


class OnLoop:
    """An AsyncLease for tests that block."""

    def __init__(self, *args, **options):
        self._lease = applock.AsyncLease(*args, **options)

    def __enter__(self):
        settled(self._lease.__aenter__())
        return self

    def __exit__(self, *raised):
        settled(self._lease.__aexit__(*raised))

    def __getattr__(self, name):
        return getattr(self._lease, name)

    @property
    def lost(self):
        return Signal(self._lease.lost)

    def check(self):
        async def checked():
            self._lease.check()

        settled(checked())


Lease = OnLoop if ASYNC else applock.Lease
Locks = applock.AsyncLocks if ASYNC else applock.Locks


def counted(opened, fails=lambda number: False):
    """A connect that notes what it has opened, and fails where it is to."""
    def count_blocking():
        if fails(len(opened)):
            opened.append(None)
            raise OSError("unreachable")
        opened.append(connect())
        return opened[-1]

    async def count_awaited():
        connection = count_blocking()
        opened[-1] = await connection
        return opened[-1]

    return count_awaited if ASYNC else count_blocking


@pytest.fixture
def connection():
    """What looks on."""
    opened = connect_with(BLOCKING, autocommit=True)
    yield opened
    opened.close()


@pytest.fixture
def locks(connection):
    return applock.Locks(connection)


def execute(connection, statement):
    cursor = connection.cursor()
    cursor.execute(statement)
    rows = cursor.fetchall() if cursor.description else []
    cursor.close()
    return rows


def until(condition):
    """Wait for a condition, and return what it has found."""
    for _ in range(LONG * 10):
        if found := condition():
            return found
        threading.Event().wait(0.1)
    raise AssertionError("it did not come")


def count(times):
    for _ in range(times):
        with Lease(connect, "tally", 1, ttl=LONG, wait=LONG):
            connection = connect_with(BLOCKING)
            n = execute(connection, "SELECT n FROM tally")[0][0]
            execute(connection, f"UPDATE tally SET n = {n + 1}")
            connection.commit()
            connection.close()


def test_processes_exclude_each_other(connection):
    """Goal: leases exclude processes. Method: three of them count together, each reads and writes in two statements."""
    execute(connection, "CREATE TABLE tally (n INTEGER)")
    execute(connection, "INSERT INTO tally VALUES (0)")
    processes = [SPAWN.Process(target=count, args=(5,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 3
    assert execute(connection, "SELECT n FROM tally")[0][0] == 15


def test_threads_exclude_each_other_and_wait(locks):
    """Goal: a lease is refused at once without wait, with the holder, and comes in when it waits; who waits is listed while it
    waits. Method: two in one process."""
    came = threading.Event()

    def follow():
        with Lease(connect, "customer", "waited for", wait=None):
            came.set()

    def waiting():
        return locks.read("appl_lock_waiting", object_type="customer", object_id="waited for")

    with Lease(connect, "customer", "waited for", department="CS") as held:
        with pytest.raises(Held) as refused:
            with Lease(connect, "customer", "waited for"):
                pass
        assert refused.value.answer.holder == applock.Holder(held.operator, "CS")
        follower = threading.Thread(target=follow)
        follower.start()
        with pytest.raises(Held):
            asyncio.run(asyncio.to_thread(Lease(connect, "customer", "waited for", wait=0.1).__enter__))
        assert [row.holder_id for row in until(waiting)] == [held.operator]
        assert not came.is_set()
    assert came.wait(LONG)
    follower.join()
    assert not waiting()


def test_who_is_not_first_leaves_a_moment(locks, monkeypatch):
    """Goal: who has been listed longest may have a free object first. Method: one who never asks for it, and how soon another has it."""
    polls, came = [], []
    monkeypatch.setattr(applock._lease.random, "uniform", lambda least, most: polls.append(least) or most)

    def follow():
        with Lease(connect, "customer", "their turn", wait=None):
            came.append(time.monotonic())

    with Lease(connect, "customer", "their turn"):
        locks.announce("customer", "their turn", "JDOE", "desk")
        follower = threading.Thread(target=follow)
        follower.start()
        until(lambda: len(polls) > 1)
        released = time.monotonic()
    follower.join()
    assert came[0] - released > 0.045


if DRIVER in ("psycopg", "psycopg-async"):
    def test_a_release_wakes_who_waits(locks, monkeypatch):
        """Goal: on PostgreSQL nobody waits for the next poll. Method: the next poll is never."""
        monkeypatch.setattr(applock._lease.random, "uniform", lambda least, most: 1e6)
        came = threading.Event()

        def follow():
            with Lease(connect, "customer", "told", wait=None):
                came.set()

        with Lease(connect, "customer", "told"):
            follower = threading.Thread(target=follow)
            follower.start()
            until(lambda: locks.read("appl_lock_waiting", object_type="customer", object_id="told"))
        assert came.wait(LONG)
        follower.join()


def test_a_lease_is_entered_once_at_a_time(locks):
    """Goal: a lease that is entered twice excludes itself. Method: the same one, and another of the same object; and again later."""
    lease = Lease(connect, "customer", "again")
    for _ in range(2):
        with lease:
            with pytest.raises(applock.InvalidArgument, match="entered"):
                with lease:
                    pass
            with pytest.raises(Held):
                with Lease(connect, "customer", "again"):
                    pass
            lease.check()
            assert locks.inquire("customer", "again").fence == lease.fence
        assert locks.inquire("customer", "again") is None


def renewed(held, locks):
    """Wait until a lease has lasted longer than its ttl, as one grant."""
    def is_past_its_ttl():
        held.check()
        found = locks.inquire("customer", "renewed")
        assert (found.operator, found.fence) == (held.operator, held.fence)
        return (found.locked_at - found.acquired_at).total_seconds() > TTLS["renewed"]

    until(is_past_its_ttl)


def taken(held, locks):
    assert locks.take("customer", "taken", "BOSS", "urgent")
    assert held.lost.wait(LONG)


# How a lease comes into each state of the table, and the states that it cannot be in.
PLAYS = {"entered": None, "renewed": renewed, "released": None, "taken": taken, "unrenewed": lambda held, _: held.lost.wait(LONG), "forked": None}
TTLS = {"renewed": 15, "taken": 6, "unrenewed": 6}
CANNOT = {"reentered": "a lease inside itself is refused: test_a_lease_is_entered_once_at_a_time"}
with open("../../testdata/lease_states.txt") as file:
    STATES = [row for line in file if (row := line.partition("#")[0].split()) and row[0] not in CANNOT]


def judged(held):
    """What check() answers, and whether the loss has been signalled."""
    signal = "fired" if held.lost.is_set() else "quiet"
    try:
        held.check()
    except Lost:
        return ["fails", signal]
    return ["passes", signal]


def in_a_child(held, work):
    """What work on a lease returns in a forked child, which has no loop and ends without the tests of its parent."""
    here, there = multiprocessing.Pipe()
    pid = os.fork()
    if pid == 0:
        try:
            there.send(work(held._lease if ASYNC else held))
        finally:
            os._exit(0)
    there.close()
    os.waitpid(pid, 0)
    return here.recv()


@pytest.mark.parametrize("state, check, signal", STATES)
def test_each_state_of_a_lease(locks, state, check, signal):
    """Goal: a lease answers in each state as in all languages. Method: the table of the states, which all languages read."""
    with contextlib.suppress(Lost):
        with Lease(counted([], lambda number: number > 0 and state == "unrenewed"), "customer", state, ttl=TTLS.get(state, LONG)) as held:
            if play := PLAYS[state]:
                play(held, locks)
            answer = in_a_child(held, judged) if state == "forked" else judged(held)
    assert (judged(held) if state == "released" else answer) == [check, signal]
    assert (locks.inquire("customer", state) is None) == (state != "taken")


def left_by(error):
    def left(held):
        """How a child that leaves the block of its parent's lease gets on."""
        try:
            assert applock._lease.at_one_go(applock._lease.settled(held.lost.wait() if ASYNC else held.lost.wait(0)))
            left = held.__aexit__(None, error, None) if ASYNC else held.__exit__(None, error, None)
            return applock._lease.at_one_go(applock._lease.settled(left))
        except Lost as lost:
            return str(lost)

    return left


def test_a_fork_leaves_the_lock_alone(locks):
    """Goal: only the process that entered renews and releases. Method: a child that leaves the block, well and by sys.exit."""
    opened = []
    with Lease(counted(opened), "customer", "left", ttl=LONG) as held:
        assert in_a_child(held, left_by(SystemExit())) is None
        assert f"belongs to process {os.getpid()}" in in_a_child(held, left_by(None))
        assert locks.inquire("customer", "left").fence == held.fence
        held.check()
    assert len(opened) == 1  # which the children have left as it was


if not DRIVER.startswith("psycopg"):
    def test_a_lease_commits_nothing(connection):
        """Goal: what the lease did not begin it does not end. Method: connect returns a connection with a row that is not committed."""
        def begun():
            opened = connect()
            execute(opened, "INSERT INTO kept VALUES (1)")
            return opened

        execute(connection, "CREATE TABLE kept (n INTEGER)")
        with pytest.raises(applock.InvalidArgument, match="transaction"):
            with Lease(begun, "customer", "kept"):
                pass
        assert not execute(connection, "SELECT n FROM kept")


def server_id(connection):
    """What the server calls a connection."""
    if DRIVER.startswith("psycopg"):
        return connection.info.backend_pid
    return connection.thread_id() if DRIVER in ("PyMySQL", "mysqlclient") else connection.connection_id


def test_a_connection_that_is_cut_is_replaced(locks, connection):
    """Goal: a lease outlives its connections. Method: the server cuts all of them after the first renewal."""
    opened = []
    with Lease(counted(opened), "customer", "cut", ttl=15) as held:
        def renewed():
            found = locks.inquire("customer", "cut")
            return found.locked_at > found.acquired_at and found.locked_at

        first = until(renewed)
        for each in opened:
            execute(connection, (f"SELECT pg_terminate_backend({server_id(each)})" if DRIVER.startswith("psycopg")
                                 else f"KILL {server_id(each)}"))
        until(lambda: locks.inquire("customer", "cut").locked_at > first)
        held.check()
    assert len(opened) == 4
    assert locks.inquire("customer", "cut") is None


def test_a_loss_is_noticed_at_the_end(locks):
    """Goal: a block that was not alone does not end well, also if no renewal has noticed. Method: a supervisor, and a long ttl."""
    with pytest.raises(Lost):
        with Lease(connect, "customer", "lost at the end", ttl=LONG) as held:
            assert locks.release("customer", "lost at the end", held.operator)


def test_the_clock_alone_is_a_loss(monkeypatch):
    """Goal: whoever asks after a pause is told at once, before anything else has noticed. Method: the clock is far ahead."""
    with pytest.raises(Lost):
        with Lease(connect, "customer", "late", ttl=LONG) as held:
            held.check()
            later = applock._lease.now() + LONG
            monkeypatch.setattr(applock._lease, "now", lambda: later)
            held.check()


def test_an_exception_releases(locks):
    """Goal: the object is free after an exception, which comes out as it is. Method: raise, and enter again."""
    entered = Lease(connect, "customer", "raised")
    for kind in KeyError, SystemExit, KeyboardInterrupt, GeneratorExit:
        with pytest.raises(kind):
            with entered:
                raise kind("a line has no price")
        assert locks.inquire("customer", "raised") is None


def test_what_cannot_be_renewed_is_released(locks, monkeypatch):
    """Goal: an entry that fails leaves nothing. Method: there is no thread, or no task, to renew it."""
    monkeypatch.setattr(applock._lease.Leased, "_keep", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        with Lease(connect, "customer", "no thread", ttl=LONG):
            pass
    assert locks.inquire("customer", "no thread") is None


def test_a_broken_connection_releases(locks):
    """Goal: the object is free at the end, also if the connection has broken meanwhile. Method: close it."""
    with Lease(connect, "customer", "broken") as held:
        settled(held._own.connection.close())
    assert locks.inquire("customer", "broken") is None


def replace(monkeypatch, name, before=True, raising=OSError):
    """Have an operation of a lease do what it is to, unless before is false, and then raise as if there were no answer."""
    real = applock._locks.Operations.__dict__[name]

    def blocking(self, *arguments, **options):
        if before:
            assert real.__get__(self, Locks)(*arguments, **options)
        raise raising

    async def awaited(self, *arguments, **options):
        if before:
            assert await real.__get__(self, Locks)(*arguments, **options)
        raise raising

    monkeypatch.setattr(Locks, name, awaited if ASYNC else blocking)


def test_an_interruption_leaves_nothing(locks, monkeypatch):
    """Goal: whoever is interrupted while a get is under way leaves nothing. Method: interrupt between its answer and the rest."""
    replace(monkeypatch, "get", raising=asyncio.CancelledError if ASYNC else KeyboardInterrupt)
    with pytest.raises((KeyboardInterrupt, CancelledError)):
        with Lease(connect, "customer", "interrupted"):
            pass
    monkeypatch.undo()
    assert locks.inquire("customer", "interrupted") is None


@pytest.mark.parametrize("when", ["at once", "when it can be again", "after its release"])
def test_a_get_whose_answer_was_lost_is_released(locks, monkeypatch, when):
    """Goal: a call that may have taken the lock leaves nothing, also if its release fails, and if it arrives after its release.
    Method: a get that is done, or is done later by the test, and then fails as if its connection had been cut."""
    monkeypatch.setattr(applock._lease, "LATE", (1,) * LONG)
    replace(monkeypatch, "get", before=when != "after its release")
    if when == "when it can be again":
        replace(monkeypatch, "release", before=False)
    lease = Lease(connect, "customer", when, ttl=10 * LONG)
    with pytest.raises(OSError):
        with lease:
            pass
    monkeypatch.undo()
    monkeypatch.setattr(applock._lease, "LATE", (1,) * LONG)
    if when == "after its release":
        assert locks.get("customer", when, lease.operator)
    if when != "at once":
        until(lambda: locks.inquire("customer", when) is None)
    assert locks.inquire("customer", when) is None


def test_the_fence_protects_a_transaction(locks, connection):
    """Goal: operator and fence are those of the grant. Method: assert them, and those of a former grant."""
    with Lease(connect, "customer", "fenced") as former:
        pass
    former_operator, former_fence = former.operator, former.fence
    with Lease(connect, "customer", "fenced") as held:
        assert held.fence > former_fence
        execute(connection, "BEGIN")
        locks.assert_held("customer", "fenced", held.operator, held.fence)
        with pytest.raises(Lost):
            locks.assert_held("customer", "fenced", former_operator, former_fence)
        execute(connection, "ROLLBACK")


def test_a_mistake_is_an_error():
    """Goal: what cannot be meant is refused at once, and not waited for. Method: bad arguments, and connections that are none."""
    for ttl in 0.5, 0, None, "60":
        with pytest.raises(applock.InvalidArgument, match="ttl"):
            Lease(connect, "customer", 42, ttl=ttl)
    with pytest.raises(applock.InvalidArgument, match="p_object_type"):
        with Lease(connect, "", 42, wait=None):
            pass
    with pytest.raises(applock.InvalidArgument, match="connect"):
        Lease(None, "customer", 42)
    with pytest.raises(applock.InvalidArgument, match="not entered"):
        (applock.AsyncLease if ASYNC else applock.Lease)(connect, "customer", 42).check()
    for connects in (lambda: connect_with(BLOCKING) if ASYNC else connect_with_coroutine()), object:
        with pytest.raises(applock.InvalidArgument):
            with Lease(connects, "customer", 42):
                pass


async def connect_with_coroutine():
    await asyncio.sleep(0)


def hold(connection, ttl):
    with Lease(connect, "customer", "crashed", ttl=ttl) as held:
        connection.send((held.operator, held.fence))
        connection.recv()
        try:
            held.check()
        except Lost:
            connection.send("lost")


def test_a_crash_is_overtaken(locks):
    """Goal: the object of a process that was killed is free after the ttl, and the next fence is greater. Method: SIGKILL."""
    here, there = SPAWN.Pipe()
    holder = SPAWN.Process(target=hold, args=(there, 6), daemon=True)
    holder.start()
    operator, fence = here.recv()
    with pytest.raises(Held) as refused:
        with Lease(connect, "customer", "crashed"):
            pass
    assert refused.value.answer.holder.operator == operator
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with Lease(connect, "customer", "crashed", wait=LONG) as held:
        assert held.fence > fence


def test_a_pause_is_a_loss(locks):
    """Goal: a process that was paused beyond the ttl learns that it is not alone when it goes on. Method: SIGSTOP, and another lease
    meanwhile, whose grant the first one leaves alone."""
    here, there = SPAWN.Pipe()
    holder = SPAWN.Process(target=hold, args=(there, 6), daemon=True)
    holder.start()
    here.recv()
    os.kill(holder.pid, signal.SIGSTOP)
    with Lease(connect, "customer", "crashed", wait=LONG, ttl=LONG) as held:
        os.kill(holder.pid, signal.SIGCONT)
        here.send("go on")
        assert here.recv() == "lost"
        holder.join()
        assert holder.exitcode == 1  # the end of the block raises Lost
        held.check()
        assert locks.inquire("customer", "crashed").fence == held.fence


if ASYNC:
    def test_a_cancelled_task_releases(locks):
        """Goal: a task that is cancelled releases what it has, and what it was about to get. Method: cancel one in its block, and one that waits."""
        async def hold(name, inside, **options):
            async with applock.AsyncLease(connect, "customer", name, **options):
                inside.set()
                await asyncio.Event().wait()

        async def cancelled():
            inside, other = asyncio.Event(), asyncio.Event()
            holder = asyncio.create_task(hold("cancelled", inside))
            await inside.wait()
            waiter = asyncio.create_task(hold("cancelled", other, wait=None))
            while not await asyncio.to_thread(locks.read, "appl_lock_waiting", object_type="customer", object_id="cancelled"):
                await asyncio.sleep(0.05)
            for task in waiter, holder:
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert not other.is_set()

        settled(cancelled())
        assert locks.inquire("customer", "cancelled") is None
        assert not locks.read("appl_lock_waiting", object_type="customer", object_id="cancelled")

    def test_a_task_that_is_cancelled_twice_releases(locks, monkeypatch):
        """Goal: a release goes on when its task does not wait for it. Method: cancel again while it is under way."""
        real = applock._locks.Operations.__dict__["release"]

        async def cancelled():
            begun, go_on, inside = asyncio.Event(), asyncio.Event(), asyncio.Event()

            async def slow(self, *arguments, **options):
                begun.set()
                await go_on.wait()
                return await real.__get__(self, Locks)(*arguments, **options)

            async def hold():
                async with applock.AsyncLease(connect, "customer", "cancelled twice", ttl=10 * LONG):
                    inside.set()
                    await asyncio.Event().wait()

            monkeypatch.setattr(Locks, "release", slow)
            task = asyncio.create_task(hold())
            await inside.wait()
            task.cancel()
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            go_on.set()

        settled(cancelled())
        until(lambda: locks.inquire("customer", "cancelled twice") is None)
