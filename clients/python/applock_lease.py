"""A lock for as long as a block of a program runs, renewed meanwhile: copy this file beside applock.py.

    with Lease(connect, "job", "report", ttl=60) as lease:
        for page in pages:
            lease.check()
            publish(page, lease.fence)
"""

import os
import socket
import threading
import time
import uuid

import applock


class Held(Exception):
    """Somebody else has it; answer tells who, and for how many seconds."""

    def __init__(self, answer):
        super().__init__("held by {} for {} s".format(answer.old_operator_id, answer.seconds_left))
        self.answer = answer


class Lost(Exception):
    """The lock is somebody else's, or may be: stop, and write nothing more."""


class Lease:
    """connect() returns a new connection with autocommit. The lease has it to itself, and closes it.

    wait is for how many seconds to wait for another holder, None for ever. After the end of a process that was killed, its
    lock lasts for at most ttl seconds. lost is an Event: it is set when the lock has been taken away, and also when it could not be
    renewed in time, because it may be gone then. fence is greater for each later holder: have what you write compare it.
    """

    def __init__(self, connect, object_type, object_id, ttl=60, wait=0, operator=None, department=None):
        self._connect = connect
        self._object = (object_type, object_id)
        self._ttl = ttl
        self._wait = wait
        # A get of the same operator is a renewal: two programs with one name would both have the lock.
        self._operator = operator or "{:.20}:{}:{}".format(socket.gethostname(), os.getpid(), uuid.uuid4().hex[:12])
        self._department = department
        self._ended = threading.Event()
        self.lost = threading.Event()
        self.fence = None

    def check(self):
        """Raise Lost if it is."""
        if self.lost.is_set() or time.monotonic() >= self._until:
            raise Lost("the lock of {}:{} is lost".format(*self._object))

    def __enter__(self):
        self._connection = self._connect()
        try:
            self._get()
        except BaseException:
            self._connection.close()
            raise
        self._renewal = threading.Thread(target=self._renew, daemon=True)
        self._renewal.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._renewal.join()
        try:
            if not self.lost.is_set():
                applock.Locks(self._connection).release(*self._object, self._operator, self.fence)
        finally:
            self._connection.close()

    def _get(self):
        locks = applock.Locks(self._connection)
        give_up = None if self._wait is None else time.monotonic() + self._wait
        while True:
            before = time.monotonic()
            answer = locks.get(*self._object, self._operator, self._department, self._ttl)
            if answer:
                self.fence, self._until = answer.fence, before + self._ttl
                return
            if give_up is not None and time.monotonic() >= give_up:
                raise Held(answer)
            time.sleep(0.25)

    def _renew(self):
        """Three times in the life of a grant. The time counts from before the call: the database's clock has then begun."""
        pause = self._ttl / 3
        while not self._ended.wait(pause):
            before = time.monotonic()
            outcome = self._renew_once()
            if outcome == "RENEWED":
                self._until, pause = before + self._ttl, self._ttl / 3
            elif outcome is not None or time.monotonic() >= self._until:
                self.lost.set()
                return
            else:
                pause = min(1, self._ttl / 10)

    def _renew_once(self):
        """What became of the grant, or None if nobody could tell. Then the connection may be broken, and the next call has another."""
        grant = dict(zip(("object_type", "object_id"), map(str, self._object)),
                     operator_id=self._operator, fence=self.fence, ttl_seconds=self._ttl)
        try:
            answers = applock.Locks(self._connection).renew([grant])
            return answers[0].outcome if answers else None
        except Exception:
            self._reconnect()
            return None

    def _reconnect(self):
        try:
            self._connection.close()
        except Exception:
            pass  # it is broken
        try:
            self._connection = self._connect()
        except Exception:
            pass  # the next attempt fails, and comes here again
