"""Plays the scenarios for clients/player_test.go through the installed package: player.py DRIVER"""

import asyncio
import dataclasses
import os
import platform
import sys
import time
from datetime import datetime
from importlib.metadata import version

import applock

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}

# The OUT parameters, or the columns, of what is not answered by rows of these names, as fields of the library's answers.
HOLDER = ["old_operator", "old_department"]
END = ["expires_at", "seconds_left"]
TIMES = ["acquired_at", *END]
COLUMNS = {
    "get_appl_lock": ["ok_fl", "outcome", *HOLDER, "fence", *TIMES, "note"],
    "get_appl_lock_permit": ["outcome", "slot_id", "operator", "department", "fence", *TIMES, "note"],
    "inquire_appl_lock": ["ok_fl", "operator", "department", "fence", "acquired_at", "locked_at", *END, "note"],
    "transfer_appl_lock": ["ok_fl", "outcome", *HOLDER, "fence", *TIMES],
    "take_appl_lock": ["ok_fl", "outcome", *HOLDER, "fence", *TIMES],
    "release_appl_lock": ["ok_fl", "outcome", *HOLDER],
    "note_appl_lock": ["ok_fl", "outcome", *HOLDER],
    "transfer_appl_locks": ["object_type", "object_id", "outcome", *HOLDER, "fence", *END],
    "release_appl_locks": ["object_type", "object_id", "outcome", *HOLDER, "fence", *END],
    "renew_appl_locks": ["object_type", "object_id", "outcome", *HOLDER, *TIMES],
    "ask_appl_lock": ["ok_fl", "outcome", *HOLDER, "fence", *TIMES],
    "answer_appl_lock": ["ok_fl", "outcome", *HOLDER, *TIMES],
    "set_appl_lock_policy": ["ok_fl", "outcome"],
    "drop_appl_lock_policy": ["ok_fl", "outcome"],
}
FREE = dict(operator="", department="", fence=0, seconds_left=0, note="")
FLAGS = {"new": "p_new_fl", "dry_run": "p_dry_run_fl", "take_reason": "p_take_reason_fl", "presence": "p_presence_fl"}
VIEWS = ("appl_lock_live", "appl_lock_waiting", "appl_lock_asking", "appl_lock_viewers", "appl_lock_history", "appl_lock_policies",
         "appl_lock_stats")


def connect(driver, **options):
    """Connect to the database that the environment names, with options of the driver's."""
    if driver == "psycopg":
        import psycopg
        return psycopg.connect(**options)
    if driver == "psycopg-async":
        import psycopg
        return psycopg.AsyncConnection.connect(**options)
    if driver == "psycopg2":
        import psycopg2
        autocommit = options.pop("autocommit", False)
        connection = psycopg2.connect("", **options)
        connection.autocommit = autocommit
        return connection
    settings = dict(host=os.environ["MYSQL_HOST"], port=int(os.environ["MYSQL_TCP_PORT"]), user=os.environ["MYSQL_USER"],
                    password=os.environ["MYSQL_PWD"], database=os.environ["MYSQL_DATABASE"], **options)
    if driver == "PyMySQL":
        import pymysql
        return pymysql.connect(**settings)
    if driver == "mysqlclient":
        import MySQLdb
        return MySQLdb.connect(**settings)
    import mysql.connector
    return mysql.connector.connect(**settings)


def encode(value):
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    return "".join(ESCAPES.get(character, character) for character in str(value))


def decode(field):
    if field == "\\N":
        return None
    parts = field.split("\\\\")
    return "\\".join(part.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r") for part in parts)


def number(text):
    return None if text is None else int(text)


def flag(text):
    """A flag as the library takes it. What is none it is to refuse."""
    return {"Y": True, "N": False, "": False, None: None}.get(text and text.rstrip(), text)


def page(a):
    after = None if a[:2] == [None, None] else applock.Answer(granted=True, outcome="", object_type=a[0], object_id=a[1])
    return {"after": after, "max_rows": number(a[2]), "dry_run": flag(a[3])}


def say(*fields):
    print("\t".join(map(encode, fields)), flush=True)


def rows(operation, answer):
    """The rows of the database that the library has made this answer of, each behind what it says of granted."""
    if isinstance(answer, list):
        return [row for each in answer for row in rows(operation, each)]
    if isinstance(answer, applock.Row):
        return [vars(answer).values()]
    if isinstance(answer, int):
        return [[answer]]
    if operation not in COLUMNS:
        return []
    fields = FREE if answer is None else {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    holder = fields.get("holder") or fields.get("former") or applock.Holder("", "")
    fields = fields | {
        "ok_fl": "Y" if fields.get("granted", answer is not None) else "N",
        "old_operator": holder.operator, "old_department": holder.department,
    }
    truth = [fields["granted"]] if "granted" in fields else []
    slots = [dataclasses.asdict(slot) for slot in fields.get("holders") or []] or [{}]
    return [[*truth, *map((fields | slot).get, COLUMNS[operation])] for slot in slots]


class Player:
    def __init__(self, driver):
        self.driver = driver
        self.loop = asyncio.new_event_loop()
        self.connection = self.settled(connect(driver, autocommit=True))
        self.locks = (applock.AsyncLocks if driver.endswith("async") else applock.Locks)(self.connection)

    def settled(self, value):
        return self.loop.run_until_complete(value) if asyncio.iscoroutine(value) else value

    def versions(self):
        package = {"psycopg2": "psycopg2-binary", "psycopg-async": "psycopg"}.get(self.driver, self.driver)
        return [["Python " + platform.python_version(), self.driver + " " + version(package)]]

    def execute(self, statement):
        cursor = self.connection.cursor()
        self.settled(cursor.execute(statement))
        return self.settled(cursor.fetchone()) if cursor.description else None

    def increment(self, operator):
        while operator and not self.settled(self.locks.get("counter", 1, operator, ttl=60)):
            time.sleep(0.01)
        self.count()
        if operator:
            self.settled(self.locks.release("counter", 1, operator))
        return []

    def increment_leased(self):
        with applock.Lease(lambda: connect(self.driver), "counter", 1, wait=None):
            self.count()
        return []

    def count(self):
        """The counter, between whose read and write the runner decides how long it takes."""
        n, = self.execute("SELECT n FROM counter")
        say("read", n)
        sys.stdin.readline()
        self.execute(f"UPDATE counter SET n = {n + 1}")

    def within(self, call):
        """Make a call in a transaction of its own."""
        self.execute("BEGIN")
        try:
            self.settled(call())
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def renew(self, *fields):
        each = [fields[i:i + 5] for i in range(0, len(fields), 5)]
        return self.locks.renew([applock.Grant(*grant[:3], number(grant[3]), number(grant[4])) for grant in each])

    def read(self, view, fields):
        filters = dict(zip(fields[::2], fields[1::2]))
        if "since_seconds" in filters:
            filters["since_seconds"] = int(filters["since_seconds"])
        max_rows = int(filters.pop("max_rows", 1000))
        key = [name for name in filters if name.startswith("after_")]
        after = applock.Row(**{name.removeprefix("after_"): filters.pop(name) for name in key}) if key else None
        return self.locks.read(view, after=after, max_rows=max_rows, **filters)

    def play(self, operation, a):
        """What an operation answers; a are its arguments."""
        locks = self.locks
        match operation:
            case "get_appl_lock": return locks.get(*a[:3], department=a[3], ttl=number(a[4]), new=flag(a[5]))
            case "get_appl_lock_permit": return locks.permit(*a[:2], number(a[2]), a[3], department=a[4], ttl=number(a[5]))
            case "release_appl_lock": return locks.release(*a[:3], number(a[3]), actor=a[4], reason=a[5])
            case "inquire_appl_lock": return locks.inquire(*a)
            case "transfer_appl_lock":
                return locks.transfer(*a[:4], to_department=a[4], ttl=number(a[5]), actor=a[6], reason=a[7])
            case "note_appl_lock": return locks.note(*a[:3], a[4], fence=number(a[3]))
            case "purge_appl_locks": return locks.purge(older_than=number(a[0]), max_rows=number(a[1]))
            case "purge_appl_lock_history": return locks.purge_history(older_than=number(a[0]), max_rows=number(a[1]))
            case "assert_appl_lock": return self.within(lambda: locks.assert_held(*a[:3], number(a[3])))
            case "serialize_appl_lock": return self.within(lambda: locks.serialize(*a))
            case "transfer_appl_locks":
                return locks.transfer_all(a[0], a[2], to_department=a[3], ttl=number(a[4]), actor=a[5], reason=a[6], object_type=a[1],
                                          **page(a[7:]))
            case "release_appl_locks": return locks.release_all(a[0], actor=a[2], reason=a[3], object_type=a[1], **page(a[4:]))
            case "renew_appl_locks": return self.renew(*a)
            case "announce_appl_lock_waiter": return locks.announce(*a[:3], a[4], department=a[3], wait=number(a[5]))
            case "retract_appl_lock_waiter": return locks.retract(*a)
            case "poll_appl_locks": return locks.poll(a[0], max_rows=number(a[1]))
            case "take_appl_lock":
                return locks.take(*a[:3], a[4], department=a[3], expected_fence=number(a[5]), ttl=number(a[6]))
            case "inbox_appl_locks": return locks.inbox(a[0], position=a[1], max_rows=number(a[2]))
            case "ask_appl_lock": return locks.ask(*a[:3], a[4], a[5], department=a[3], wait=number(a[6]))
            case "answer_appl_lock": return locks.answer(*a[:3], number(a[3]), a[4], a[6], client=a[5], reason=a[7])
            case "see_appl_lock": return locks.see(*a[:3], a[4], a[5], department=a[3], ttl=number(a[6]))
            case "set_appl_lock_policy":
                return locks.set_policy(a[0], a[4], default_ttl=number(a[1]), longest_ttl=number(a[2]), take_reason={"Y": True, "N": False}.get(a[3], a[3]), reason=a[5],
                                        history=a[6], presence={"Y": True, "N": False}.get(a[7], a[7]), yield_after=number(a[8]))
            case "drop_appl_lock_policy": return locks.drop_policy(*a[:2], reason=a[2])
            case view if view in VIEWS: return self.read(view, a)
        raise ValueError("unknown operation " + operation)

    def answer(self, operation, arguments):
        match operation:
            case "versions": return self.versions()
            case "increment": return self.increment(*arguments)
            case "increment_leased": return self.increment_leased()
        return rows(operation, self.settled(self.play(operation, arguments)))


def main():
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    player = Player(sys.argv[1])
    for line in sys.stdin:
        operation, *arguments = map(decode, line.rstrip("\n").split("\t"))
        try:
            answer = player.answer(operation, arguments)
        except (applock.InvalidArgument, applock.Lost, applock.Contention) as error:
            argument = getattr(error, "argument", "")
            said = f"{operation}: {FLAGS[argument]} is refused: " if argument else ""
            say("error", error.sqlstate, said + str(error))
            continue
        for fields in answer:
            say("row", *fields)
        say("end")


if __name__ == "__main__":
    main()
