"""Application locks for psycopg 2 and 3, PyMySQL and mysql-connector-python: copy this file into your program.

The database decides; each method is one call of one procedure, or reads one view. The connection is yours, and so is the
transaction: what a method has done is final when you commit, or at once with autocommit.
"""

import json
import types
from datetime import datetime, timezone


# The views, and which columns tell a row from all others.
KEYS = {
    "appl_lock_live": ["object_type", "object_id"],
    "appl_lock_waiting": ["object_type", "object_id", "operator_id", "client_id"],
    "appl_lock_history": ["event_id"],
    "appl_lock_policies": ["object_type"],
    "appl_lock_stats": ["object_type", "department_id"],
}


class LockError(Exception):
    """A mistake of the caller, LK001 or LK002, or too much contention, LK003: call again then, and only then."""

    def __init__(self, sqlstate, message):
        super().__init__(message)
        self.sqlstate = sqlstate


class Answer(types.SimpleNamespace):
    """One row, with the names of procedures/README.md without "p_". It is true if its flag is Y."""

    def __bool__(self):
        return getattr(self, "ok_fl", "Y") == "Y"


class Locks:
    """The operations, on one connection. Ids may be of any type: they travel as text."""

    def __init__(self, connection, schema=None):
        self._connection = connection
        self._postgres = type(connection).__module__.startswith("psycopg")
        # On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
        schema = schema or ("applock" if self._postgres else None)
        self._prefix = schema + "." if schema else ""

    def get(self, object_type, object_id, operator, department=None, ttl=None, new=False):
        """Take or renew a lock for ttl seconds. A refusal is an answer that is false and has the holder.

        With new the operator's own live lock is refused, too."""
        return self._one("get_appl_lock_row", object_type, str_or_none(object_id), operator, department, ttl, flag(new))

    def permit(self, object_type, object_id, permits, operator, department=None, ttl=None):
        """Take or renew one of so many permits: one row with its slot, or one for each slot, whose outcome is FULL."""
        return self._call("get_appl_lock_permit", object_type, str_or_none(object_id), permits, operator, department, ttl)

    def release(self, object_type, object_id, operator, fence=None, actor=None, reason=None):
        """End a grant. By another actor, or with a reason, it is kept in the history."""
        return self._one("release_appl_lock_row", object_type, str_or_none(object_id), operator, fence, actor, reason)

    def inquire(self, object_type, object_id):
        return self._one("inquire_appl_lock_row", object_type, str_or_none(object_id))

    def transfer(self, object_type, object_id, from_operator, to_operator, to_department=None, ttl=None,
                 actor=None, reason=None):
        return self._one("transfer_appl_lock_row", object_type, str_or_none(object_id), from_operator, to_operator, to_department, ttl,
                         actor, reason)

    def take(self, object_type, object_id, operator, reason, department=None, expected_fence=None, ttl=None):
        """Take it from whoever holds it, or from the grant expected_fence only; the former holder reads why in its inbox."""
        return self._one("take_appl_lock_row", object_type, str_or_none(object_id), operator, department, reason, expected_fence, ttl)

    def transfer_all(self, from_operator, to_operator, to_department=None, ttl=None, actor=None, reason=None,
                     object_type=None, after_type=None, after_id=None, max_rows=None, dry_run=None):
        """Hand over one page of what an operator holds: a row for each lock. Fewer than max_rows are the last page."""
        return self._call("transfer_appl_locks", from_operator, object_type, to_operator, to_department, ttl, actor, reason,
                          after_type, str_or_none(after_id), max_rows, dry_run)

    def release_all(self, operator, actor=None, reason=None,
                    object_type=None, after_type=None, after_id=None, max_rows=None, dry_run=None):
        """Release one page of what an operator holds: a row for each lock. Fewer than max_rows are the last page."""
        return self._call("release_appl_locks", operator, object_type, actor, reason,
                          after_type, str_or_none(after_id), max_rows, dry_run)

    def note(self, object_type, object_id, operator, fence=None, note=None):
        """Say why the operator holds it, for whoever asks; no note takes that back."""
        return self._one("note_appl_lock_row", object_type, str_or_none(object_id), operator, fence, note)

    def purge(self, older_than=None, max_rows=None):
        """Remove what has been free for so many seconds, and return how many rows that were."""
        return self._one("purge_appl_locks_row", older_than, max_rows).purged

    def purge_history(self, older_than=None, max_rows=None):
        """Remove events that are so many seconds old, and return how many that were."""
        return self._one("purge_appl_lock_history_row", older_than, max_rows).purged

    def assert_held(self, object_type, object_id, operator, fence):
        """Raise LockError with LK002 unless this grant is live; it stays so until the transaction ends."""
        self._one("assert_appl_lock_row", object_type, str_or_none(object_id), operator, fence)

    def serialize(self, object_type, object_id):
        """Wait until no other transaction is inside, and stay inside until this one ends."""
        self._one("serialize_appl_lock_row", object_type, str_or_none(object_id))

    def renew(self, grants):
        """Renew many: each a dict with object_type, object_id, operator_id, fence and ttl_seconds."""
        return self._call("renew_appl_locks", json.dumps(grants, default=str))

    def announce(self, object_type, object_id, operator, department, client, wait=None):
        self._one("announce_appl_lock_waiter_row", object_type, str_or_none(object_id), operator, department, client, wait)

    def retract(self, object_type, object_id, operator, client):
        self._one("retract_appl_lock_waiter_row", object_type, str_or_none(object_id), operator, client)

    def poll(self, client, max_rows=None):
        return self._call("poll_appl_locks", client, max_rows)

    def set_policy(self, object_type, default_ttl=None, longest_ttl=None, take_reason=None, actor=None, reason=None, history=None):
        """Lay down for a type how long its locks last, at first and at most, in seconds; what is not given is none.

        history is ALL or CHANGES: whether the history is told each get, renewal, refusal and release."""
        return self._one("set_appl_lock_policy_row", object_type, default_ttl, longest_ttl, take_reason, actor, reason, history)

    def drop_policy(self, object_type, actor=None, reason=None):
        return self._one("drop_appl_lock_policy_row", object_type, actor, reason)

    def inbox(self, operator, after_event_id=None, max_rows=None):
        """What others did with an operator's locks, and who waits for them.

        The next call passes the safe_event_id of any row: it may tell of an event twice, and never of none."""
        return self._call("inbox_appl_locks", operator, after_event_id, max_rows)

    def read(self, view, after=None, max_rows=1000, **filters):
        """One page of a view in the order of its key, behind the row after: the rows that have these values in these columns.

        appl_lock_history also has operator_id, who did, lost or got it, and since_seconds, how long ago it was at most."""
        conditions, arguments = [], []
        for name, value in filters.items():
            if value is None:
                continue
            if not name.isidentifier():
                raise ValueError("not a column: " + name)
            if name == "since_seconds":
                ago = "statement_timestamp() - {} * interval '1 second'" if self._postgres else "UTC_TIMESTAMP(6) - INTERVAL {} SECOND"
                conditions.append("event_ts >= " + ago.format(int(value)))
                continue
            of_event = view == "appl_lock_history" and name == "operator_id"
            conditions.append("%s IN (actor_id, from_operator_id, to_operator_id)" if of_event else name + " = %s")
            arguments.append(str(value))
        if after is not None:
            condition, values = self._behind(KEYS[view], [getattr(after, name) for name in KEYS[view]])
            conditions.append(condition)
            arguments.extend(values)
        where = " WHERE " + " AND ".join(conditions) if conditions else ""
        statement = "SELECT * FROM {}{}{} ORDER BY {} LIMIT {}".format(self._prefix, view, where, ", ".join(KEYS[view]), int(max_rows))
        return self._rows(statement, arguments)

    def _one(self, routine, *arguments):
        return self._call(routine, *arguments)[0]

    def _call(self, routine, *arguments):
        statement = "SELECT * FROM {}{}({})" if self._postgres else "CALL {}{}({})"
        return self._rows(statement.format(self._prefix, routine, ", ".join(["%s"] * len(arguments))), arguments)

    def _behind(self, key, values):
        """What comes after a row. MySQL and MariaDB read a range of the key only if it is written out."""
        if self._postgres:
            return "({}) > ({})".format(", ".join(key), ", ".join(["%s"] * len(key))), values
        if len(key) == 1:
            return key[0] + " > %s", values
        condition, further = self._behind(key[1:], values[1:])
        return "({0} > %s OR {0} = %s AND {1})".format(key[0], condition), [values[0], values[0], *further]

    def _rows(self, statement, arguments):
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement, arguments)
            names = [column[0].removeprefix("p_") for column in cursor.description]
            rows = [Answer(**dict(zip(names, map(in_utc, row)))) for row in cursor.fetchall()]
            # On MySQL and MariaDB a CALL ends with a result of its own, which must be read, too.
            while not self._postgres and cursor.nextset():
                pass
            return rows
        except Exception as error:
            state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""
            if state.startswith("LK"):
                raise LockError(state, str(error)) from error
            raise
        finally:
            cursor.close()


def flag(value):
    """Y for true, and text as it is."""
    return value if isinstance(value, str) else "Y" if value else None


def str_or_none(value):
    """PostgreSQL has no routine that takes an integer as an id."""
    return None if value is None else str(value)


def in_utc(value):
    """MySQL and MariaDB answer in UTC without saying so."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(timezone.utc) if value.tzinfo else value.replace(tzinfo=timezone.utc)
