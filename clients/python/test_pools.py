"""Tests of leases on pools, and of leases inside each other, which clients_test.go runs with each driver on each product."""

import asyncio
import os

import pytest

import applock
from applock import Held
from test_lease import ASYNC, DRIVER, LONG, Lease, connect, connect_with, connection, counted, locks, settled, until  # noqa: F401
from test_locks import POSTGRES


def pools():
    """The pools of the driver, each in the ways to hand it over."""
    if DRIVER == "psycopg2":
        from psycopg2.pool import ThreadedConnectionPool
        pool = ThreadedConnectionPool(1, 2, "")
        yield pool, pool.getconn
    elif POSTGRES:
        import psycopg_pool
        pool = (psycopg_pool.AsyncConnectionPool if ASYNC else psycopg_pool.ConnectionPool)("", min_size=1, max_size=2, timeout=LONG, open=False)
        settled(pool.open())
        yield pool, pool.getconn, pool.connection, lambda: pool.getconn()
        settled(pool.close())
    elif DRIVER == "mysql-connector-python":
        from mysql.connector.pooling import MySQLConnectionPool
        names = {"host": "HOST", "port": "TCP_PORT", "user": "USER", "password": "PWD", "database": "DATABASE"}
        pool = MySQLConnectionPool(pool_size=2, pool_name="leases", **{name: os.environ["MYSQL_" + of] for name, of in names.items()})
        yield pool, pool.get_connection
    if ASYNC:
        opened = []
        engine = async_engine(counted(opened))
        yield engine, engine.raw_connection, lambda: engine.raw_connection()
        settled(engine.dispose())
        assert len(opened) == 2
    else:
        import sqlalchemy
        from test_locks import SQLALCHEMY
        engine = sqlalchemy.create_engine(
            SQLALCHEMY[DRIVER] + "://", creator=lambda: connect_with(DRIVER), pool_size=1, max_overflow=1, pool_timeout=LONG)
        yield engine, engine.raw_connection
        raw = engine.raw_connection()
        assert not applock._drivers.autocommits(raw.driver_connection)  # as it was
        raw.close()


def async_engine(opening=None):
    from sqlalchemy.ext.asyncio import create_async_engine
    return create_async_engine("postgresql+psycopg://", async_creator=opening, pool_size=2, max_overflow=0, pool_timeout=LONG)


def test_a_pool_gets_its_connections_back(locks):  # noqa: F811
    """Goal: a lease does not drain a pool, however it is handed over. Method: more leases than the pool has connections, one with a renewal."""
    for ways in pools():
        for way in ways:
            for is_renewed in True, False, False:
                with Lease(way, "customer", "pooled", ttl=9):
                    held = locks.inquire("customer", "pooled")
                    if is_renewed:
                        until(lambda: locks.inquire("customer", "pooled").locked_at > held.locked_at)
                assert locks.inquire("customer", "pooled") is None


def test_a_lease_inside_itself_is_refused():
    """Goal: a lease does not wait for itself, and another thread or task waits. Method: each wait, within the block and after it."""
    def nested(wait):
        return (applock.AsyncLease if ASYNC else applock.Lease)(connect, "customer", "nested", wait=wait)

    async def awaited():
        async with nested(None):
            with pytest.raises(applock.InvalidArgument, match="entered here already"):
                await nested(None).__aenter__()
            with pytest.raises(Held):
                await asyncio.create_task(nested(0.1).__aenter__())

    for _ in range(2):
        if ASYNC:
            settled(awaited())
            continue
        with nested(None):
            for wait in LONG, None:
                with pytest.raises(applock.InvalidArgument, match="entered here already"):
                    nested(wait).__enter__()
            with pytest.raises(Held):
                asyncio.run(asyncio.to_thread(nested(0.1).__enter__))


if POSTGRES:
    def test_an_engine_of_the_other_kind_is_refused():
        """Goal: an engine that blocks and one that is awaited are told apart. Method: enter a lease by the other one."""
        import sqlalchemy
        with pytest.raises(applock.InvalidArgument, match="use AsyncLease"):
            applock.Lease(async_engine(), "customer", "engine").__enter__()
        with pytest.raises(applock.InvalidArgument, match="use Locks"):
            settled(applock.AsyncLease(sqlalchemy.create_engine("postgresql+psycopg://"), "customer", "engine").__aenter__())
