"""A lock for as long as a block of a program runs, renewed meanwhile by a thread: copy this file beside applock.py.

    with Lease(connect, "job", "report", ttl=30, wait=10) as lease:
        for page in pages:
            lease.check()
            publish(page, lease.fence)
"""

import contextlib
import math
import os
import random
import secrets
import socket
import threading
import time

import applock


class Held(Exception):
    """Somebody else has it: answer tells who, in old_operator_id and old_department_id, and for how many seconds."""

    def __init__(self, answer):
        super().__init__("held by {} for {} s".format(answer.old_operator_id, answer.seconds_left))
        self.answer = answer


class Lost(Exception):
    """The lease had ended before its block did, so that the block may not have been alone."""


class Lease:
    """connect is called for new connections, which the lease closes: one while the block runs, and from the first renewal on
    another one, of the thread. Each entry has an operator of its own, so that two never share the object.

    ttl is how many seconds the object stays locked after a crash; it is renewed every third of it. wait is how many
    seconds to wait for whoever has it, None is without a limit. Held says who has it still.

    The event lost is set when the lock has been taken away, and when it could not be renewed in time; check() raises Lost
    then, and so does the end of a block that has gone well. A block that was paused does not know: pass operator and fence to
    assert_held in the transaction that writes.
    """

    def __init__(self, connect, object_type, object_id, ttl=30, wait=0, department=None, schema=None):
        if ttl < 1 or ttl != int(ttl):
            raise ValueError("ttl must be a whole number of seconds")
        self.object_type, self.object_id, self.department = object_type, applock.str_or_none(object_id), department
        self._connect, self._schema, self._ttl = connect, schema, int(ttl)
        self._wait = math.inf if wait is None else wait

    def __enter__(self):
        self.operator = "{:.30}/{}/{}".format(socket.gethostname(), os.getpid(), secrets.token_hex(8))
        self.fence = None
        self.lost = threading.Event()
        self._ended = threading.Event()
        self._watchdog = None
        self._locks = self._open()
        try:
            self._acquire()
            self.check()
        except BaseException:
            self._ended.set()
            with contextlib.suppress(Exception):  # what is left ends after the ttl
                self._release()
            close(self._locks)
            raise
        self._keeper = threading.Thread(target=self._keep, name="applock lease", daemon=True)
        self._keeper.start()
        return self

    def __exit__(self, kind, error, trace):
        with contextlib.suppress(Lost):
            self.check()
        self._ended.set()
        self._watchdog.cancel()
        try:
            if not self._release():
                self.lost.set()
        except Exception:
            if error is None and not self.lost.is_set():
                raise
        finally:
            close(self._locks)
            self._keeper.join(1)  # it ends by itself, when a call of its own does
        if error is None:
            self.check()

    def check(self):
        """Raise Lost unless the lease may be trusted, by the clock of this process, too."""
        self._look_at_the_clock()
        if self.lost.is_set():
            raise Lost("the lock of {}:{} is lost".format(self.object_type, self.object_id))

    def _open(self):
        connection = self._connect()
        if callable(connection.autocommit):  # PyMySQL
            connection.autocommit(True)
        else:
            connection.autocommit = True
        return applock.Locks(connection, self._schema)

    def _acquire(self):
        give_up, pause = time.monotonic() + self._wait, 0.02
        while True:
            asked = time.monotonic()
            try:
                answer = self._locks.get(self.object_type, self.object_id, self.operator, self.department, self._ttl)
                if answer:
                    self.fence = answer.fence
                    return self._trust(asked)
                refusal = Held(answer)
            except Exception as error:
                if not is_busy(error):
                    raise
                refusal = error
            left = give_up - time.monotonic()
            if left <= 0:
                raise refusal
            time.sleep(min(pause * random.uniform(0.5, 1), left))
            pause = min(pause * 2, 1)

    def _trust(self, asked):
        """Begin the time for which the lock counts here: a little less than in the database, from before the call."""
        if self._watchdog:
            self._watchdog.cancel()
        self._deadline = asked + self._ttl - min(self._ttl / 10, 1)
        self._watchdog = threading.Timer(self._deadline - time.monotonic(), self._look_at_the_clock)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _look_at_the_clock(self):
        if time.monotonic() >= self._deadline and not self._ended.is_set():
            self.lost.set()

    def _keep(self):
        """Renew, until the lease ends or is lost. A connection that fails is replaced."""
        locks, pause = None, self._ttl / 3
        while not self._ended.wait(pause) and not self.lost.is_set():
            asked = time.monotonic()
            try:
                locks = locks or self._open()
                renewed = locks.renew([{
                    "object_type": self.object_type, "object_id": self.object_id, "operator_id": self.operator,
                    "fence": self.fence, "ttl_seconds": self._ttl,
                }])[0]
            except Exception:
                close(locks)
                locks, pause = None, min(self._ttl / 10, 1)
                continue
            if renewed.outcome != "RENEWED":
                if not self._ended.is_set():
                    self.lost.set()
                break
            self._trust(asked)
            pause = self._ttl / 3
        close(locks)

    def _release(self):
        """Release the grant, and tell whether it was there. A connection that fails is replaced, once."""
        released = ("RELEASED",)
        while True:
            try:
                self._locks = self._locks or self._open()
                answer = self._locks.release(self.object_type, self.object_id, self.operator, self.fence)
                return answer.outcome in released
            except Exception as error:
                if len(released) > 1 or isinstance(error, applock.LockError) and not is_busy(error):
                    raise
                close(self._locks)
                self._locks, released = None, ("RELEASED", "FREE")  # the first call may have done it


def is_busy(error):
    """Tell whether a call has changed nothing because others were in its way, so that it may be made again."""
    codes = {getattr(error, name, None) for name in ("sqlstate", "pgcode", "errno")} | set(error.args[:1])
    return bool(codes & {"LK003", "40001", "40P01", "55P03", 1020, 1205, 1213})


def close(locks):
    with contextlib.suppress(Exception):  # it may have failed before
        if locks:
            locks._connection.close()
