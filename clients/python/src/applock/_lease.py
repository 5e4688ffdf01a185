"""A lock for as long as a block of a program runs, renewed meanwhile in the background.

The work of a lease is written once, as coroutines. In Lease everything that they await blocks, so that they run to their end at once.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import inspect
import math
import os
import random
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from ._answers import Answer, Grant
from ._arguments import Id, Seconds, seconds, target, text
from ._drivers import autocommits, begun, is_a, named, set_autocommit
from ._errors import ApplockError, Held, InvalidArgument, Lost, has_done_nothing, is_busy
from ._locks import AsyncLocks, Locks

T = TypeVar("T")

# When a get without an answer is released once more: it may arrive at the database after the first release.
LATE = (1, 4, 10)


if sys.platform == "linux":
    def now() -> float:
        """A clock that counts the machine's sleep, too."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)
else:
    now = time.monotonic


class OfOneProcess:
    """An event that is also set in each child of the process that made it."""

    def __init__(self) -> None:
        super().__init__()
        self.process = os.getpid()

    def is_set(self) -> bool:
        return self.process != os.getpid() or bool(super().is_set())  # type: ignore[misc]


class Signal(OfOneProcess, threading.Event):
    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set() or super().wait(timeout)


class AsyncSignal(OfOneProcess, asyncio.Event):
    async def wait(self) -> Literal[True]:
        return self.is_set() or await super().wait()


class Own(NamedTuple):
    """A lease's connection: the driver's, the given one, and whether that had autocommit."""

    locks: Any
    connection: Any
    given: Any
    autocommit: bool


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def source(connect: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return what gives a connection, and what takes it back: a pool, or a method of one, gets back what it has given."""
    for pool in connect, getattr(connect, "__self__", connect):
        if hasattr(pool, "getconn") and hasattr(pool, "putconn"):  # psycopg, psycopg2
            return pool.getconn, pool.putconn
    for method in "raw_connection", "get_connection":  # SQLAlchemy, mysql-connector-python: their connections go back when they are closed
        connect = getattr(connect, method, connect)
    if not callable(connect):
        raise InvalidArgument(f"connect must be a function that returns a connection, or a pool, not {connect!r:.80}", "connect")
    return connect, give_back


def give_back(given: Any) -> Any:
    """Close a connection. One of psycopg_pool knows its pool, which would lose it without close_returns."""
    pool: Any = getattr(given, "_pool", None)
    if hasattr(pool, "putconn"):
        return pool.putconn(given)
    if is_a(getattr(given, "dbapi_connection", None), "sqlalchemy.AdaptedConnection"):  # of an AsyncEngine
        return named("sqlalchemy.util.greenlet_spawn")(given.close)
    return given.close()


class Leased(abc.ABC):
    """The common part of Lease and AsyncLease."""

    operator: str
    fence: int
    lost: Any
    _kind: ClassVar[type[Locks] | type[AsyncLocks]]
    _entered: ClassVar[dict[str, tuple[int, Any]]] = {}  # by operator: the process and the thread or task that are in the block of a lease

    def __init__(
        self, connect: Any, object_type: str, object_id: Id, *, ttl: Seconds = 30, wait: float | timedelta | None = 0,
        department: Id | None = None, schema: str | None = None,
    ) -> None:
        target(object_type, object_id)
        self._ttl = seconds("ttl", ttl) or 0
        if self._ttl < 1:
            raise InvalidArgument(f"ttl must be 1 second or more, not {ttl!r}", "ttl")
        self.object_type, self.object_id, self._name = object_type, object_id, f"{object_type}:{object_id}"
        self._department, self._schema = text("department", department), schema
        self._connect, self._take_back = source(connect)
        limit = math.inf if wait is None else wait.total_seconds() if isinstance(wait, timedelta) else wait
        if not isinstance(limit, (int, float)):
            raise InvalidArgument(f"wait must be seconds, a timedelta, or None for ever, not {wait!r:.80}", "wait")
        self._wait = limit
        self._is_entered, self.lost = False, None

    def check(self) -> None:
        """Raise Lost unless the lease is still trusted, also by the clock of this process: not after its end, and not in a child process."""
        if self.lost is None:
            raise InvalidArgument(f"the lease of {self._name} is not entered yet: check it in its block")
        if not self._is_ours():
            raise Lost(
                f"the lock of {self._name} belongs to process {self.lost.process}, which entered the lease: "
                "a child process needs a lease of its own")
        self._look_at_the_clock()
        if self.lost.is_set():
            raise Lost(f"the lock of {self._name} is {self._end}")

    def _is_ours(self) -> bool:
        """Report whether this is the process that entered. A child has copies of the connections, and leaves them alone."""
        return bool(self.lost.process == os.getpid())

    async def _enter(self) -> Self:
        if self._is_entered:
            raise InvalidArgument("this lease is entered already: make another one")
        self._is_entered = True
        self.operator = f"{socket.gethostname():.30}/{os.getpid()}/{secrets.token_hex(8)}"
        self.fence, self._is_unknown, self._deadline = 0, False, math.inf
        self.lost, self._ended, self._end = self._event(), self._event(), "lost"
        self._own: Any = None
        self._watchdog: Any = None
        try:
            self._own = await self._open()
            await settled(self._own.locks.check())
            await self._acquire()
            self.check()
            self._keeper = self._background(self._keep())
            self._entered[self.operator] = self._who()
        except BaseException:
            if self._is_ours():
                self._ended.set()
                await self._shielded(self._give_back())
                self._is_entered = False
            raise
        return self

    def _is_left_by_a_child(self, error: BaseException | None) -> bool:
        """Report whether this is not the process that entered. Then a block without an exception raises Lost."""
        if not self._is_ours() and error is None:
            self.check()
        return not self._is_ours()

    async def _exit(self, error: BaseException | None) -> None:
        self._entered.pop(self.operator, None)
        self._look_at_the_clock()
        was_lost = self.lost.is_set()
        self._end = "lost" if was_lost else "released"
        self.lost.set()
        self._ended.set()
        self._watchdog.cancel()
        try:
            outcome, is_second = await self._release()
            # The first call may have done it.
            if outcome != "RELEASED" and not (is_second and outcome == "FREE"):
                was_lost, self._end = True, "lost"
        except Exception:
            if error is None and not was_lost:
                raise
        finally:
            await self._close(self._own)
            await self._join(self._keeper)
            self._is_entered = False
        if error is None and was_lost:
            self.check()

    async def _open(self) -> Own:
        given = self._connect()
        if self._kind is Locks and inspect.iscoroutine(given):
            given.close()
            raise InvalidArgument("Lease is for connections that block: use AsyncLease for this connect", "connect")
        given = await settled(given)
        try:
            locks = self._kind(given, schema=self._schema)
            own = Own(locks, locks._driver.connection, given, autocommits(locks._driver.connection))
            if not locks._driver.postgres and begun(own.connection):  # SET autocommit would commit it; on PostgreSQL drivers refuse it
                raise InvalidArgument("connect must return a connection of the lease's own, and this one is in a transaction", "connect")
            await settled(set_autocommit(own.connection, True))
        except BaseException:
            with contextlib.suppress(Exception):
                await settled(self._take_back(given))
            raise
        return own

    async def _close(self, own: Own | None) -> None:
        """Close the given connection, or give it back to its pool, which may use it again."""
        if own is None or not self._is_ours():
            return
        with contextlib.suppress(Exception):  # it may have failed before
            if not own.autocommit:
                await settled(set_autocommit(own.connection, False))
        with contextlib.suppress(Exception):
            await settled(self._take_back(own.given))

    async def _acquire(self) -> None:
        give_up, pause, waiting = now() + self._wait, 0.02, False
        try:
            while (refusal := await self._attempt()) is not None:
                left = give_up - now()
                if left <= 0:
                    raise refusal
                self._refuse_itself(refusal)
                try:
                    if waiting:
                        await self._until_free(give_up, pause)
                        pause = min(pause * 2, 1)
                    else:  # and once more: it may have become free before this waiter was listed
                        waiting = True
                        await self._announce(left)
                except Exception as error:
                    if not is_busy(error):
                        raise
        finally:
            if waiting and self._is_ours():
                with contextlib.suppress(Exception):  # it ends by itself
                    await self._retract()

    def _refuse_itself(self, refusal: Exception) -> None:
        """Raise InvalidArgument if it is this block that has the object: it would wait for its own end."""
        holder = refusal.answer.holder if isinstance(refusal, Held) else None
        if holder and self._entered.get(holder.operator) == self._who():
            raise InvalidArgument(f"a lease of {self._name} has been entered here already, and this one would wait for its end: use that one", "wait")

    async def _attempt(self) -> Exception | None:
        """Make one attempt, and return why it failed."""
        asked, self._is_unknown = now(), True
        try:
            answer: Answer = await settled(self._own.locks.get(
                self.object_type, self.object_id, self.operator, department=self._department, ttl=self._ttl))
        except Exception as error:
            self._is_unknown = not has_done_nothing(error)
            if not is_busy(error):
                raise
            return error
        if not answer:
            self._is_unknown = False
            return Held(answer)
        self.fence = answer.fence
        self._trust(asked)
        return None

    async def _announce(self, left: float) -> None:
        if self._can_listen():
            with contextlib.suppress(Exception):  # polls work without it
                await settled(self._own.connection.execute(f'LISTEN "{self._own.locks._schema}_appl_lock"'))
        await settled(self._own.locks.announce(
            self.object_type, self.object_id, self.operator, self.operator, department=self._department,
            wait=None if left == math.inf else math.ceil(left)))

    async def _retract(self) -> None:
        if self._can_listen():
            await settled(self._own.connection.execute("UNLISTEN *"))
        await settled(self._own.locks.retract(self.object_type, self.object_id, self.operator, self.operator))

    def _can_listen(self) -> bool:
        return callable(getattr(self._own.connection, "notifies", None))  # psycopg 3

    async def _until_free(self, give_up: float, pause: float) -> None:
        """Poll until the object may be free or the wait is over. A poll keeps the waiter listed."""
        while (left := give_up - now()) > 0:
            await self._hear_of_release(min(pause * random.uniform(0.5, 1), left))
            rows = await settled(self._own.locks.poll(self.operator))
            if not rows:  # a server that took over may not have the waiters
                return await self._announce(max(give_up - now(), 1))
            if rows[0].free_in_us == 0:
                if rows[0].first_fl == "N":  # a moment for the program whose turn it is
                    await self._wait_for(self._ended, min(0.05, left))
                return
            pause = min(pause * 2, 1, rows[0].free_in_us / 1e6)

    async def _hear_of_release(self, pause: float) -> None:
        """Return after a pause, or earlier at a message of a release. A message can be lost."""
        if self._can_listen():
            await self._notified(pause)
        else:
            await self._wait_for(self._ended, pause)

    def _trust(self, asked: float) -> None:
        """Start the time for which this process trusts the lock: from before the call, and a little less than in the database."""
        if self._watchdog:
            self._watchdog.cancel()
        self._deadline = asked + self._ttl - min(self._ttl / 10, 1)
        self._watchdog = self._later(self._deadline - now(), self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        if now() >= self._deadline and not self._ended.is_set():
            self.lost.set()

    async def _keep(self) -> None:
        """Renew until the lease ends or is lost. A failed connection is replaced."""
        own, ended, pause, soon = None, self._ended, self._ttl / 3, min(self._ttl / 10, 1)
        try:
            while not await self._wait_for(ended, pause) and not self.lost.is_set():
                asked, pause = now(), soon
                try:
                    own = own or await self._open()
                    grant = Grant(self.object_type, self.object_id, self.operator, self.fence, self._ttl)
                    renewed = await settled(own.locks.renew([grant]))
                except Exception:
                    await self._close(own)
                    own = None
                    continue
                if ended.is_set():
                    return
                if not renewed:  # another transaction is asserting it
                    continue
                if not renewed[0]:
                    self.lost.set()
                    return
                self._trust(asked)
                pause = self._ttl / 3
        finally:
            await self._close(own)

    async def _give_back(self) -> None:
        """Release what a failed entry may have taken, and once more later if the get had no answer."""
        if self._watchdog:
            self._watchdog.cancel()
        if self.fence or self._is_unknown:
            outcome = ""
            with contextlib.suppress(Exception):
                outcome, _ = await self._release()
            if outcome != "RELEASED":
                self._background(self._give_back_later(self.operator))
        await self._close(self._own)

    async def _give_back_later(self, operator: str) -> None:
        for pause in LATE:
            await self._sleep(pause)
            own, outcome = None, ""
            with contextlib.suppress(Exception):
                own = await self._open()
                outcome = (await settled(own.locks.release(self.object_type, self.object_id, operator))).outcome
            await self._close(own)
            if outcome == "RELEASED":
                return

    async def _release(self) -> tuple[str, bool]:
        """Release the grant, and return the outcome and whether it was the second call. A failed connection is replaced once."""
        for is_second in False, True:
            try:
                self._own = self._own or await self._open()
                answer = await settled(self._own.locks.release(self.object_type, self.object_id, self.operator, self.fence or None))
                return answer.outcome, is_second
            except Exception as error:
                if is_second or isinstance(error, ApplockError) and not is_busy(error):
                    raise
                await self._close(self._own)
                self._own = None
        raise AssertionError("unreachable")

    # Blocking in Lease, and awaited in AsyncLease.

    @abc.abstractmethod
    def _who(self) -> tuple[int, Any]: ...

    @abc.abstractmethod
    def _event(self) -> Any: ...

    @abc.abstractmethod
    def _background(self, work: Coroutine[Any, Any, None]) -> Any: ...

    @abc.abstractmethod
    def _later(self, delay: float, do: Callable[[], None]) -> Any: ...

    @abc.abstractmethod
    async def _join(self, background: Any) -> None: ...

    @abc.abstractmethod
    async def _sleep(self, pause: float) -> None: ...

    @abc.abstractmethod
    async def _wait_for(self, event: Any, pause: float) -> bool: ...

    @abc.abstractmethod
    async def _notified(self, pause: float) -> None: ...

    @abc.abstractmethod
    async def _shielded(self, work: Coroutine[Any, Any, None]) -> None: ...


class Lease(Leased):
    """A lock for as long as a ``with`` block runs, renewed by a thread.

    ``connect`` makes new connections, which the lease closes: one to get and to release, and from the first renewal on another one. A pool of
    psycopg, psycopg2 or mysql-connector-python, or an engine of SQLAlchemy, gets them back. Each entry has its own ``operator``, so that
    two entries never share the object.

    ``ttl`` is how long the object stays locked after a crash, in whole seconds. The lease is renewed every third of it. ``wait`` is how many
    seconds to wait for a held object; None is no limit. Held names the holder.

    The event ``lost`` is set when the lock was taken, or could not be renewed in time. Then check() raises Lost, and so does the end of
    a block without an exception. After the block, and in a process that was forked in it, the event is set, too, and check() raises Lost.
    A block that was paused cannot know: pass ``operator`` and ``fence`` to assert_held in the transaction that writes.
    """

    _kind = Locks
    lost: threading.Event

    def __enter__(self) -> Self:
        return at_one_go(self._enter())

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not self._is_left_by_a_child(error):
            at_one_go(self._exit(error))

    def _who(self) -> tuple[int, Any]:
        return os.getpid(), threading.get_ident()

    def _event(self) -> Signal:
        return Signal()

    def _background(self, work: Coroutine[Any, Any, None]) -> threading.Thread:
        thread = threading.Thread(target=at_one_go, args=(work,), name="applock lease", daemon=True)
        thread.start()
        return thread

    def _later(self, delay: float, do: Callable[[], None]) -> threading.Timer:
        timer = threading.Timer(delay, do)
        timer.daemon = True
        timer.start()
        return timer

    async def _join(self, background: threading.Thread) -> None:
        background.join(1)  # it ends by itself, when a call of its own does

    async def _sleep(self, pause: float) -> None:
        time.sleep(pause)

    async def _wait_for(self, event: threading.Event, pause: float) -> bool:
        return event.wait(pause)

    async def _notified(self, pause: float) -> None:
        for notice in self._own.connection.notifies(timeout=pause):
            if notice.payload == self._name:
                return

    async def _shielded(self, work: Coroutine[Any, Any, None]) -> None:
        await work


class AsyncLease(Leased):
    """The lease of a task, for ``async with``: like Lease, but ``connect`` is awaited, and ``lost`` is an event of asyncio."""

    _kind = AsyncLocks
    lost: asyncio.Event
    _tasks: ClassVar[set[asyncio.Task[None]]] = set()  # the event loop keeps none

    async def __aenter__(self) -> Self:
        return await self._enter()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not self._is_left_by_a_child(error):
            await self._shielded(self._exit(error))

    def _who(self) -> tuple[int, Any]:
        return os.getpid(), asyncio.current_task()

    def _event(self) -> AsyncSignal:
        return AsyncSignal()

    def _background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _later(self, delay: float, do: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay, do)

    async def _join(self, background: asyncio.Task[None]) -> None:
        await asyncio.wait({background}, timeout=1)
        background.cancel()

    async def _sleep(self, pause: float) -> None:
        await asyncio.sleep(pause)

    async def _wait_for(self, event: asyncio.Event, pause: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), pause)
        return event.is_set()

    async def _notified(self, pause: float) -> None:
        async with contextlib.aclosing(self._own.connection.notifies(timeout=pause)) as notices:
            async for notice in notices:
                if notice.payload == self._name:
                    return

    async def _shielded(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.shield(self._background(work))


def at_one_go(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for an event loop."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise InvalidArgument("Lease is for connections that block: use AsyncLease for this connect", "connect")
