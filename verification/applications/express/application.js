"use strict";
// Express in worker processes. STORE names the driver or query builder, below which all routes are the same.

const cluster = require("node:cluster");
const { setTimeout: sleep } = require("node:timers/promises");

const express = require("express");
const { HeldError, Locks, LostError } = require("applock");

const url = process.env.DATABASE_URL;

/**
 * Each store has a pool for single calls and leases, all(sql, values) outside of a transaction, and transaction(work), which calls work with the
 * connection of a transaction and that connection's all.
 */
const stores = {
  pg() {
    const { Pool } = require("pg");
    const pool = new Pool({ connectionString: url, max: 10 });
    pool.on("error", (error) => console.error(error)); // an idle connection broke: the pool makes another one
    const on = (connection) => async (sql, values) => {
      let place = 0;
      return (await connection.query(sql.replace(/\?/g, () => `$${++place}`), values)).rows;
    };
    async function transaction(work) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const result = await work(client, on(client));
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    }
    return { pool, all: on(pool), transaction };
  },

  "mysql2-promise"() {
    const pool = require("mysql2/promise").createPool(url);
    const on = (connection) => async (sql, values) => (await connection.execute(sql, values))[0];
    async function transaction(work) {
      const connection = await pool.getConnection();
      try {
        await new Locks(connection).check(); // once on each connection, before its first transaction
        await connection.beginTransaction();
        const result = await work(connection, on(connection));
        await connection.commit();
        return result;
      } catch (error) {
        await connection.rollback();
        throw error;
      } finally {
        connection.release();
      }
    }
    return { pool, all: on(pool), transaction };
  },

  "mysql2-callback"() {
    const pool = require("mysql2").createPool(url);
    const called = (call) => new Promise((resolve, reject) => call((error, result) => (error ? reject(error) : resolve(result))));
    const on = (connection) => (sql, values) => called((back) => connection.execute(sql, values, back));
    async function transaction(work) {
      const connection = await called((back) => pool.getConnection(back));
      try {
        await new Locks(connection).check();
        await called((back) => connection.beginTransaction(back));
        const result = await work(connection, on(connection));
        await called((back) => connection.commit(back));
        return result;
      } catch (error) {
        await called((back) => connection.rollback(back));
        throw error;
      } finally {
        connection.release();
      }
    }
    return { pool, all: on(pool), transaction };
  },

  // Knex has a pool of its own for its queries. Single calls and leases have a pool of the driver, and a transaction lends its connection.
  knex() {
    const client = url.startsWith("mysql") ? "mysql2" : "pg";
    const checked = (connection, done) => void new Locks(connection).check().then(() => done(null, connection), (error) => done(error, connection));
    const knex = require("knex")({ client, connection: url, pool: { afterCreate: checked } }); // before the first transaction of each connection
    const pool = client === "pg" ? new (require("pg").Pool)({ connectionString: url }) : require("mysql2/promise").createPool(url);
    const on = (one) => async (sql, values) => {
      const result = await one.raw(sql, values);
      return client === "pg" ? result.rows : result[0];
    };
    const transaction = (work) => knex.transaction(async (trx) => work(await trx.client.acquireConnection(), on(trx)));
    return { pool, all: on(knex), transaction };
  },
};

function serve({ pool, all, transaction }) {
  const locks = new Locks(pool);
  const live = url.startsWith("mysql") ? "appl_lock_live" : "applock.appl_lock_live";
  const app = express();

  app.post("/lock/:id", async ({ params, query }, response) => {
    const lock = await locks.get("customer", params.id, query.operator, { ttl: 3 * 24 * 3600 });
    if (lock.granted) response.json({ granted: true, fence: lock.fence, expires: lock.expiresAt });
    else response.status(409).json({ granted: false, holder: lock.holder.operator, expires: lock.expiresAt });
  });

  app.put("/save/:id", async ({ params: { id }, query: { operator, fence, name } }, response) => {
    try {
      const saves = await transaction(async (connection, run) => {
        const inside = new Locks(connection);
        await inside.serialize("customer", id);
        const [customer] = await run("SELECT saves FROM customer WHERE id = ?", [id]);
        const count = (customer?.saves ?? 0) + 1;
        if (customer) await run("UPDATE customer SET name = ?, saves = ? WHERE id = ?", [name, count, id]);
        else await run("INSERT INTO customer (name, saves, id) VALUES (?, ?, ?)", [name, count, id]);
        await inside.assert("customer", id, operator, Number(fence));
        return count;
      });
      response.json({ granted: true, saves });
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
      response.status(409).json({ granted: false });
    }
  });

  app.post("/rollback/:id", async ({ params: { id }, query: { operator, end } }, response) => {
    class Undo extends Error {}
    const seen = {};
    await transaction(async (connection, run) => {
      const inside = new Locks(connection);
      await run("UPDATE customer SET saves = saves + 1 WHERE id = ?", [id]);
      seen.granted = (await inside.get("invoice", id, operator)).granted;
      seen.holder = (await inside.get("customer", id, operator)).holder.operator;
      await run("UPDATE customer SET saves = saves + 1 WHERE id = ?", [id]);
      if (end === "rollback") throw new Undo();
    }).catch((error) => {
      if (!(error instanceof Undo)) throw error;
    });
    response.json(seen);
  });

  app.post("/work/:id", async ({ params: { id }, query: { ttl } }, response) => {
    try {
      await locks.withLease("job", id, { ttl: Number(ttl) }, async (lease) => {
        response.write(JSON.stringify({ pid: process.pid, operator: lease.operator, fence: lease.fence }) + "\n");
        while ((await all("SELECT name FROM customer WHERE id = ?", [id]))[0].name !== "done") {
          lease.check();
          await sleep(200);
        }
      });
      response.end(JSON.stringify({ done: true }) + "\n");
    } catch (error) {
      if (!(error instanceof HeldError)) throw error;
      response.status(409).json({ granted: false, holder: error.answer.holder.operator });
    }
  });

  app.get("/list", async (_, response) => {
    response.json(await all(`
      SELECT c.id, c.name, l.operator_id AS operator FROM customer AS c
      LEFT JOIN ${live} AS l ON l.object_type = 'customer' AND l.object_id = c.id ORDER BY c.id`, []));
  });

  app.listen(process.env.PORT, "127.0.0.1");
}

if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
  cluster.on("exit", () => cluster.fork());
  process.on("SIGTERM", () => process.exit());
} else {
  serve(stores[process.env.STORE]());
}
