"""Plays the scenarios for clients/player_test.go through applock.py: player.py DRIVER"""

import os
import platform
import sys
import time
from datetime import datetime
from importlib.metadata import version

import applock

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
UNESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def connect(driver):
    if driver == "psycopg":
        import psycopg
        return psycopg.connect(autocommit=True)
    if driver == "psycopg2":
        import psycopg2
        connection = psycopg2.connect("")
        connection.autocommit = True
        return connection
    settings = {
        "host": os.environ["MYSQL_HOST"], "port": int(os.environ["MYSQL_TCP_PORT"]), "user": os.environ["MYSQL_USER"],
        "password": os.environ["MYSQL_PWD"], "database": os.environ["MYSQL_DATABASE"], "autocommit": True,
    }
    if driver == "PyMySQL":
        import pymysql
        return pymysql.connect(**settings)
    import mysql.connector
    return mysql.connector.connect(**settings)


def encode(value):
    if value is None:
        return "\\N"
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


def page(a):
    return {"after_type": a[0], "after_id": a[1], "max_rows": number(a[2]), "dry_run": a[3]}


def say(*fields):
    print("\t".join(map(encode, fields)), flush=True)


class Player:
    def __init__(self, driver):
        self.driver = driver
        self.connection = connect(driver)
        self.locks = applock.Locks(self.connection)

    def versions(self):
        return [["Python " + platform.python_version(), self.driver + " " + version(self.driver.replace("psycopg2", "psycopg2-binary"))]]

    def increment(self, operator):
        """The counter, between whose read and write the runner decides how long it takes."""
        while operator and not self.locks.get("counter", 1, operator, ttl=60):
            time.sleep(0.01)
        cursor = self.connection.cursor()
        cursor.execute("SELECT n FROM counter")
        n = cursor.fetchone()[0]
        say("read", n)
        sys.stdin.readline()
        cursor.execute("UPDATE counter SET n = %s", (n + 1,))
        if operator:
            self.locks.release("counter", 1, operator)
        return []

    def renew(self, *fields):
        names = ["object_type", "object_id", "operator_id", "fence", "ttl_seconds"]
        grants = [dict(zip(names, fields[i:i + 5])) for i in range(0, len(fields), 5)]
        for grant in grants:
            grant.update(fence=number(grant["fence"]), ttl_seconds=number(grant["ttl_seconds"]))
        return self.locks.renew(grants)

    def read(self, view, fields):
        filters = dict(zip(fields[::2], fields[1::2]))
        max_rows = int(filters.pop("max_rows", 1000))
        key = [name for name in filters if name.startswith("after_")]
        after = applock.Answer(**{name.removeprefix("after_"): filters.pop(name) for name in key}) if key else None
        return self.locks.read(view, after, max_rows, **filters)

    def play(self, operation, a):
        """The rows that an operation answers with; a are its arguments."""
        locks = self.locks
        match operation:
            case "versions": return self.versions()
            case "increment": return self.increment(*a)
            case "get_appl_lock": return [locks.get(*a[:4], number(a[4]), a[5])]
            case "get_appl_lock_permit": return locks.permit(*a[:2], number(a[2]), *a[3:5], number(a[5]))
            case "release_appl_lock": return [locks.release(*a[:3], number(a[3]), *a[4:6])]
            case "inquire_appl_lock": return [locks.inquire(*a)]
            case "transfer_appl_lock": return [locks.transfer(*a[:5], number(a[5]), *a[6:8])]
            case "note_appl_lock": return [locks.note(*a[:3], number(a[3]), a[4])]
            case "purge_appl_locks": return [[locks.purge(number(a[0]), number(a[1]))]]
            case "purge_appl_lock_history": return [[locks.purge_history(number(a[0]), number(a[1]))]]
            case "assert_appl_lock": return [locks.assert_held(*a[:3], number(a[3]))]
            case "serialize_appl_lock": return [locks.serialize(*a)]
            case "transfer_appl_locks":
                return locks.transfer_all(a[0], *a[2:4], number(a[4]), *a[5:7], object_type=a[1], **page(a[7:]))
            case "release_appl_locks": return locks.release_all(a[0], *a[2:4], object_type=a[1], **page(a[4:]))
            case "renew_appl_locks": return self.renew(*a)
            case "announce_appl_lock_waiter": return [locks.announce(*a[:5], number(a[5]))]
            case "retract_appl_lock_waiter": return [locks.retract(*a)]
            case "poll_appl_locks": return locks.poll(a[0], number(a[1]))
            case "take_appl_lock": return [locks.take(*a[:3], a[4], a[3], number(a[5]), number(a[6]))]
            case "inbox_appl_locks": return locks.inbox(a[0], number(a[1]), number(a[2]))
            case "set_appl_lock_policy": return [locks.set_policy(a[0], *map(number, a[1:3]), *a[3:7])]
            case "drop_appl_lock_policy": return [locks.drop_policy(*a)]
            case view if view in applock.KEYS: return self.read(view, a)
        raise ValueError("unknown operation " + operation)


def main():
    player = Player(sys.argv[1])
    for line in sys.stdin:
        operation, *arguments = map(decode, line.rstrip("\n").split("\t"))
        try:
            rows = player.play(operation, arguments)
        except applock.LockError as error:
            say("error", error.sqlstate, str(error))
            continue
        for row in rows:
            if row is not None:
                say("row", *(vars(row).values() if isinstance(row, applock.Answer) else row))
        say("end")


sys.stdin.reconfigure(encoding="utf-8", newline="\n")
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
main()
