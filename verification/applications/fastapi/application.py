"""FastAPI below uvicorn. STORE is sqlalchemy or pool: a session of async SQLAlchemy, or a connection of psycopg_pool."""

import asyncio
import json
import os
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg
from fastapi import FastAPI
from fastapi.responses import JSONResponse, StreamingResponse
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import String, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import applock

URL = os.environ["DATABASE_URL"]


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[str] = mapped_column(String(20), primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    saves: Mapped[int] = mapped_column(default=0)


class Alchemy:
    """Transactions and leases by an engine of SQLAlchemy."""

    def __init__(self):
        self.leases = self.engine = create_async_engine(URL.replace("postgresql:", "postgresql+psycopg:"), pool_size=10)
        self.sessions = async_sessionmaker(self.engine, expire_on_commit=False)

    @asynccontextmanager
    async def transaction(self):
        async with self.sessions.begin() as session:
            raw = await (await session.connection()).get_raw_connection()
            yield session, applock.AsyncLocks(raw.driver_connection)

    async def save(self, session: AsyncSession, id: str, name: str | None) -> int:
        customer = await session.get(Customer, id)
        if customer is None:
            customer = Customer(id=id, saves=0)
            session.add(customer)
        customer.name, customer.saves = name or customer.name, customer.saves + 1
        await session.flush()
        return customer.saves

    async def all(self, sql: str, **values):
        async with self.sessions() as session:
            return [dict(row._mapping) for row in await session.execute(text(sql), values)]

    async def start(self):
        pass

    async def stop(self):
        await self.engine.dispose()


class Pool:
    """Transactions and leases by a pool of psycopg."""

    def __init__(self):
        self.leases = self.pool = AsyncConnectionPool(URL, min_size=2, max_size=10, open=False)

    @asynccontextmanager
    async def transaction(self):
        async with self.pool.connection() as connection:
            yield connection, applock.AsyncLocks(connection)

    async def save(self, connection: psycopg.AsyncConnection, id: str, name: str | None) -> int:
        found = await (await connection.execute("SELECT name, saves FROM customer WHERE id = %s", (id,))).fetchone()
        old, saves = found or (None, 0)
        change = "UPDATE customer SET name = %s, saves = %s WHERE id = %s" if found else "INSERT INTO customer (name, saves, id) VALUES (%s, %s, %s)"
        await connection.execute(change, (name or old, saves + 1, id))
        return saves + 1

    async def all(self, sql: str, **values):
        async with self.pool.connection() as connection:
            cursor = await connection.execute(sql.replace(":id", "%(id)s"), values)
            return [dict(zip([column.name for column in cursor.description], row)) for row in await cursor.fetchall()]

    async def start(self):
        await self.pool.open()

    async def stop(self):
        await self.pool.close()


store = {"sqlalchemy": Alchemy, "pool": Pool}[os.environ["STORE"]]()


@asynccontextmanager
async def lifespan(app: FastAPI):
    await store.start()
    async with store.transaction() as (_, locks):
        await locks.check()
    yield
    await store.stop()


app = FastAPI(lifespan=lifespan)


def refused(**why):
    return JSONResponse({"granted": False, **why}, status_code=409)


@app.post("/lock/{id}")
async def lock(id: str, operator: str):
    async with store.transaction() as (_, locks):
        got = await locks.get("customer", id, operator, ttl=3 * 24 * 3600)
    if not got:
        return refused(holder=got.holder.operator, expires=got.expires_at.isoformat())
    return {"granted": True, "fence": got.fence, "expires": got.expires_at}


@app.put("/save/{id}")
async def save(id: str, operator: str, fence: int, name: str):
    try:
        async with store.transaction() as (work, locks):
            await locks.serialize("customer", id)
            saves = await store.save(work, id, name)
            await locks.assert_held("customer", id, operator, fence)
    except applock.Lost:
        return refused()
    return {"granted": True, "saves": saves}


class Undo(Exception):
    pass


@app.post("/rollback/{id}")
async def rollback(id: str, operator: str, end: str):
    try:
        async with store.transaction() as (work, locks):
            await store.save(work, id, None)
            taken = await locks.get("invoice", id, operator)
            other = await locks.get("customer", id, operator)
            await store.save(work, id, None)
            if end == "rollback":
                raise Undo
    except Undo:
        pass
    return {"granted": taken.granted, "holder": other.holder.operator}


@app.post("/work/{id}")
async def work(id: str, ttl: int):
    async with AsyncExitStack() as ends:
        try:
            lease = await ends.enter_async_context(applock.AsyncLease(store.leases, "job", id, ttl=ttl))
        except applock.Held as held:
            return refused(holder=held.answer.holder.operator)
        leased = ends.pop_all()  # the answer goes on after this function

    async def lines():
        async with leased:
            yield json.dumps({"pid": os.getpid(), "operator": lease.operator, "fence": lease.fence}) + "\n"
            while (await store.all("SELECT name FROM customer WHERE id = :id", id=id))[0]["name"] != "done":
                lease.check()
                await asyncio.sleep(0.2)
        yield json.dumps({"done": True}) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@app.get("/list")
async def customers():
    return await store.all(
        "SELECT c.id, c.name, l.operator_id AS operator FROM customer AS c LEFT JOIN applock.appl_lock_live AS l"
        " ON l.object_type = 'customer' AND l.object_id = c.id ORDER BY c.id")
