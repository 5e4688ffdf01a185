// Tests of the operations of the installed package, which clients/node_test.go runs with each driver on each product.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { ApplockError, ContentionError, InvalidArgumentError, Locks, LostError, VersionError } from "applock";
import { DRIVER, isPostgres, createPool, connectionOf, rowsOf } from "./testing.mjs";

let pool;
let locks;
before(async () => {
  pool = await createPool({});
  locks = new Locks(pool);
});
after(() => { pool.end(); }); // which would wait for a connection that a failed test has left

// Which settings of a connection change what a row looks like.
const SETTINGS = {
  pg: [{}, { binary: true }, { options: "-c datestyle=German,DMY -c timezone=Asia/Kolkata -c IntervalStyle=iso_8601" },
    { types: { getTypeParser: () => () => "parsed" } }],
  mysql2: [{}, { rowsAsArray: true }, { nestTables: true }, { nestTables: "_" }, { typeCast: () => "cast" }, { namedPlaceholders: true },
    { dateStrings: true, supportBigNumbers: true, bigNumberStrings: true, decimalNumbers: true }, { timezone: "+05:30" }, { multipleStatements: true }],
  mariadb: [{}, { rowsAsArray: true }, { nestTables: true }, { nestTables: "_" }, { typeCast: () => "cast" }, { namedPlaceholders: true },
    { metaAsArray: true }, { bigIntAsNumber: true, checkNumberRange: true, insertIdAsNumber: true, decimalAsNumber: true }, { timezone: "+05:30" }],
}[DRIVER];

/** Goal: no setting of the user's connection changes an answer. Method: the same calls with each setting. */
test("a connection cannot corrupt an answer", async () => {
  for (const [i, settings] of SETTINGS.entries()) {
    const theirs = await createPool(settings);
    const mine = new Locks(theirs);
    const id = `corrupt ${i}`;
    const hint = JSON.stringify(settings) + i;
    const lock = await mine.get("customer", id, "JDOE", { department: "CS", ttl: 3600 });
    const { fence, acquiredAt, expiresAt, ...rest } = lock;
    assert.deepEqual(rest, { granted: true, outcome: "ACQUIRED", holder: null, secondsLeft: 3600, note: "" }, hint);
    assert.ok(Number.isSafeInteger(fence) && fence > 1e15, hint);
    assert.ok(expiresAt instanceof Date && Math.abs(expiresAt - Date.now() - 3.6e6) < 1.2e6, `${hint}: ${expiresAt}`);
    const refused = await mine.get("customer", id, "ASMITH");
    assert.deepEqual([refused.granted, refused.holder, refused.acquiredAt], [false, { operator: "JDOE", department: "CS" }, acquiredAt], hint);
    const found = await mine.inquire("customer", id);
    assert.deepEqual([found.operator, found.fence, found.expiresAt], ["JDOE", fence, expiresAt], hint);
    const rows = await mine.read("appl_lock_live", { objectId: id });
    assert.deepEqual([rows.length, rows[0].objectId, rows[0].expiresAt], [1, id, expiresAt], hint);
    const [renewed] = await mine.renew([{ objectType: "customer", objectId: id, operator: "JDOE", fence, ttl: 60 }]);
    assert.equal(renewed.granted, true, hint);
    assert.equal((await mine.poll("nobody")).length, 0, hint);
    assert.equal((await mine.release("customer", id, "JDOE")).granted, true, hint);
    await theirs.end();
  }
});

if (isPostgres) {
  /** Goal: as above, for parsers that all connections of the program have. */
  test("no parser of a type changes an answer", async () => {
    const { default: pg } = await import("pg");
    for (const type of [20, 23, 25, 114, 1043, 1184]) pg.types.setTypeParser(type, () => "parsed");
    try {
      const lock = await locks.get("customer", "parsed", "JDOE", { ttl: 60 });
      assert.deepEqual([lock.granted, lock.outcome, lock.secondsLeft], [true, "ACQUIRED", 60]);
    } finally {
      for (const [type, parse] of [[20, String], [23, Number], [25, String], [1043, String]]) pg.types.setTypeParser(type, parse);
    }
  });
}

/** Goal: what is no connection of the three drivers is refused, and calls nothing. Method: objects that look a little like one. */
test("a connection that answers otherwise is refused before anything is called", async () => {
  assert.throws(() => new Locks({ query: () => [] }), /dialect/);
  assert.throws(() => new Locks(undefined), InvalidArgumentError);
  assert.throws(() => new Locks({ query: () => [] }, { dialect: "oracle" }), InvalidArgumentError);
  const called = [];
  for (const answer of [undefined, [], { rows: undefined }, [{ nothing: 1 }]]) {
    const call = async (query) => {
      called.push(query.text ?? query.sql);
      return answer;
    };
    for (const dialect of ["postgres", "mysql"]) {
      await assert.rejects(new Locks({ query: call, execute: call }, { dialect }).get("customer", 42, "JDOE"), ApplockError);
    }
  }
  assert.ok(called.every((sql) => sql.includes("appl_lock_version")), called.join("\n"));
});

/** Goal: a refusal is not granted, in a list and of a permit, too. Method: FULL, and a renewal of what another has. */
test("no refusal is granted", async () => {
  const first = await locks.permit("room", "desk", 1, "A");
  const full = await locks.permit("room", "desk", 1, "B");
  assert.deepEqual([first.granted, first.slotId, first.holders], [true, "desk#1", []]);
  assert.deepEqual([full.granted, full.slotId, full.holders.map((holder) => holder.operator)], [false, null, ["A"]]);
  const renewed = await locks.renew(["desk#1", "desk#2"].map((objectId) => ({ objectType: "room", objectId, operator: "B", fence: 1, ttl: 60 })));
  assert.deepEqual(renewed.map(({ granted, outcome, holder }) => [granted, outcome, holder?.operator]), [[false, "HELD", "A"], [false, "FREE", undefined]]);
  assert.equal(await locks.inquire("room", "desk#2"), null);
  assert.equal((await locks.inquire("room", "desk#1")).granted, undefined);
  const taken = await locks.take("room", "desk#1", "B", "closed");
  assert.deepEqual([taken.granted, taken.holder, taken.former.operator], [true, null, "A"]);
});

/** Goal: a mistake is found where it is made. Method: misspelt options, and values of other kinds. */
test("mistakes are told by name", async () => {
  await assert.rejects(locks.get("customer", 42, "JDOE", { ttlSeconds: 60 }),
    { name: "TypeError", message: "unknown option ttlSeconds; known are department, ttl, new" });
  await assert.rejects(locks.lease("customer", 42, { timeout: 60 }), TypeError);
  await assert.rejects(locks.read("appl_lock_live", { nmae: "x" }), TypeError);
  await assert.rejects(locks.read("appl_lock_lives"), TypeError);
  await assert.rejects(locks.renew([{ object_type: "customer" }]), TypeError);
  assert.throws(() => new Locks(pool, { shema: "x" }), TypeError);
  const wrong = { name: "TypeError", message: "options are an object, as { department: ... }, and not 60" };
  await assert.rejects(locks.get("customer", 1, "JDOE", 60), wrong);
  await assert.rejects(locks.lease("customer", 1, 60), { name: "TypeError" });
  for (const [ttl, shown] of [["60", "'60'"], [NaN, "NaN"], [0.5, "0.5"]]) {
    const message = `ttl must be a whole number, and not ${shown}`;
    await assert.rejects(locks.get("customer", 1, "JDOE", { ttl }), { name: "InvalidArgumentError", message });
    await assert.rejects(locks.lease("customer", 1, { ttl }), { message: message.replace(",", " of seconds,") });
  }
  assert.equal(await locks.inquire("customer", 1), null);
  for (const ttl of ["60", 0.5, NaN, {}]) {
    await assert.rejects(locks.get("customer", 42, "JDOE", { ttl }), { name: "InvalidArgumentError", message: /^ttl / });
  }
  await assert.rejects(locks.get("customer", {}, "JDOE"), { name: "InvalidArgumentError", message: /^objectId / });
  await assert.rejects(locks.lease("customer", 42, { ttl: 0.5 }), InvalidArgumentError);
  for (const id of [undefined, null, {}]) await assert.rejects(locks.lease("customer", id), InvalidArgumentError);
  await assert.rejects(locks.lease("customer", 42, { wait: -1 }), InvalidArgumentError);
  assert.equal(await locks.inquire("customer", 42), null);
});

/** Goal: three errors of the library's own, and the driver's pass. Method: the database's, and connections that fail. */
test("errors are of three kinds", async () => {
  await assert.rejects(locks.get("", 42, "JDOE"), { name: "InvalidArgumentError", sqlstate: "LK001" });
  const failing = (error) => {
    const call = async (query) => {
      if (!(query.text ?? query.sql).includes("version")) throw error;
      return isPostgres ? { rows: [['{"p_version": "1"}']] } : [[{ p_version: 1 }]];
    };
    return new Locks(isPostgres ? { query: call, connect() {} } : { query: call, execute: call });
  };
  const contention = Object.assign(new Error("changed hands"), { code: isPostgres ? "LK003" : "ER", sqlState: isPostgres ? undefined : "LK003" });
  const caught = await failing(contention).get("customer", 42, "JDOE").catch((error) => error);
  assert.ok(caught instanceof ContentionError && caught instanceof ApplockError && !(caught instanceof LostError));
  assert.equal(caught.cause, contention);
  const other = Object.assign(new Error("gone"), { code: "ECONNRESET" });
  await assert.rejects(failing(other).get("customer", 42, "JDOE"), (error) => error === other);
});

/** Goal: who has too old a database, or none, is told what to do. Method: another version, and another schema. */
test("versions are compared", async () => {
  const call = async () => (isPostgres ? { rows: [['{"p_version": "0"}']] } : [[{ p_version: 0 }]]);
  const old = new Locks(isPostgres ? { query: call, connect() {} } : { query: call, execute: call });
  await assert.rejects(old.inquire("customer", 42), { name: "VersionError", message: /contract 0.*migrate up/ });
  const database = isPostgres ? "nowhere" : (await rowsOf(pool, "SELECT DATABASE() AS name"))[0].name;
  if (isPostgres) await assert.rejects(new Locks(pool, { schema: database }).inquire("customer", 42), VersionError);
  else assert.equal(await new Locks(pool, { schema: database }).inquire("customer", 42), null);
});

/** Goal: what a transaction ends is refused where there is none. Method: a pool, a connection without and with a transaction. */
test("serialize and assert want a transaction", async () => {
  const { fence } = await locks.get("customer", "in transaction", "JDOE", { ttl: 60 });
  const connection = await connectionOf(pool);
  const mine = new Locks(connection);
  const calls = (on) => [() => on.serialize("customer", "in transaction"), () => on.assert("customer", "in transaction", "JDOE", fence)];
  const refused = { name: "InvalidArgumentError", message: /transaction/ };
  for (const call of [...calls(locks), ...calls(mine)]) await assert.rejects(call(), refused);
  for (const begin of ["BEGIN", ...(isPostgres ? [] : ["SET autocommit = 0"])]) {
    await connection.query(begin);
    for (const call of calls(mine)) await call();
    await assert.rejects(mine.assert("customer", "in transaction", "JDOE", fence + 1), LostError);
    await connection.query("ROLLBACK");
  }
  if (!isPostgres) await connection.query("SET autocommit = 1");
  const single = await createPool(isPostgres ? { max: 1 } : { connectionLimit: 1 });
  await single.query("BEGIN"); // which only a pool of one connection takes for that of the next call
  for (const call of calls(new Locks(single))) await assert.rejects(call(), refused);
  single.end();
  connection.query("BEGIN"); // a driver that has not heard of it yet must not be asked
  await mine.serialize("customer", "in transaction");
  await connection.query("ROLLBACK");
  for (const call of calls(mine)) await assert.rejects(call(), refused);
  connection.release();
});

/** Goal: CommonJS has the same classes. */
test("require and import are one", async () => {
  assert.equal(createRequire(import.meta.url)("applock").Locks, Locks);
});

if (!isPostgres) {
  const ONE = { connectionLimit: 1 };

  /** A pool whose connections have no autocommit, as with such a server. */
  async function withoutAutocommit(settings) {
    const off = await createPool({ ...settings, ...(DRIVER === "mariadb" ? { initSql: "SET autocommit = 0" } : {}) });
    if (DRIVER === "mysql2") off.pool.on("connection", (connection) => connection.query("SET autocommit = 0"));
    return off;
  }

  /** Goal: what is told is kept without autocommit, too. Method: a pool of one connection: calls that succeed, are refused and fail, a lease. */
  test("a call commits itself where nothing else does", async () => {
    const off = await withoutAutocommit(ONE);
    const mine = new Locks(off);
    assert.equal((await mine.get("customer", "off", "JDOE", { ttl: 60 })).outcome, "ACQUIRED");
    assert.equal((await locks.get("customer", "off", "ASMITH")).holder?.operator, "JDOE");
    await assert.rejects(mine.get("", "off", "JDOE"), InvalidArgumentError);
    assert.equal((await mine.read("appl_lock_live", { objectId: "off" })).length, 1);
    assert.equal((await mine.release("customer", "off", "JDOE")).outcome, "RELEASED");
    assert.equal(await locks.inquire("customer", "off"), null);
    assert.ok((await locks.get("customer", "off", "ASMITH", { ttl: 60 })).granted); // which an open transaction would refuse
    await mine.purge();
    await mine.withLease("customer", "off lease", async ({ operator }) => {
      assert.equal((await locks.inquire("customer", "off lease"))?.operator, operator);
    });
    assert.equal(await locks.inquire("customer", "off lease"), null);
    await off.end();
  });

  /** Goal: a transaction of the caller's is joined, and ended by nobody else. Method: with and without autocommit, and calls that fail in it. */
  test("a transaction of the caller's stays the caller's", async () => {
    await pool.query("CREATE TABLE orders (id INTEGER) ENGINE = InnoDB");
    for (const isOff of [false, true]) {
      const theirs = await (isOff ? withoutAutocommit : createPool)(ONE);
      const connection = await connectionOf(theirs);
      const mine = new Locks(connection);
      const [bad, good] = await Promise.allSettled([mine.get("", "alone", "JDOE"), mine.get("customer", "alone", "JDOE")]);
      assert.deepEqual([good.value?.outcome, bad.reason?.name], ["ACQUIRED", "InvalidArgumentError"]);
      assert.equal((await locks.inquire("customer", "alone"))?.operator, "JDOE");
      await connection.query("START TRANSACTION");
      await connection.query("INSERT INTO orders VALUES (42)");
      await mine.get("customer", "joined", "JDOE");
      await assert.rejects(mine.get("", "joined", "JDOE"), InvalidArgumentError);
      assert.equal((await mine.inquire("customer", "joined")).operator, "JDOE");
      assert.equal(await locks.inquire("customer", "joined"), null);
      await connection.query("ROLLBACK");
      assert.equal(await mine.inquire("customer", "joined"), null);
      assert.equal((await rowsOf(pool, "SELECT id FROM orders")).length, 0);
      if (isOff) {
        await mine.serialize("customer", "joined");
        await assert.rejects(connection.query("SET TRANSACTION READ WRITE"), { errno: 1568 }); // it is in a transaction
        await connection.query("ROLLBACK");
      }
      await mine.release("customer", "alone", "JDOE");
      connection.release();
      await theirs.end();
    }
  });
}
