// Application locks for pg, mysql2/promise and mariadb: copy this file into your program.
//
// The database decides; each method is one call of one procedure. The connection is yours, and so is the transaction: what
// a method has done is final when you commit, or at once outside of a transaction.
"use strict";

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

  // Take or renew a lock for ttl seconds. A refusal is an answer that is not granted and has the holder.
  get(objectType, objectId, operator, { department, ttl } = {}) {
    return this.#one("get_appl_lock_row", objectType, text(objectId), operator, department, ttl);
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

  list({ objectType, operator, department, afterType, afterId, maxRows } = {}) {
    return this.#call("list_appl_locks", objectType, operator, department, afterType, text(afterId), maxRows);
  }

  // Remove what has been free for so many seconds, and tell how many rows that were.
  async purge({ olderThan, maxRows } = {}) {
    return (await this.#one("purge_appl_locks_row", olderThan, maxRows)).purged;
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

  waiters({ objectType, objectId, operator, department, afterType, afterId, afterOperator, afterClient, maxRows } = {}) {
    return this.#call("list_appl_lock_waiters", objectType, text(objectId), operator, department,
      afterType, text(afterId), afterOperator, afterClient, maxRows);
  }

  // What there is of each type and department.
  stats({ objectType, department } = {}) {
    return this.#call("stats_appl_locks", objectType, department);
  }

  // Lay down for a type how long its locks last, at first and at most, in seconds; what is not given is none.
  setPolicy(objectType, { defaultTtl, longestTtl, takeReason, actor, reason, history } = {}) {
    return this.#one("set_appl_lock_policy_row", objectType, defaultTtl, longestTtl, takeReason, actor, reason, history);
  }

  dropPolicy(objectType, { actor, reason } = {}) {
    return this.#one("drop_appl_lock_policy_row", objectType, actor, reason);
  }

  policies({ objectType } = {}) {
    return this.#call("list_appl_lock_policies", objectType);
  }

  // One page of the history, oldest first; since is in seconds back from now.
  events({ objectType, objectId, operator, since, afterEventId, maxRows } = {}) {
    return this.#call("list_appl_lock_events", objectType, text(objectId), operator, since, afterEventId, maxRows);
  }

  // What others did with an operator's locks, who waits for them, and which end within the hour.
  inbox(operator, { afterEventId, maxRows } = {}) {
    return this.#call("inbox_appl_locks", operator, afterEventId, maxRows);
  }

  async #one(routine, ...values) {
    return (await this.#call(routine, ...values))[0];
  }

  async #call(routine, ...values) {
    values = values.map((value) => value ?? null);
    try {
      return (await this.#rows(this.prefix + routine, values)).map(answer);
    } catch (error) {
      const sqlstate = error.sqlState ?? error.code; // of mysql2, and of pg
      throw /^LK\d/.test(sqlstate) ? new LockError(sqlstate, error) : error;
    }
  }

  async #rows(routine, values) {
    if (!this.isMySQL) {
      const places = values.map((_, i) => `$${i + 1}`).join(", ");
      return (await this.connection.query(`SELECT * FROM ${routine}(${places})`, values)).rows;
    }
    const places = values.map(() => "?").join(", ");
    // MySQL and MariaDB answer in UTC without saying so, and the drivers would take it for local time. What follows the
    // rows is what a CALL ends with; around both mysql2 puts one list more.
    const [first] = await this.connection.execute({ sql: `CALL ${routine}(${places})`, dateStrings: true }, values);
    return Array.isArray(first[0]) ? first[0] : first;
  }
}

// pg has bigint as text, mysql2 as a number, mariadb as a BigInt. All of ours fit in 2^53.
const whole = new Set(["fence", "seconds_left", "purged", "free_in_us", "event_id", "from_fence", "to_fence",
  "live", "expired", "oldest_seconds", "next_expiry_seconds", "waiters", "longest_wait_seconds",
  "default_ttl_seconds", "longest_ttl_seconds"]);

function answer(row) {
  const result = {};
  for (const [column, value] of Object.entries(row)) {
    const name = column.replace(/^p_/, "");
    result[name] = value;
    if (whole.has(name)) result[name] = Number(value);
    if (name.endsWith("_ts") && typeof value === "string") result[name] = new Date(`${value.replace(" ", "T")}Z`);
  }
  // Not among the columns of the answer when it is listed.
  Object.defineProperty(result, "granted", { value: (result.lock_fl ?? result.return_cd) === "Y" });
  return result;
}

function text(value) {
  return value == null ? null : String(value);
}

module.exports = { Locks, LockError };
