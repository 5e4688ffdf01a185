// Plays the scenarios for clients/player_test.go through applock.js: player.js DRIVER
"use strict";

const fs = require("node:fs");
const readline = require("node:readline");
const { setTimeout: pause } = require("node:timers/promises");
const { Locks, LockError } = require("./applock");

const driver = process.argv[2];

async function connect() {
  if (driver === "pg") {
    const client = new (require("pg").Client)();
    await client.connect();
    return client;
  }
  const { MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_USER, MYSQL_PWD, MYSQL_DATABASE } = process.env;
  const settings = { host: MYSQL_HOST, port: MYSQL_TCP_PORT, user: MYSQL_USER, password: MYSQL_PWD, database: MYSQL_DATABASE };
  // MySQL's accounts want TLS, or its public key, before they say a password.
  if (driver === "mariadb") return require("mariadb").createConnection({ ...settings, allowPublicKeyRetrieval: true });
  return require("mysql2/promise").createConnection(settings);
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

function say(...fields) {
  process.stdout.write(fields.map(encode).join("\t") + "\n");
}

// The counter, between whose read and write the runner decides how long it takes.
async function increment(connection, locks, lines, operator) {
  while (operator && !(await locks.get("counter", 1, operator, { ttl: 60 })).granted) {
    await pause(10);
  }
  const result = await connection.query("SELECT n FROM counter");
  const { n } = (result.rows ?? result).flat()[0]; // mysql2 has the rows in a list of their own
  say("read", n);
  await lines.next();
  await connection.query(`UPDATE counter SET n = ${n + 1}`);
  if (operator) await locks.release("counter", 1, operator);
  return [];
}

function renew(locks, fields) {
  const grants = [];
  for (let i = 0; i < fields.length; i += 5) {
    const [object_type, object_id, operator_id, fence, ttl_seconds] = fields.slice(i, i + 5);
    grants.push({ object_type, object_id, operator_id, fence: number(fence), ttl_seconds: number(ttl_seconds) });
  }
  return locks.renew(grants);
}

// A view, with names and values in turn.
function read(locks, view, a) {
  const filters = {};
  const after = {};
  let maxRows;
  for (let i = 0; i < a.length; i += 2) {
    if (a[i] === "max_rows") maxRows = number(a[i + 1]);
    else if (a[i].startsWith("after_")) after[a[i].slice("after_".length)] = a[i + 1];
    else filters[a[i]] = a[i + 1];
  }
  return locks.read(view, filters, { after: Object.keys(after).length ? after : undefined, maxRows });
}

function versions() {
  const description = JSON.parse(fs.readFileSync(`${process.env.NODE_PATH}/${driver}/package.json`));
  return [[`Node ${process.versions.node}`, `${driver} ${description.version}`]];
}

async function play(connection, locks, lines, operation, a) {
  switch (operation) {
    case "versions": return versions();
    case "increment": return increment(connection, locks, lines, a[0]);
    case "get_appl_lock": return [await locks.get(a[0], a[1], a[2], { department: a[3], ttl: number(a[4]), isNew: a[5] })];
    case "get_appl_lock_permit": return locks.permit(a[0], a[1], number(a[2]), a[3], { department: a[4], ttl: number(a[5]) });
    case "release_appl_lock": return [await locks.release(a[0], a[1], a[2], { fence: number(a[3]), actor: a[4], reason: a[5] })];
    case "inquire_appl_lock": return [await locks.inquire(a[0], a[1])];
    case "transfer_appl_lock":
      return [await locks.transfer(a[0], a[1], a[2], a[3], { department: a[4], ttl: number(a[5]), actor: a[6], reason: a[7] })];
    case "note_appl_lock": return [await locks.note(a[0], a[1], a[2], a[4], { fence: number(a[3]) })];
    case "purge_appl_locks": return [[await locks.purge({ olderThan: number(a[0]), maxRows: number(a[1]) })]];
    case "purge_appl_lock_history": return [[await locks.purgeHistory({ olderThan: number(a[0]), maxRows: number(a[1]) })]];
    case "assert_appl_lock": await locks.assert(a[0], a[1], a[2], number(a[3])); return [];
    case "serialize_appl_lock": await locks.serialize(a[0], a[1]); return [];
    case "transfer_appl_locks":
      return locks.transferAll(a[0], a[2], {
        objectType: a[1], department: a[3], ttl: number(a[4]), actor: a[5], reason: a[6],
        afterType: a[7], afterId: a[8], maxRows: number(a[9]), dryRun: a[10],
      });
    case "release_appl_locks":
      return locks.releaseAll(a[0], {
        objectType: a[1], actor: a[2], reason: a[3], afterType: a[4], afterId: a[5], maxRows: number(a[6]), dryRun: a[7],
      });
    case "renew_appl_locks": return renew(locks, a);
    case "announce_appl_lock_waiter": await locks.announce(a[0], a[1], a[2], a[4], { department: a[3], wait: number(a[5]) }); return [];
    case "retract_appl_lock_waiter": await locks.retract(a[0], a[1], a[2], a[3]); return [];
    case "poll_appl_locks": return locks.poll(a[0], { maxRows: number(a[1]) });
    case "take_appl_lock":
      return [await locks.take(a[0], a[1], a[2], a[4], { department: a[3], expectedFence: number(a[5]), ttl: number(a[6]) })];
    case "inbox_appl_locks":
      return locks.inbox(a[0], { afterEventId: number(a[1]), maxRows: number(a[2]) });
    case "set_appl_lock_policy":
      return [await locks.setPolicy(a[0], {
        defaultTtl: number(a[1]), longestTtl: number(a[2]), takeReason: a[3], actor: a[4], reason: a[5], history: a[6],
      })];
    case "drop_appl_lock_policy": return [await locks.dropPolicy(a[0], { actor: a[1], reason: a[2] })];
  }
  if (/^appl_lock_/.test(operation)) return read(locks, operation, a);
  throw new Error(`unknown operation ${operation}`);
}

async function main() {
  const connection = await connect();
  const locks = new Locks(connection);
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const [operation, ...values] = line.value.split("\t").map(decode);
    try {
      const rows = await play(connection, locks, lines, operation, values);
      for (const row of rows) say("row", ...Object.values(row));
      say("end");
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
      say("error", error.sqlstate, error.message);
    }
  }
  await connection.end();
}

main().catch((error) => {
  console.error(error.stack); // without it, Node quotes the code, which drivers have on one line
  process.exit(1);
});
