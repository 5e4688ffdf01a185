// Tests of leases, as test_locks.mjs.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { HeldError, InvalidArgumentError, Locks, LostError } from "applock";
import { DRIVER, LONG, isPostgres, createPool, connectionOf, rowsOf, until, beside } from "./testing.mjs";

let pool;
let locks;
before(async () => {
  pool = await createPool({});
  locks = new Locks(pool);
});
after(() => { pool.end(); }); // which would wait for a connection that a failed test has left

/** Goal: nothing that the library begins and nobody awaits ends the process. Method: strict about rejections, a lease, waiters and a get
 * without an answer, when the pool has ended and the time goes on a hundred times as fast. Then a client that listens, and is cut off. */
test("no failure ends the process", async () => {
  const child = beside(`
    let releases = 0;
    const release = locks.release.bind(locks);
    locks.release = (...given) => release(...given).finally(() => releases++);
    let failures = 0;
    const renew = locks.renew.bind(locks);
    locks.renew = (...given) => renew(...given).catch((error) => { failures++; throw error; });
    const lease = await locks.lease("customer", "strict", { ttl: ${LONG} });
    const lost = await locks.lease("customer", "to be lost", { ttl: 3 });
    const { signal } = lost; // which no look at the clock aborts
    const controller = new AbortController();
    const waiting = [undefined, controller.signal].map((signal) => locks.lease("customer", "strict", { wait: ${LONG}, signal }));
    waiting.forEach((waiter) => waiter.catch(() => {}));
    while ((await locks.read("appl_lock_waiting", { objectId: "strict" })).length < 2) await pool.query("SELECT 1");
    ${isPostgres ? `
    const { default: pg } = await import("pg");
    const listen = new pg.Client();
    await listen.connect();
    const hearing = new Locks(pool, { listen }).lease("customer", "strict", { wait: ${LONG} });
    hearing.catch(() => {});
    while (listen.listenerCount("notification") === 0) await pool.query("SELECT 1");
    const { rows: [{ pid }] } = await listen.query("SELECT pg_backend_pid() AS pid");
    await Promise.all([new Promise((resolve) => listen.once("end", resolve)), pool.query("SELECT pg_terminate_backend(" + pid + ")")]);` : ""}
    await pool.end();
    pool.end = async () => {};
    const [later, clock] = [globalThis.setTimeout, performance.now.bind(performance)];
    const began = clock();
    globalThis.setTimeout = (call, delay, ...rest) => later(call, delay / 100, ...rest);
    performance.now = () => began + (clock() - began) * 100;
    controller.abort(new Error("enough"));
    await locks.lease("customer", "never").catch(() => {});
    await Promise.allSettled(waiting);
    await lease.release().catch(() => {});
    while (failures === 0 && !signal.aborted || !lost.signal.aborted) await new Promise((resolve) => later(resolve, 1));
    await lost.release().catch(() => {});
    const end = performance.now() + 20000; // what is repeated has ended by then
    while (releases < 5 || performance.now() < end) await new Promise((resolve) => later(resolve, 1));
    say("over");`, "--unhandled-rejections=strict");
  const [code] = await once(child, "exit");
  assert.deepEqual([code, await child.said], [0, "over\n"]);
});

/** Goal: work that fails leaves no connection taken and no lease. Method: a pool of one; one failure is a rejection that nobody awaits. */
test("failing work leaves nothing", async () => {
  const child = beside(`
    process.on("unhandledRejection", (error) => say(error.message));
    const single = await createPool({ ${isPostgres ? "max" : "connectionLimit"}: 1 });
    const mine = new Locks(single);
    const fail = async () => { throw new Error("own"); };
    for (const work of [() => { throw new Error("own"); }, fail, () => { fail(); }]) {
      await mine.withLease("customer", "single", work).catch(() => {});
      say(String(await mine.inquire("customer", "single")));
    }
    await single.end();`);
  const [code] = await once(child, "exit");
  assert.deepEqual([code, (await child.said).split("\n").sort().join(" ").trim()], [0, "null null null own"]);
});

if (!isPostgres) {
  /** Goal: a connection that takes callbacks works, or is refused before it is called: mysql2 would end the process. Method: all of them. */
  test("connections with callbacks", async () => {
    const { MYSQL_HOST: host, MYSQL_TCP_PORT: port, MYSQL_USER: user, MYSQL_PWD: password, MYSQL_DATABASE: database } = process.env;
    const settings = { host, port: Number(port), user, password, database };
    const library = createRequire(import.meta.url)(DRIVER === "mysql2" ? "mysql2" : "mariadb/callback");
    const theirs = library.createPool(settings);
    const refused = [{ query() {}, connect() {}, changeUser() {} }]; // mysql
    if (DRIVER === "mariadb") {
      refused.push(theirs);
    } else {
      refused.push(library.createPoolCluster().of("*"));
      const connection = await new Promise((resolve, reject) => theirs.getConnection((error, got) => (error ? reject(error) : resolve(got))));
      for (const each of [theirs, connection, theirs]) {
        assert.ok((await new Locks(each).get("customer", "callbacks", "JDOE", { ttl: 60 })).granted);
      }
      connection.release();
      await new Locks(theirs).withLease("customer", "callbacks leased", (lease) => lease.check());
    }
    for (const each of refused) assert.throws(() => new Locks(each), { name: "InvalidArgumentError", message: /callbacks/ });
    await new Promise((resolve) => theirs.end(resolve));
  });
}

/** Goal: an end is told right in the hours that a zone skips and repeats, whatever hour that is as UTC. Method: locks that end then. */
test("an end in summer time's hours is told right", async () => {
  const zone = process.env.TZ;
  process.env.TZ = "Europe/Amsterdam";
  const theirs = await createPool(isPostgres ? { options: "-c timezone=Europe/Amsterdam" } : {});
  const mine = new Locks(theirs);
  try {
    for (const end of ["2099-03-29T01:30:00.000Z", "2099-03-29T02:30:00.000Z", "2099-10-25T00:30:00.000Z", "2099-10-25T01:30:00.000Z",
      "2099-10-25T02:30:00.000Z"]) {
      await mine.get("customer", "summer", "JDOE", { ttl: 60 });
      const text = end.replace("T", " ").replace("Z", isPostgres ? "+00" : "");
      await theirs.query(`UPDATE ${isPostgres ? "applock." : ""}appl_lock SET expires_ts = '${text}' WHERE object_id = 'summer'`);
      assert.equal((await mine.inquire("customer", "summer")).expiresAt.toISOString(), end);
      assert.equal((await mine.read("appl_lock_live", { objectId: "summer" }))[0].expiresAt.toISOString(), end);
      assert.equal((await mine.get("customer", "summer", "ASMITH")).expiresAt.toISOString(), end);
      await mine.release("customer", "summer", "JDOE");
    }
  } finally {
    process.env.TZ = zone;
    await theirs.end();
  }
});

/** Goal: leases exclude processes, and who waits comes in. Method: three of them count together, reading and writing in two statements. */
test("processes exclude each other", async () => {
  await pool.query("CREATE TABLE tally (n INTEGER)");
  await pool.query("INSERT INTO tally VALUES (0)");
  const count = `
    for (let i = 0; i < 5; i++) {
      await locks.withLease("tally", 1, { ttl: ${LONG}, wait: ${LONG} }, async () => {
        const [{ n }] = await rowsOf(pool, "SELECT n FROM tally");
        await pool.query("UPDATE tally SET n = " + (Number(n) + 1));
      });
    }`;
  const children = [1, 2, 3].map(() => beside(count));
  const exits = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
  assert.deepEqual(exits, [0, 0, 0]);
  assert.equal(Number((await rowsOf(pool, "SELECT n FROM tally"))[0].n), 15);
});

/** Goal: a lease is refused at once without wait, with the holder, and comes in when it waits, listed meanwhile. */
test("who waits comes in", async () => {
  const held = await locks.lease("customer", "waited for", { department: "CS" });
  const refusal = await locks.lease("customer", "waited for").catch((error) => error);
  assert.ok(refusal instanceof HeldError);
  assert.deepEqual(refusal.answer.holder, { operator: held.operator, department: "CS" });
  await assert.rejects(locks.lease("customer", "waited for", { wait: 0.1 }), HeldError);
  const waiting = new Locks(pool);
  const calls = [];
  for (const name of ["get", "announce", "poll"]) {
    waiting[name] = (...given) => {
      calls.push(name);
      return locks[name](...given);
    };
  }
  const coming = waiting.lease("customer", "waited for", { wait: Infinity, department: "MAIL" });
  await until(() => calls.includes("poll"));
  assert.deepEqual(calls.slice(0, 4), ["get", "announce", "get", "poll"]); // what is released before the announcement, nobody tells
  assert.equal((await locks.read("appl_lock_waiting", { objectId: "waited for", department: "MAIL" })).length, 1);
  await held.release();
  const came = await coming;
  assert.ok(came.fence > held.fence);
  await came.release();
  await until(async () => (await locks.read("appl_lock_waiting", { objectId: "waited for" })).length === 0);
});

/** Goal: who does not want to wait any more leaves at once, and leaves nothing. Method: abort, before and during pauses that
 * do not end. */
test("a signal ends the waiting", () => withTimers((delay) => Math.min(delay * 1e6, 2 ** 31 - 1), async () => {
  const held = await locks.lease("customer", "aborted");
  const reason = new Error("enough");
  const controller = new AbortController();
  const coming = locks.lease("customer", "aborted", { wait: Infinity, signal: controller.signal });
  await until(async () => (await locks.read("appl_lock_waiting", { objectId: "aborted" })).length === 1);
  controller.abort(reason);
  await assert.rejects(coming, (error) => error === reason);
  await held.release();
  await assert.rejects(locks.lease("customer", "aborted", { signal: controller.signal }), (error) => error === reason);
  await until(async () => (await locks.inquire("customer", "aborted")) === null);
}));

/** Goal: who waits survives a cut connection. Method: polls of which every second one fails. */
test("a poll that fails does not end the waiting", async () => {
  const shaky = new Locks(pool);
  let polls = 0;
  shaky.poll = async (client) => {
    if (polls++ % 2 === 0) throw Object.assign(new Error("gone"), { code: "ECONNRESET" });
    return locks.poll(client);
  };
  const held = await locks.lease("customer", "shaky", { ttl: LONG });
  const coming = shaky.lease("customer", "shaky", { wait: Infinity });
  await until(() => polls > 3);
  await held.release();
  await (await coming).release();
});

/** Goal: who has been listed longest may have a free object first. Method: one who never asks for it, and how soon another has it. */
test("who is not first leaves a moment", async () => {
  const later = new Locks(pool);
  let polls = 0;
  later.poll = (client) => locks.poll(client).finally(() => polls++);
  const held = await locks.lease("customer", "their turn", { ttl: LONG });
  await locks.announce("customer", "their turn", "JDOE", "desk");
  const coming = later.lease("customer", "their turn", { wait: LONG });
  await until(() => polls > 0);
  const released = performance.now();
  await held.release();
  const lease = await coming;
  assert.ok(performance.now() - released > 45);
  await lease.release();
});

if (isPostgres) {
  /** Goal: a release is heard of, and not found by a poll. Method: polls that never tell that it is free. */
  test("a waiter listens", async () => {
    const { default: pg } = await import("pg");
    const listen = new pg.Client();
    await listen.connect();
    const listening = new Locks(pool, { listen });
    listening.poll = async () => [{ freeInUs: 1e9 }];
    const held = await locks.lease("customer", "heard of", { ttl: LONG });
    const coming = listening.lease("customer", "heard of", { wait: LONG });
    await until(async () => (await locks.read("appl_lock_waiting", { objectId: "heard of" })).length === 1);
    await until(async () => (await rowsOf(pool, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")).length === 1);
    await held.release();
    await (await coming).release();
    assert.equal(listen.listenerCount("notification"), 0);
    await listen.end();
  });
}

/** Do something with other delays of the timers. */
async function withTimers(change, work) {
  const real = globalThis.setTimeout;
  globalThis.setTimeout = (call, delay, ...rest) => real(call, change(delay), ...rest);
  try {
    await work();
  } finally {
    globalThis.setTimeout = real;
  }
}

/** What a lease of LONG does after minutes comes a thousand times as soon. The clock goes on as it does, so that nothing is late. */
const hastened = (work) => withTimers((delay) => (delay > 60_000 ? delay / 1000 : delay), work);

/** Hold a lease for twice its ttl, LONG: behind renewals the clock goes on by two thirds of it. */
async function holdOn(lease) {
  const clock = performance.now;
  let ahead = 0;
  performance.now = () => clock.call(performance) + ahead;
  for (let last = await locks.inquire("customer", lease.objectId), renewals = 0; renewals < 9;) {
    const found = await locks.inquire("customer", lease.objectId);
    assert.deepEqual([found.operator, found.fence], [lease.operator, lease.fence]);
    if (found.lockedAt > last.lockedAt && ++renewals % 3 === 0) ahead += LONG * 1000 * 2 / 3;
    last = found;
    lease.check();
  }
}

/** Goal: a lease is renewed, as one grant, and trusted on. Method: it is held on, and released. */
test("a lease is renewed", () => hastened(async () => {
  await locks.withLease("customer", "renewed", { ttl: LONG }, holdOn).finally(() => delete performance.now);
  assert.equal(await locks.inquire("customer", "renewed"), null);
}));

/** Goal: check() and the signal answer in each state as in every language. Method: the rows of the table of states. */
test("a lease answers as its state says", () => hastened(async () => {
  const cannot = { forked: "child_process.fork and cluster begin another program" };
  const mute = new Locks(pool);
  mute.renew = () => new Promise(() => {});
  const states = {
    entered() {},
    renewed: holdOn,
    async reentered(lease) {
      const inner = await locks.lease("customer", lease.objectId, { within: lease });
      await inner.release();
      assert.throws(() => inner.check(), LostError);
      assert.ok(inner.signal.aborted);
    },
    released: (lease) => lease.release(),
    async taken(lease) {
      await locks.take("customer", lease.objectId, "JDOE", "closed");
      await until(() => lease.signal.aborted);
    },
    async unrenewed(lease) {
      const { signal } = lease; // which no look at the clock aborts
      await until(() => signal.aborted);
    },
  };
  const rows = fs.readFileSync(process.env.APPLOCK_TEST_LEASE_STATES, "utf8").split("\n")
    .map((line) => line.replace(/#.*/, "").trim().split(/\s+/)).filter((row) => row.length === 3);
  assert.ok(rows.length > 0);
  for (const [state, check, signal] of rows.filter(([name]) => !(name in cannot))) {
    const lease = await (state === "unrenewed" ? mute : locks).lease("customer", state, { ttl: state === "unrenewed" ? 2 : LONG });
    await states[state](lease);
    assert.equal(lease.signal.aborted, signal === "fired", state);
    if (check === "fails") assert.throws(() => lease.check(), LostError, state);
    else lease.check();
    await lease.release().catch((error) => assert.ok(error instanceof LostError && signal === "fired", error));
    delete performance.now;
  }
  let kept;
  await locks.withLease("customer", "kept", async (lease) => { kept = lease; });
  assert.throws(() => kept.check(), { name: "LostError", message: /released/ }); // as by work that nobody has awaited
}));

/** Goal: who loses the lock hears of it, and what others have then is left alone. Method: a supervisor releases it before a renewal. */
test("a refused renewal is a loss", () => hastened(async () => {
  const work = async (lease) => {
    const { signal } = lease;
    await locks.release("customer", "lost", lease.operator);
    await locks.get("customer", "lost", "JDOE");
    await until(() => signal.aborted);
    assert.ok(signal.reason instanceof LostError);
    await assert.rejects(locks.lease("customer", "lost", { within: lease }), LostError);
  };
  await assert.rejects(locks.withLease("customer", "lost", { ttl: LONG }, work), { name: "LostError", message: /held by JDOE|has ended/ });
  assert.equal((await locks.inquire("customer", "lost")).operator, "JDOE");
}));

/** Goal: work that was not alone does not end well, also if no renewal has noticed, and its own error comes before that. */
test("a loss is noticed at the end", async () => {
  const taken = (lease) => locks.release("customer", "lost at the end", lease.operator);
  await assert.rejects(locks.withLease("customer", "lost at the end", { ttl: LONG }, taken), LostError);
  const own = new Error("a line has no price");
  await assert.rejects(locks.withLease("customer", "lost at the end", { ttl: LONG }, async (lease) => {
    await taken(lease);
    throw own;
  }), (error) => error === own);
});

/** Goal: a lease is released on every way out, and the error of the work comes out as it is. */
test("an error releases", async () => {
  const own = new Error("a line has no price");
  await assert.rejects(locks.withLease("customer", "failed", () => { throw own; }), (error) => error === own);
  assert.equal(await locks.inquire("customer", "failed"), null);
});

/** Goal: who enters by a lease shares it, and nobody else does. Method: three deep, released in another order. */
test("a lease is entered again", async () => {
  const outer = await locks.lease("customer", "entered", { ttl: LONG });
  const inner = await locks.lease("customer", "entered", { within: outer });
  assert.equal(inner.fence, outer.fence);
  await outer.release();
  await outer.release();
  assert.equal((await locks.inquire("customer", "entered")).operator, inner.operator);
  await locks.withLease("customer", "entered", { within: inner }, (lease) => lease.check());
  await assert.rejects(locks.lease("customer", "entered"), HeldError);
  await locks.withLease("customer", "nested", async () => {
    await assert.rejects(locks.lease("customer", "nested"), HeldError);
    const nested = () => locks.withLease("customer", "nested", { wait: Infinity }, () => {});
    await assert.rejects(nested(), { name: "InvalidArgumentError", message: /give that lease as within/ });
    await assert.rejects(locks.withLease("customer", "outer", nested), InvalidArgumentError);
  });
  await locks.withLease("customer", "nested", { wait: Infinity }, (lease) => lease.check());
  await assert.rejects(locks.lease("customer", "another", { within: inner }), InvalidArgumentError);
  await assert.rejects(locks.lease("customer", "entered", { within: outer }), InvalidArgumentError);
  await inner.release();
  assert.equal(await locks.inquire("customer", "entered"), null);
});

/** Goal: who cannot renew hears of it while the lock is still there. Method: renewals without an answer, and timers that come too early. */
test("an outage is a loss in time", () => withTimers((delay) => delay - 5, async () => {
  const mute = new Locks(pool);
  mute.renew = () => new Promise(() => {});
  const lease = await mute.lease("customer", "outage", { ttl: 2 });
  const { signal } = lease; // which no look at the clock aborts
  await until(() => signal.aborted);
  const found = await locks.inquire("customer", "outage");
  assert.ok(found === null || found.operator === lease.operator);
  await assert.rejects(lease.release(), LostError);
}));

/** Goal: cut connections are survived. Method: the server ends all others, and then the lease is renewed and released. */
test("cut connections do not lose a lease", async () => {
  const theirs = await createPool({});
  const lease = await new Locks(theirs).lease("customer", "cut", { ttl: 6 });
  const connection = await connectionOf(pool);
  if (isPostgres) {
    await connection.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
  } else {
    for (const { id } of await rowsOf(connection, `SELECT id AS id FROM information_schema.processlist
        WHERE db = DATABASE() AND id <> CONNECTION_ID()`)) await connection.query(`KILL ${id}`).catch(() => {});
  }
  const watching = new Locks(connection);
  await until(async () => {
    lease.check();
    const found = await watching.inquire("customer", "cut");
    return found.lockedAt > found.acquiredAt;
  });
  await lease.release();
  assert.equal(await watching.inquire("customer", "cut"), null);
  connection.release();
  await theirs.end();
});

/** Goal: a release that fails is repeated, and one whose answer was lost is no loss. */
test("a release is repeated", async () => {
  for (const isDone of [false, true]) {
    const shaky = new Locks(pool);
    let releases = 0;
    shaky.release = async (...given) => {
      if (isDone || releases > 0) await locks.release(...given);
      if (releases++ === 0) throw Object.assign(new Error("gone"), { code: "ECONNRESET" });
      return { outcome: isDone ? "FREE" : "RELEASED" };
    };
    await shaky.withLease("customer", "repeated", { ttl: LONG }, () => {});
    assert.equal(await locks.inquire("customer", "repeated"), null);
  }
});

/** Goal: what a get has taken whose answer was lost is released again, also when it comes after the first release. */
test("a get without an answer is undone", async () => {
  const lossy = new Locks(pool);
  const lost = new Error("the connection has broken");
  for (const isLate of [false, true]) {
    const taken = [];
    lossy.get = async (objectType, objectId, operator, options) => {
      const take = () => locks.get(objectType, objectId, operator, options).then((answer) => taken.push(answer));
      if (isLate) until(async () => released > 0).then(take);
      else await take();
      throw lost;
    };
    let released = 0;
    lossy.release = async (...given) => {
      const answer = await locks.release(...given);
      released++;
      return answer;
    };
    await assert.rejects(lossy.lease("customer", "unanswered", { ttl: LONG, wait: LONG }), (error) => error === lost);
    await until(async () => taken.length > 0 && (await locks.inquire("customer", "unanswered")) === null);
    assert.equal(taken[0].granted, true);
  }
});

/** Goal: an answer that comes when its lock may have ended already is no lease, and nobody renews it. Method: the clock goes on during the get. */
test("an answer that comes too late is given back", async () => {
  const late = new Locks(pool);
  const clock = performance.now.bind(performance);
  let renewals = 0;
  late.get = async (...given) => {
    const answer = await locks.get(...given);
    performance.now = () => clock() + LONG * 1000;
    return answer;
  };
  late.renew = async () => {
    renewals++;
    return [];
  };
  await assert.rejects(late.lease("customer", "late", { ttl: LONG }), LostError).finally(() => delete performance.now);
  await until(async () => (await locks.inquire("customer", "late")) === null);
  await pause(20);
  assert.equal(renewals, 0);
});

/** Goal: a lease wants a pool. */
test("a lease wants a pool", async () => {
  const connection = await connectionOf(pool);
  await assert.rejects(new Locks(connection).lease("customer", 42), { name: "InvalidArgumentError", message: /pool/ });
  connection.release();
});

/** Goal: the object of a process that was killed is free after the ttl, and the next fence is greater. Method: SIGKILL. */
test("a crash is overtaken", async () => {
  const holder = beside(`
    const lease = await locks.lease("customer", "crashed", { ttl: 3 });
    say(lease.operator);
    setInterval(() => {}, 1000);`);
  const operator = await holder.line();
  const refusal = await locks.lease("customer", "crashed").catch((error) => error);
  assert.equal(refusal.answer.holder.operator, operator);
  holder.kill("SIGKILL");
  await locks.withLease("customer", "crashed", { wait: LONG }, () => {});
});

/** Goal: a process that was stopped beyond the ttl knows when it goes on, before it can do anything. Method: SIGSTOP. */
test("who was stopped too long has lost", async () => {
  const holder = beside(`
    const lease = await locks.lease("customer", "stopped", { ttl: 2 });
    say(lease.operator);
    while (!lease.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 1));
    say("lost: " + lease.signal.reason.name);
    await lease.release().catch((error) => say("end: " + error.name));`);
  await holder.line();
  holder.kill("SIGSTOP");
  await locks.withLease("customer", "stopped", { wait: LONG }, async () => {
    holder.kill("SIGCONT");
    const [code] = await once(holder, "exit");
    assert.equal(code, 0);
    const said = await holder.said;
    assert.match(said, /lost: LostError/);
    assert.match(said, /end: LostError/);
  });
});

/** Goal: a lease that nobody releases does not keep its process alive. Method: a pool without sockets, so that nothing else does. */
test("the timers let the process end", async () => {
  const child = beside(`
    await pool.end();
    const row = (sql) => Object.entries({
      version: { p_version: "1" }, autocommit: { autocommit: "1" },
      get_appl_lock_row: { p_ok_fl: "Y", p_outcome: "ACQUIRED", p_old_operator_id: "", p_old_department_id: "", p_fence: "7", p_seconds_left: "1000" },
    }).find(([name]) => sql.includes(name))[1];
    const call = async ({ sql, text }) => (isPostgres ? { rows: [[JSON.stringify(row(text))]] } : [row(sql)]);
    const fake = isPostgres ? { query: call, connect() {}, totalCount: 0 } : { query: call, execute: call, getConnection: async () => fake, release() {} };
    await new Locks(fake).lease("customer", "left", { ttl: 1000 });
    process.on("exit", () => process.stdout.write("over"));
    process.exitCode = 0;
    pool.end = async () => {};`);
  const [code] = await once(child, "exit");
  assert.deepEqual([code, await child.said], [0, "over"]);
});
