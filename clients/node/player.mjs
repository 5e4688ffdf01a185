// Plays the scenarios for clients/player_test.go through the installed package: player.mjs DRIVER
import fs from "node:fs";
import readline from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { ApplockError, Locks } from "applock";

const driver = process.argv[2];

// A connection, or a pool.
async function connect(pooled = false) {
  if (driver === "pg") {
    const { default: pg } = await import("pg");
    if (pooled) return new pg.Pool();
    const client = new pg.Client();
    await client.connect();
    return client;
  }
  const { MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_USER, MYSQL_PWD, MYSQL_DATABASE } = process.env;
  const settings = { host: MYSQL_HOST, port: MYSQL_TCP_PORT, user: MYSQL_USER, password: MYSQL_PWD, database: MYSQL_DATABASE };
  const library = await import(driver === "mariadb" ? "mariadb" : "mysql2/promise");
  // MySQL's accounts want TLS, or its public key, before they say a password.
  if (driver === "mariadb") settings.allowPublicKeyRetrieval = true;
  return pooled ? library.createPool(settings) : library.createConnection(settings);
}

const escapes = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const unescapes = { t: "\t", n: "\n", r: "\r", "\\": "\\" };

function encode(value) {
  if (value == null) return "\\N";
  if (value instanceof Date) return value.toISOString();
  return String(value).replace(/[\\\t\n\r]/g, (character) => escapes[character]);
}

function decode(field) {
  return field === "\\N" ? undefined : field.replace(/\\(.)/g, (_, character) => unescapes[character]);
}

// A number that is too long for one goes as a BigInt.
function number(field) {
  if (field === undefined) return field;
  return Number.isSafeInteger(Number(field)) ? Number(field) : BigInt(field);
}

// The database refuses what is neither.
const flags = { Y: true, N: false };
const flag = (field) => flags[field] ?? field;

function say(...fields) {
  process.stdout.write(fields.map(encode).join("\t") + "\n");
}

const yes = (is) => (is ? "Y" : "N");

const valuesOf = (rows) => rows.map((row) => Object.values(row).map((value) => (typeof value === "boolean" ? yes(value) : value)));

// The contract's columns of an answer, and first what the library makes of it.
function told({ granted, outcome, holder, former, ...rest }) {
  const other = holder ?? former;
  return [granted, yes(granted), outcome, other?.operator ?? "", other?.department ?? "", ...Object.values(rest)];
}

function listed(rows) {
  return rows.map(({ objectType, objectId, granted, outcome, holder, ...rest }) => [
    granted, objectType, objectId, outcome, holder?.operator ?? "", holder?.department ?? "", ...Object.values(rest),
  ]);
}

function permitted({ granted, outcome, holders, ...slot }) {
  return granted ? [[granted, outcome, ...Object.values(slot)]] : holders.map((holder) => [granted, outcome, ...Object.values(holder)]);
}

function inquired(lock) {
  return lock ? ["Y", ...Object.values(lock)] : ["N", "", "", 0, null, null, null, 0, ""];
}

function decided({ granted, outcome }) {
  return [granted, yes(granted), outcome];
}

async function inTransaction(connection, work) {
  await connection.query("BEGIN");
  try {
    await work();
    await connection.query("COMMIT");
  } catch (error) {
    await connection.query("ROLLBACK");
    throw error;
  }
  return [];
}

async function increment(connection, locks, lines, operator) {
  while (operator && !(await locks.get("counter", 1, operator, { ttl: 60 })).granted) {
    await pause(10);
  }
  await count(connection, lines);
  if (operator) await locks.release("counter", 1, operator);
  return [];
}

async function incrementLeased(connection, lines) {
  const pool = await connect(true);
  await new Locks(pool).withLease("counter", 1, { wait: Infinity }, () => count(connection, lines));
  await pool.end();
  return [];
}

// The counter, between whose read and write the runner decides how long it takes.
async function count(connection, lines) {
  const result = await connection.query("SELECT n FROM counter");
  const { n } = (result.rows ?? result).flat()[0]; // mysql2 has the rows in a list of their own
  say("read", n);
  await lines.next();
  await connection.query(`UPDATE counter SET n = ${n + 1}`);
}

function renew(locks, fields) {
  const grants = [];
  for (let i = 0; i < fields.length; i += 5) {
    const [objectType, objectId, operator, fence, ttl] = fields.slice(i, i + 5);
    grants.push({ objectType, objectId, operator, fence: number(fence), ttl: number(ttl) });
  }
  return locks.renew(grants);
}

// The library's name of a column.
function nameOf(column) {
  return column
    .replace(/_(fl|seconds)$/, (end) => (column === "since_seconds" || end === "_fl" ? "" : end))
    .replace(/(operator|department|client|actor|holder)_id$/, "$1")
    .replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

// A view, with names and values in turn.
async function read(locks, view, a) {
  const filters = {};
  const after = {};
  let maxRows;
  for (let i = 0; i < a.length; i += 2) {
    if (a[i] === "max_rows") maxRows = number(a[i + 1]);
    else if (a[i].startsWith("after_")) after[nameOf(a[i].slice("after_".length))] = a[i + 1];
    else filters[nameOf(a[i])] = a[i] === "since_seconds" || a[i] === "fence" ? number(a[i + 1]) : a[i + 1];
  }
  const rows = await locks.read(view, filters, { after: Object.keys(after).length ? after : undefined, maxRows });
  return valuesOf(rows);
}

function versions() {
  const { version } = JSON.parse(fs.readFileSync(new URL(`../../node_modules/${driver}/package.json`, import.meta.url)));
  return [[`Node ${process.versions.node}`, `${driver} ${version}`]];
}

async function play(connection, locks, lines, operation, a) {
  switch (operation) {
    case "versions": return versions();
    case "increment": return increment(connection, locks, lines, a[0]);
    case "increment_leased": return incrementLeased(connection, lines);
    case "get_appl_lock": return [told(await locks.get(a[0], a[1], a[2], { department: a[3], ttl: number(a[4]), new: flag(a[5]) }))];
    case "get_appl_lock_permit":
      return permitted(await locks.permit(a[0], a[1], number(a[2]), a[3], { department: a[4], ttl: number(a[5]) }));
    case "release_appl_lock": return [told(await locks.release(a[0], a[1], a[2], { fence: number(a[3]), actor: a[4], reason: a[5] }))];
    case "inquire_appl_lock": return [inquired(await locks.inquire(a[0], a[1]))];
    case "transfer_appl_lock":
      return [told(await locks.transfer(a[0], a[1], a[2], a[3], { department: a[4], ttl: number(a[5]), actor: a[6], reason: a[7] }))];
    case "note_appl_lock": return [told(await locks.note(a[0], a[1], a[2], a[4], { fence: number(a[3]) }))];
    case "purge_appl_locks": return [[await locks.purge({ olderThan: number(a[0]), maxRows: number(a[1]) })]];
    case "purge_appl_lock_history": return [[await locks.purgeHistory({ olderThan: number(a[0]), maxRows: number(a[1]) })]];
    case "assert_appl_lock": return inTransaction(connection, () => locks.assert(a[0], a[1], a[2], number(a[3])));
    case "serialize_appl_lock": return inTransaction(connection, () => locks.serialize(a[0], a[1]));
    case "transfer_appl_locks":
      return listed(await locks.transferAll(a[0], a[2], {
        objectType: a[1], department: a[3], ttl: number(a[4]), actor: a[5], reason: a[6],
        afterType: a[7], afterId: a[8], maxRows: number(a[9]), dryRun: flag(a[10]),
      }));
    case "release_appl_locks":
      return listed(await locks.releaseAll(a[0], {
        objectType: a[1], actor: a[2], reason: a[3], afterType: a[4], afterId: a[5], maxRows: number(a[6]), dryRun: flag(a[7]),
      }));
    case "renew_appl_locks": return listed(await renew(locks, a));
    case "announce_appl_lock_waiter": await locks.announce(a[0], a[1], a[2], a[4], { department: a[3], wait: number(a[5]) }); return [];
    case "retract_appl_lock_waiter": await locks.retract(a[0], a[1], a[2], a[3]); return [];
    case "poll_appl_locks": return valuesOf(await locks.poll(a[0], { maxRows: number(a[1]) }));
    case "take_appl_lock":
      return [told(await locks.take(a[0], a[1], a[2], a[4], { department: a[3], expectedFence: number(a[5]), ttl: number(a[6]) }))];
    case "ask_appl_lock":
      return [told(await locks.ask(a[0], a[1], a[2], a[4], { department: a[3], message: a[5], wait: number(a[6]) }))];
    case "answer_appl_lock":
      return [told(await locks.answer(a[0], a[1], a[2], number(a[3]), a[4], a[6], { client: a[5], reason: a[7] }))];
    case "see_appl_lock":
      return (await locks.see(a[0], a[1], a[2], a[4], a[5], { department: a[3], ttl: number(a[6]) })).map(Object.values);
    case "inbox_appl_locks": return (await locks.inbox(a[0], { position: a[1], maxRows: number(a[2]) })).map(Object.values);
    case "set_appl_lock_policy":
      return [decided(await locks.setPolicy(a[0], {
        defaultTtl: number(a[1]), longestTtl: number(a[2]), takeReason: flag(a[3]), actor: a[4], reason: a[5], history: a[6],
        presence: flag(a[7]), yieldAfter: number(a[8]),
      }))];
    case "drop_appl_lock_policy": return [decided(await locks.dropPolicy(a[0], { actor: a[1], reason: a[2] }))];
  }
  if (/^appl_lock_/.test(operation)) return read(locks, operation, a);
  throw new Error(`unknown operation ${operation}`);
}

const connection = await connect();
const locks = new Locks(connection);
const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const [operation, ...values] = line.value.split("\t").map(decode);
  try {
    const rows = await play(connection, locks, lines, operation, values);
    for (const row of rows) say("row", ...row);
    say("end");
  } catch (error) {
    if (!(error instanceof ApplockError)) throw error;
    say("error", error.sqlstate, error.message);
  }
}
await connection.end();
