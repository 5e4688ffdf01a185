"""Application locks in the database: who is working on what, since when, until when, and may I?

    locks = Locks(psycopg.connect(autocommit=True))
    lock = locks.get("customer", 42, "JDOE", ttl=3600)
    if not lock:
        print("held by", lock.holder)

Lease and AsyncLease hold a lock for as long as a block runs.
"""

from ._answers import Answer, Grant, Holder, Lock, Permit, Row, Slot
from ._errors import ApplockError, Contention, Held, InvalidArgument, Lost, WrongVersion
from ._lease import AsyncLease, Lease
from ._locks import CONTRACT, AsyncLocks, Locks

__all__ = [
    "CONTRACT", "Answer", "ApplockError", "AsyncLease", "AsyncLocks", "Contention", "Grant", "Held", "Holder", "InvalidArgument", "Lease",
    "Lock", "Locks", "Lost", "Permit", "Row", "Slot", "WrongVersion",
]
