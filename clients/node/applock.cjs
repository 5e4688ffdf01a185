"use strict";

const { inspect } = require("node:util");
const { ApplockError, InvalidArgumentError, LostError, ContentionError, HeldError, VersionError } = require("./errors.cjs");
const { Lease, acquire, inside, lossOf } = require("./lease.cjs");

/** The version of the contract that this package needs. */
const CONTRACT_VERSION = 1;

/** The answers of each operation, and whether the caller then has what it asked for. */
const OUTCOMES = {
  // outcomes: made by `make generate` from the contract
  get_appl_lock: { ACQUIRED: true, RENEWED: true, HELD: false },
  get_appl_lock_permit: { ACQUIRED: true, RENEWED: true, FULL: false },
  release_appl_lock: { RELEASED: true, FREE: true, HELD: false },
  release_appl_locks: { RELEASED: true, BUSY: false, HELD: false, FREE: false, WOULD_RELEASE: false },
  transfer_appl_lock: { TRANSFERRED: true, HELD: false, FREE: false },
  take_appl_lock: { TAKEN: true, HELD: false, FREE: false },
  transfer_appl_locks: { TRANSFERRED: true, BUSY: false, HELD: false, FREE: false, WOULD_TRANSFER: false },
  note_appl_lock: { NOTED: true, FREE: false, HELD: false },
  renew_appl_locks: { RENEWED: true, HELD: false, FREE: false },
  set_appl_lock_policy: { SET: true },
  drop_appl_lock_policy: { DROPPED: true, NONE: false },
  ask_appl_lock: { ASKED: true, GIVEN: true, WITHDRAWN: true, FREE: false, OWN: false },
  answer_appl_lock: { GIVEN: true, TOLD: true, HELD: false, FREE: false, GONE: false },
  // outcomes: end
};

/** The columns of each view. The ones before the bar identify a row. */
const VIEWS = {
  appl_lock_live: "object_type object_id | operator_id department_id fence acquired_ts lock_ts expires_ts seconds_left ttl_seconds note",
  appl_lock_asking: "object_type object_id operator_id client_id | department_id message since_ts until_ts waited_seconds answer answer_reason"
    + " holder_id holder_department_id seconds_left",
  appl_lock_viewers: "object_type object_id operator_id client_id | department_id state since_ts seconds_left",
  appl_lock_waiting: "object_type object_id operator_id client_id | department_id since_ts until_ts waited_seconds holder_id"
    + " holder_department_id seconds_left",
  appl_lock_history: "event_id | event_ts object_type object_id event actor_id db_user program from_operator_id from_department_id"
    + " to_operator_id to_department_id from_fence to_fence reason",
  appl_lock_policies: "object_type | default_ttl_seconds longest_ttl_seconds take_reason_fl history_level presence_fl yield_after_seconds",
  appl_lock_stats: "object_type department_id | live expired oldest_seconds next_expiry_seconds waiters longest_wait_seconds",
};

/** The outcomes whose other operator is the former holder. */
const CHANGED_HANDS = new Set(["TAKEN", "GIVEN"]);

/** The operations that have such outcomes. */
const TELLS_FORMER = new Set(["take_appl_lock", "ask_appl_lock"]);

const ERRORS = { LK001: InvalidArgumentError, LK002: LostError, LK003: ContentionError };

/** The arguments and options that are whole numbers. All others are text, or flags. */
const WHOLE = new Set(["ttl", "fence", "expectedFence", "permits", "maxRows", "olderThan", "wait", "defaultTtl", "longestTtl",
  "since", "yieldAfter"]);

/** The columns that are whole numbers. */
const WHOLE_COLUMN = /(^|_)(fence|seconds|seconds_left|event_id|version)$|^(purged|free_in_us|live|expired|waiters)$/;

/** The clients whose errors are heard. */
const listening = new WeakSet();

/** Make the driver answer in one form, with any settings of the connection. Both drivers ignore unknown options. */
const MYSQL_SETTINGS = {
  rowsAsArray: false, nestTables: false, namedPlaceholders: false, typeCast: (_, next) => next(), dateStrings: true, supportBigNumbers: true,
};

class Locks {
  /** The results of check() for each connection, by schema. */
  static #found = new WeakMap();

  #connection;
  #dialect;
  #schema;
  #listener;
  #listening;

  constructor(connection, options) {
    const { schema, dialect, listen } = only(options, "schema", "dialect", "listen");
    this.#connection = promised(connection);
    this.#dialect = dialect ?? dialectOf(this.#connection);
    if (!["postgres", "mysql"].includes(this.#dialect)) {
      throw new InvalidArgumentError('the connection is none of pg, mysql2/promise or mariadb: name its dialect, "postgres" or "mysql"');
    }
    if (listen && this.#isMySQL) throw new InvalidArgumentError("listen is for PostgreSQL");
    this.#schema = schema ?? (this.#isMySQL ? undefined : "applock");
    this.#listener = listen;
    if (listen && !listening.has(listen)) {
      listening.add(listen);
      listen.on("error", () => {}); // which would end the process when the connection breaks: waiters poll
    }
  }

  async check() {
    const connection = this.#connection.pool ?? physical(this.#connection);
    if (!Locks.#found.has(connection)) Locks.#found.set(connection, {});
    const found = Locks.#found.get(connection);
    found[this.#prefix] ??= this.#version();
    try {
      await found[this.#prefix];
    } catch (error) {
      delete found[this.#prefix];
      throw error;
    }
  }

  async get(objectType, objectId, operator, options) {
    const { department, ttl, new: isNew } = only(options, "department", "ttl", "new");
    return this.#answer("get_appl_lock_row", { objectType, objectId, operator, department, ttl, new: isNew });
  }

  async permit(objectType, objectId, permits, operator, options) {
    const { department, ttl } = only(options, "department", "ttl");
    const rows = await this.#rows("get_appl_lock_permit", { objectType, objectId, permits, operator, department, ttl });
    const { outcome, ...slot } = rows[0];
    const granted = judge("get_appl_lock_permit", outcome);
    if (granted) return { granted, outcome, ...slot, holders: [] };
    return { granted, outcome, slotId: null, fence: 0, acquiredAt: null, expiresAt: null, secondsLeft: 0, note: "", holders: rows.map(({ outcome: _, ...holder }) => holder) };
  }

  async release(objectType, objectId, operator, options) {
    const { fence, actor, reason } = only(options, "fence", "actor", "reason");
    return this.#answer("release_appl_lock_row", { objectType, objectId, operator, fence, actor, reason });
  }

  async inquire(objectType, objectId) {
    const [{ ok, ...lock }] = await this.#rows("inquire_appl_lock_row", { objectType, objectId });
    return ok ? lock : null;
  }

  async transfer(objectType, objectId, from, to, options) {
    const { department, ttl, actor, reason } = only(options, "department", "ttl", "actor", "reason");
    return this.#answer("transfer_appl_lock_row", { objectType, objectId, from, to, department, ttl, actor, reason });
  }

  async take(objectType, objectId, operator, reason, options) {
    const { department, expectedFence, ttl } = only(options, "department", "expectedFence", "ttl");
    return this.#answer("take_appl_lock_row", { objectType, objectId, operator, department, reason, expectedFence, ttl });
  }

  async transferAll(from, to, options) {
    const { objectType, department, ttl, actor, reason, afterType, afterId, maxRows, dryRun } = only(
      options, "objectType", "department", "ttl", "actor", "reason", "afterType", "afterId", "maxRows", "dryRun");
    return this.#answers("transfer_appl_locks", { from, objectType, to, department, ttl, actor, reason, afterType, afterId, maxRows, dryRun });
  }

  async releaseAll(operator, options) {
    const { objectType, actor, reason, afterType, afterId, maxRows, dryRun } = only(
      options, "objectType", "actor", "reason", "afterType", "afterId", "maxRows", "dryRun");
    return this.#answers("release_appl_locks", { operator, objectType, actor, reason, afterType, afterId, maxRows, dryRun });
  }

  async note(objectType, objectId, operator, note, options) {
    const { fence } = only(options, "fence");
    return this.#answer("note_appl_lock_row", { objectType, objectId, operator, fence, note });
  }

  async purge(options) {
    const { olderThan, maxRows } = only(options, "olderThan", "maxRows");
    return (await this.#rows("purge_appl_locks_row", { olderThan, maxRows }))[0].purged;
  }

  async purgeHistory(options) {
    const { olderThan, maxRows } = only(options, "olderThan", "maxRows");
    return (await this.#rows("purge_appl_lock_history_row", { olderThan, maxRows }))[0].purged;
  }

  async assert(objectType, objectId, operator, fence) {
    await this.#requireTransaction("assert");
    await this.#rows("assert_appl_lock_row", { objectType, objectId, operator, fence }, false);
  }

  async serialize(objectType, objectId) {
    await this.#requireTransaction("serialize");
    await this.#rows("serialize_appl_lock_row", { objectType, objectId }, false);
  }

  async renew(grants) {
    const documents = grants.map((grant) => {
      const { objectType, objectId, operator, fence, ttl } = only(grant, "objectType", "objectId", "operator", "fence", "ttl");
      const [object_type, object_id, operator_id] = valuesOf({ objectType, objectId, operator }).map((text) => JSON.stringify(text));
      const [fenceNumber, ttlSeconds] = valuesOf({ fence, ttl });
      return `{"object_type": ${object_type}, "object_id": ${object_id}, "operator_id": ${operator_id}, "fence": ${fenceNumber}, "ttl_seconds": ${ttlSeconds}}`;
    });
    return this.#answers("renew_appl_locks", { grants: `[${documents}]` });
  }

  async announce(objectType, objectId, operator, client, options) {
    const { department, wait } = only(options, "department", "wait");
    await this.#rows("announce_appl_lock_waiter_row", { objectType, objectId, operator, department, client, wait });
  }

  async retract(objectType, objectId, operator, client) {
    await this.#rows("retract_appl_lock_waiter_row", { objectType, objectId, operator, client });
  }

  async poll(client, options) {
    const { maxRows } = only(options, "maxRows");
    return this.#rows("poll_appl_locks", { client, maxRows });
  }

  async ask(objectType, objectId, operator, client, options) {
    const { department, message, wait } = only(options, "department", "message", "wait");
    return this.#answer("ask_appl_lock_row", { objectType, objectId, operator, department, client, message, wait });
  }

  async answer(objectType, objectId, operator, fence, asker, answer, options) {
    const { client, reason } = only(options, "client", "reason");
    return this.#answer("answer_appl_lock_row", { objectType, objectId, operator, fence, asker, client, answer, reason });
  }

  async see(objectType, objectId, operator, client, state, options) {
    const { department, ttl } = only(options, "department", "ttl");
    return this.#rows("see_appl_lock", { objectType, objectId, operator, department, client, state, ttl });
  }

  async inbox(operator, options) {
    const { position, maxRows } = only(options, "position", "maxRows");
    return this.#rows("inbox_appl_locks", { operator, position, maxRows });
  }

  async setPolicy(objectType, options) {
    const { defaultTtl, longestTtl, takeReason, actor, reason, history, presence, yieldAfter } = only(
      options, "defaultTtl", "longestTtl", "takeReason", "actor", "reason", "history", "presence", "yieldAfter");
    return this.#answer("set_appl_lock_policy_row", {
      objectType, defaultTtl, longestTtl, takeReason, actor, reason, history, presence, yieldAfter,
    });
  }

  async dropPolicy(objectType, options) {
    const { actor, reason } = only(options, "actor", "reason");
    return this.#answer("drop_appl_lock_policy_row", { objectType, actor, reason });
  }

  async read(view, filters, options) {
    if (!Object.hasOwn(VIEWS, view)) throw new TypeError(`unknown view ${view}; known are ${Object.keys(VIEWS).join(", ")}`);
    const { after, maxRows = 1000 } = only(options, "after", "maxRows");
    const [key, columns] = VIEWS[view].split(" | ").map((names) => names.split(" "));
    const ofName = new Map([...key, ...columns].map((column) => [nameOf(column), column]));
    const ofHistory = view === "appl_lock_history" ? ["since", "operator"] : [];
    const wanted = only(filters, ...ofName.keys(), ...ofHistory);
    const values = [];
    const conditions = Object.entries(wanted).filter(([, value]) => value != null).map(([name, value]) => {
      if (name === "since") return this.#since(value);
      values.push(...valuesOf({ [name]: value }));
      return ofName.has(name) ? `${ofName.get(name)} = ?` : "? IN (actor_id, from_operator_id, to_operator_id)";
    });
    if (after) conditions.push(this.#behind(key, after, values));
    const where = conditions.length ? `WHERE ${conditions.join(" AND ")}` : "";
    await this.check();
    return this.#select(`SELECT * FROM ${this.#prefix}${view} ${where} ORDER BY ${key.join(", ")} LIMIT ${valuesOf({ maxRows })}`, values);
  }

  async lease(objectType, objectId, options) {
    const { within, ...wanted } = only(options, "ttl", "wait", "department", "signal", "within");
    const [id] = valuesOf({ objectId });
    if (within) return within.enter(objectType, id);
    if (!isPool(this.#connection)) {
      throw new InvalidArgumentError("a lease needs a pool: it is renewed beside what your own connection does");
    }
    await this.check();
    return acquire(this, objectType, id, wanted, (heard) => this.#listen(`${objectType}:${id}`, heard));
  }

  async withLease(objectType, objectId, options, work) {
    if (typeof options === "function") [work, options] = [options, undefined];
    const lease = await this.lease(objectType, objectId, options);
    let result;
    try {
      result = await inside(lease, work);
    } catch (error) {
      await lease.release().catch(() => {}); // the error of the work is the one to throw
      throw error;
    }
    await lease.release();
    lossOf(lease).throwIfAborted(); // even if the work has caught the error of check()
    return result;
  }

  get #isMySQL() {
    return this.#dialect === "mysql";
  }

  /** On MySQL and MariaDB a schema is a database, and the connection's own one needs no name. */
  get #prefix() {
    return this.#schema ? `${this.#schema}.` : "";
  }

  async #answer(routine, given) {
    return (await this.#answers(routine, given))[0];
  }

  async #answers(routine, given) {
    const operation = routine.replace(/_row$/, "");
    return (await this.#rows(routine, given)).map(({ ok: _, outcome, oldOperator, oldDepartment, objectType, objectId, ...rest }) => {
      const granted = judge(operation, outcome);
      const other = oldOperator ? { operator: oldOperator, department: oldDepartment } : null;
      return {
        ...(objectType === undefined ? {} : { objectType, objectId }),
        granted,
        outcome,
        ...(oldOperator === undefined ? {} : { holder: CHANGED_HANDS.has(outcome) ? null : other }),
        ...(TELLS_FORMER.has(operation) ? { former: CHANGED_HANDS.has(outcome) ? other : null } : {}),
        ...rest,
      };
    });
  }

  async #rows(routine, given, isFinal = true) {
    const values = valuesOf(given);
    await this.check();
    return this.#call(routine, values, isFinal);
  }

  #call(routine, values, isFinal) {
    return this.#select(`${this.#isMySQL ? "CALL" : "SELECT * FROM"} ${this.#prefix}${routine}(${values.map(() => "?").join(", ")})`, values, isFinal);
  }

  async #version() {
    let rows;
    try {
      rows = await this.#call("appl_lock_version", [], false);
    } catch (error) {
      if (!["42883", "3F000"].includes(error.code) && error.errno !== 1305) throw error;
      throw new VersionError(`applock is not installed in ${this.#schema ?? "this database"}: applockctl migrate up`, { cause: error });
    }
    const installed = rows[0]?.version ?? rows[0]?.applLockVersion;
    if (!Number.isSafeInteger(installed)) throw unlike(this.#isMySQL ? "mysql2/promise or mariadb" : "pg");
    if (installed < CONTRACT_VERSION) {
      throw new VersionError(`the database has contract ${installed}, and this package needs ${CONTRACT_VERSION}: applockctl migrate up`);
    }
  }

  /** Call it, finally unless the caller has begun a transaction. */
  async #select(statement, values, isFinal = true) {
    try {
      return (this.#isMySQL ? await this.#mysql(statement, values, isFinal) : await this.#postgres(statement, values)).map(rowOf);
    } catch (error) {
      const Mine = ERRORS[error.sqlState ?? error.code]; // of mysql2 and mariadb, and of pg
      throw Mine ? new Mine(error.message, { cause: error }) : error;
    }
  }

  /** The rows as JSON, all values as text: no parser of types, no date style and no binary format changes that. */
  async #postgres(statement, values) {
    let place = 0;
    const text = "SELECT (SELECT json_object_agg(key, value) FROM json_each_text(row_to_json(r)))::text"
      + ` FROM (${statement.replace(/\?/g, () => `$${++place}`)}) AS r`;
    const result = await this.#connection.query({ text, values, rowMode: "array", types: { getTypeParser: () => String } });
    if (!Array.isArray(result?.rows)) throw unlike("pg");
    return result.rows.map(([row]) => JSON.parse(row));
  }

  async #mysql(statement, values, isFinal) {
    if (!isPool(this.#connection)) return callOn(this.#connection, statement, values, isFinal && "mine");
    const connection = await this.#connection.getConnection();
    try {
      return await callOn(connection, statement, values, isFinal && "pool");
    } finally {
      await connection.release();
    }
  }

  /**
   * Outside of a transaction a savepoint fails on PostgreSQL, and is gone at once on MySQL and MariaDB. So the server itself shows whether
   * there is a transaction, and not the driver's view of it.
   */
  async #requireTransaction(method) {
    const outside = `${method} needs a transaction of one connection, not a pool: what it does ends with the transaction`;
    if (isPool(this.#connection)) throw new InvalidArgumentError(outside);
    try {
      await this.#connection.query("SAVEPOINT applock_in_transaction");
      await this.#connection.query("RELEASE SAVEPOINT applock_in_transaction");
    } catch (error) {
      throw error.code === "25P01" || error.errno === 1305 ? new InvalidArgumentError(outside, { cause: error }) : error;
    }
  }

  /** Call heard at each message of a release, until the returned function is called. Does nothing if there are no messages. */
  #listen(object, heard) {
    const listener = this.#listener;
    if (!listener) return undefined;
    const channel = `${this.#schema}_appl_lock`;
    const hear = (message) => {
      if (message.channel === channel && message.payload === object) heard();
    };
    listener.on("notification", hear);
    this.#listening ??= listener.query(`LISTEN "${channel}"`).catch(() => {}); // waiters poll
    return () => listener.off("notification", hear);
  }

  #since(value) {
    const [seconds] = valuesOf({ since: value });
    return this.#isMySQL
      ? `event_ts >= UTC_TIMESTAMP(6) - INTERVAL ${seconds} SECOND`
      : `event_ts >= statement_timestamp() - ${seconds} * interval '1 second'`;
  }

  /** The condition for the rows after a row. MySQL and MariaDB read a range of the key only if each column is compared. */
  #behind(key, after, values) {
    const valueOf = (column) => valuesOf({ [nameOf(column)]: after[nameOf(column)] })[0];
    if (!this.#isMySQL) {
      values.push(...key.map(valueOf));
      return `(${key.join(", ")}) > (${key.map(() => "?").join(", ")})`;
    }
    const [name, ...rest] = key;
    values.push(valueOf(name));
    if (!rest.length) return `${name} > ?`;
    values.push(valueOf(name));
    return `(${name} > ? OR ${name} = ? AND ${this.#behind(rest, after, values)})`;
  }
}

/**
 * Call a statement of MySQL or MariaDB. If it is to be final and the connection has no autocommit, it gets a transaction, unless the caller
 * has begun one.
 */
async function callOn(connection, statement, values, whose) {
  const call = async () => rowsIn(await connection.execute({ sql: statement, ...MYSQL_SETTINGS }, values));
  if (!whose || (await hasAutocommit(connection))) return call();
  return inTurn(physical(connection), async () => {
    if (whose === "mine" && (await isInTransaction(connection))) return call();
    await connection.query("START TRANSACTION");
    try {
      const rows = await call();
      await connection.query("COMMIT");
      return rows;
    } catch (error) {
      await connection.query("ROLLBACK").catch(() => {}); // the first error is the one to throw
      throw error;
    }
  });
}

/** Whether physical connections of MySQL and MariaDB have autocommit, and the last work that had its turn on each. */
const autocommits = new WeakMap();
const turns = new WeakMap();

async function hasAutocommit(connection) {
  const key = physical(connection);
  if (!autocommits.has(key)) {
    const rows = rowsIn(await connection.query({ sql: "SELECT @@autocommit AS autocommit", ...MYSQL_SETTINGS }));
    autocommits.set(key, Number(rows[0]?.autocommit) !== 0);
  }
  return autocommits.get(key);
}

/** Work on a connection after the work before it: two at once would end each other's transaction. */
function inTurn(key, work) {
  const result = (turns.get(key) ?? Promise.resolve()).then(work);
  turns.set(key, result.catch(() => {}));
  return result;
}

/** Both products refuse this statement in a transaction only. It is otherwise for the transaction that follows. */
async function isInTransaction(connection) {
  try {
    await connection.query("SET TRANSACTION READ WRITE");
    return false;
  } catch (error) {
    if (error.errno === 1568) return true;
    throw error;
  }
}

/** The rows of a result of mysql2 or mariadb: a CALL has another result after its rows, and mysql2 adds the fields. */
function rowsIn(result) {
  if (!Array.isArray(result)) throw unlike("mysql2/promise or mariadb");
  let rows = result;
  while (Array.isArray(rows[0])) [rows] = rows;
  return rows;
}

/** Refuse unknown options: a misspelt one would silently be its default. */
function only(options, ...known) {
  if (options == null) return {};
  if (typeof options !== "object") throw new TypeError(`options are an object, as { ${known[0]}: ... }, and not ${inspect(options)}`);
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`unknown option ${name}; known are ${known.join(", ")}`);
  }
  return options;
}

/** Arguments for the drivers: text, whole numbers as text, and null. */
function valuesOf(given) {
  return Object.entries(given).map(([name, value]) => {
    if (value == null) return null;
    if (WHOLE.has(name)) {
      if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
      throw new InvalidArgumentError(`${name} must be a whole number, and not ${inspect(value)}`);
    }
    if (typeof value === "boolean") return value ? "Y" : "N";
    if (["string", "number", "bigint"].includes(typeof value)) return String(value);
    throw new InvalidArgumentError(`${name} must be text, and not ${typeof value}`);
  });
}

function judge(operation, outcome) {
  const granted = OUTCOMES[operation][outcome];
  if (granted === undefined) throw new VersionError(`${operation} answers ${outcome}, which is newer than this package: upgrade it`);
  return granted;
}

/** The name of a column: p_old_operator_id is oldOperator, expires_ts is expiresAt, take_reason_fl is takeReason. */
function nameOf(column) {
  return column
    .replace(/^p_/, "")
    .replace(/^lock_ts$/, "locked_ts")
    .replace(/_ts$/, "_at")
    .replace(/_fl$/, "")
    .replace(/(operator|department|client|actor|holder)_id$/, "$1")
    .replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

function rowOf(row) {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [nameOf(column), valueOf(column, value)]));
}

function valueOf(column, value) {
  if (value === null) return null;
  if (column.endsWith("_fl")) return value === "Y";
  // MySQL and MariaDB answer in UTC without a zone.
  if (column.endsWith("_ts")) return new Date(value.includes("T") ? value : `${value.replace(" ", "T")}Z`);
  if (!WHOLE_COLUMN.test(column)) return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
}

/** The form of a connection that returns promises. Without a callback the other form of mysql2 would end the process. */
function promised(connection) {
  if (typeof connection?.promise === "function") return connection.promise();
  if (connection?.execute?.length > 2 || (typeof connection?.changeUser === "function" && !connection.execute)) {
    throw new InvalidArgumentError("the connection takes callbacks: use one of mysql2/promise, or of mariadb and not mariadb/callback");
  }
  return connection;
}

function dialectOf(connection) {
  if (typeof connection?.query !== "function") return undefined;
  if (typeof connection.execute === "function") return "mysql";
  return typeof connection.connect === "function" ? "postgres" : undefined;
}

/** What stays the same when a connection leaves its pool again: mysql2 and mariadb wrap it each time. */
function physical(connection) {
  return connection.connection ?? (connection.info?.threadId === undefined ? connection : connection.info);
}

function isPool(connection) {
  return typeof connection.getConnection === "function" || typeof connection.totalCount === "number"; // of pg
}

function unlike(driver) {
  return new InvalidArgumentError(`the connection does not answer as one of ${driver}, although its dialect says so`);
}

module.exports = { Locks, Lease, ApplockError, InvalidArgumentError, LostError, ContentionError, HeldError, VersionError };
