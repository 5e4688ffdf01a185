// Application locks for pg, mysql2/promise and mariadb: copy this file into your program.
//
// The database decides; each method is one call of one procedure, or reads one view. The connection is yours, and so is the
// transaction: what a method has done is final when you commit, or at once outside of a transaction.
"use strict";

// The views, and which columns tell a row from all others.
const keys = {
  appl_lock_live: ["object_type", "object_id"],
  appl_lock_waiting: ["object_type", "object_id", "operator_id", "client_id"],
  appl_lock_history: ["event_id"],
  appl_lock_policies: ["object_type"],
  appl_lock_stats: ["object_type", "department_id"],
};

// A mistake of the caller, LK001 or LK002, or too much contention, LK003: call again then, and only then.
class LockError extends Error {
  constructor(sqlstate, error) {
    super(error.message, { cause: error });
    this.name = "LockError";
    this.sqlstate = sqlstate;
  }
}

// Locks has the operations, on a connection or a pool. Ids may be of any type: they travel as text. An answer is an object
// with the names of procedures/README.md without "p_", and besides "granted", which is whether its flag is Y.
class Locks {
  constructor(connection, { schema } = {}) {
    this.connection = connection;
    this.isMySQL = typeof connection.execute === "function";
    // On MySQL and MariaDB a schema is a database, and the connection's own one needs no name.
    this.prefix = this.isMySQL ? (schema ? `${schema}.` : "") : `${schema ?? "applock"}.`;
  }

  // Take or renew a lock for ttl seconds. A refusal is an answer that is not granted and has the holder. With isNew the
  // operator's own live lock is refused, too.
  get(objectType, objectId, operator, { department, ttl, isNew } = {}) {
    return this.#one("get_appl_lock_row", objectType, text(objectId), operator, department, ttl, isNew === true ? "Y" : isNew || null);
  }

  // Take or renew one of so many permits: one row with its slot, or one for each slot, whose outcome is FULL.
  permit(objectType, objectId, permits, operator, { department, ttl } = {}) {
    return this.#call("get_appl_lock_permit", objectType, text(objectId), permits, operator, department, ttl);
  }

  release(objectType, objectId, operator, { fence, actor, reason } = {}) {
    return this.#one("release_appl_lock_row", objectType, text(objectId), operator, fence, actor, reason);
  }

  inquire(objectType, objectId) {
    return this.#one("inquire_appl_lock_row", objectType, text(objectId));
  }

  transfer(objectType, objectId, from, to, { department, ttl, actor, reason } = {}) {
    return this.#one("transfer_appl_lock_row", objectType, text(objectId), from, to, department, ttl, actor, reason);
  }

  // Take it from whoever holds it, or from the grant expectedFence only; the former holder reads why in its inbox.
  take(objectType, objectId, operator, reason, { department, expectedFence, ttl } = {}) {
    return this.#one("take_appl_lock_row", objectType, text(objectId), operator, department, reason, expectedFence, ttl);
  }

  // Hand over one page of what an operator holds: a row for each lock. Fewer than maxRows are the last page. dryRun is "Y" to only
  // tell what would be done.
  transferAll(from, to, { objectType, department, ttl, actor, reason, afterType, afterId, maxRows, dryRun } = {}) {
    return this.#call("transfer_appl_locks", from, objectType, to, department, ttl, actor, reason, afterType, text(afterId), maxRows, dryRun);
  }

  // Release one page of what an operator holds, likewise.
  releaseAll(operator, { objectType, actor, reason, afterType, afterId, maxRows, dryRun } = {}) {
    return this.#call("release_appl_locks", operator, objectType, actor, reason, afterType, text(afterId), maxRows, dryRun);
  }

  // Say why the operator holds it, for whoever asks; no note takes that back.
  note(objectType, objectId, operator, note, { fence } = {}) {
    return this.#one("note_appl_lock_row", objectType, text(objectId), operator, fence, note);
  }

  // Remove what has been free for so many seconds, and tell how many rows that were.
  async purge({ olderThan, maxRows } = {}) {
    return (await this.#one("purge_appl_locks_row", olderThan, maxRows)).purged;
  }

  // Remove events that are so many seconds old, and tell how many that were.
  async purgeHistory({ olderThan, maxRows } = {}) {
    return (await this.#one("purge_appl_lock_history_row", olderThan, maxRows)).purged;
  }

  // Throw a LockError with LK002 unless this grant is live; it stays so until the transaction ends.
  async assert(objectType, objectId, operator, fence) {
    await this.#one("assert_appl_lock_row", objectType, text(objectId), operator, fence);
  }

  // Wait until no other transaction is inside, and stay inside until this one ends.
  async serialize(objectType, objectId) {
    await this.#one("serialize_appl_lock_row", objectType, text(objectId));
  }

  // Renew many: each has object_type, object_id, operator_id, fence and ttl_seconds.
  renew(grants) {
    return this.#call("renew_appl_locks", JSON.stringify(grants));
  }

  async announce(objectType, objectId, operator, client, { department, wait } = {}) {
    await this.#one("announce_appl_lock_waiter_row", objectType, text(objectId), operator, department, client, wait);
  }

  async retract(objectType, objectId, operator, client) {
    await this.#one("retract_appl_lock_waiter_row", objectType, text(objectId), operator, client);
  }

  poll(client, { maxRows } = {}) {
    return this.#call("poll_appl_locks", client, maxRows);
  }

  // Lay down for a type how long its locks last, at first and at most, in seconds; what is not given is none.
  setPolicy(objectType, { defaultTtl, longestTtl, takeReason, actor, reason, history } = {}) {
    return this.#one("set_appl_lock_policy_row", objectType, defaultTtl, longestTtl, takeReason, actor, reason, history);
  }

  dropPolicy(objectType, { actor, reason } = {}) {
    return this.#one("drop_appl_lock_policy_row", objectType, actor, reason);
  }

  // What others did with an operator's locks, and who waits for them. The next call passes the safe_event_id of any row: it may
  // tell of an event twice, and never of none.
  inbox(operator, { afterEventId, maxRows } = {}) {
    return this.#call("inbox_appl_locks", operator, afterEventId, maxRows);
  }

  // One page of a view in the order of its key, behind the row "after": the rows that have the values of filters in these columns.
  // appl_lock_history also has operator_id, who did, lost or got it, and since_seconds, how long ago it was at most.
  read(view, filters = {}, { after, maxRows = 1000 } = {}) {
    const conditions = [];
    const values = [];
    for (const [name, value] of Object.entries(filters)) {
      if (value == null) continue;
      if (!/^\w+$/.test(name)) throw new Error(`not a column: ${name}`);
      if (name === "since_seconds") {
        const ago = BigInt(value);
        conditions.push(this.isMySQL
          ? `event_ts >= UTC_TIMESTAMP(6) - INTERVAL ${ago} SECOND`
          : `event_ts >= statement_timestamp() - ${ago} * interval '1 second'`);
        continue;
      }
      const ofEvent = view === "appl_lock_history" && name === "operator_id";
      conditions.push(ofEvent ? "? IN (actor_id, from_operator_id, to_operator_id)" : `${name} = ?`);
      values.push(text(value));
    }
    const key = keys[view];
    if (after) conditions.push(this.#behind(key, after, values));
    const where = conditions.length ? `WHERE ${conditions.join(" AND ")}` : "";
    return this.#rows("SELECT * FROM", `${view} ${where} ORDER BY ${key.join(", ")} LIMIT ${BigInt(maxRows)}`, values);
  }

  async #one(routine, ...values) {
    return (await this.#call(routine, ...values))[0];
  }

  #call(routine, ...values) {
    const places = values.map(() => "?").join(", ");
    return this.#rows(this.isMySQL ? "CALL" : "SELECT * FROM", `${routine}(${places})`, values.map((value) => value ?? null));
  }

  // What comes after a row. MySQL and MariaDB read a range of the key only if it is written out.
  #behind(key, after, values) {
    if (!this.isMySQL) {
      values.push(...key.map((name) => after[name]));
      return `(${key.join(", ")}) > (${key.map(() => "?").join(", ")})`;
    }
    const [name, ...rest] = key;
    values.push(after[name]);
    if (!rest.length) return `${name} > ?`;
    values.push(after[name]);
    return `(${name} > ? OR ${name} = ? AND ${this.#behind(rest, after, values)})`;
  }

  async #rows(verb, what, values) {
    let statement = `${verb} ${this.prefix}${what}`;
    try {
      if (!this.isMySQL) {
        let place = 0;
        statement = statement.replace(/\?/g, () => `$${++place}`);
        return (await this.connection.query(statement, values)).rows.map(answer);
      }
      // MySQL and MariaDB answer in UTC without saying so, and the drivers would take it for local time.
      const result = await this.connection.execute({ sql: statement, dateStrings: true, supportBigNumbers: true }, values);
      return rowsOf(result).map(answer);
    } catch (error) {
      const sqlstate = error.sqlState ?? error.code; // of mysql2, and of pg
      throw /^LK\d/.test(sqlstate) ? new LockError(sqlstate, error) : error;
    }
  }
}

// What follows the rows of a CALL is what it ends with; around all of it mysql2 puts one list more.
function rowsOf(result) {
  while (Array.isArray(result[0])) [result] = result;
  return result;
}

// pg has bigint as text, mysql2 as a number, mariadb as a BigInt. All of ours fit in 2^53, unless the caller has named a greater one.
const whole = /(^|_)(fence|seconds|seconds_left|event_id)$|^(purged|free_in_us|live|expired|waiters)$/;

function answer(row) {
  const result = {};
  for (const [column, value] of Object.entries(row)) {
    const name = column.replace(/^p_/, "");
    result[name] = value;
    if (value !== null && whole.test(name)) result[name] = Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
    if (name.endsWith("_ts") && typeof value === "string") result[name] = new Date(`${value.replace(" ", "T")}Z`);
  }
  // Not among the columns of the answer when it is listed.
  Object.defineProperty(result, "granted", { value: result.ok_fl === "Y" });
  return result;
}

function text(value) {
  return value == null ? null : String(value);
}

module.exports = { Locks, LockError };
