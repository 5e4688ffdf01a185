// What the tests of the installed package share.
import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";

export const DRIVER = process.env.APPLOCK_TEST_DRIVER;
export const LONG = 300; // seconds, for hangs: no test takes it
export const isPostgres = DRIVER === "pg";

export async function createPool(settings) {
  if (isPostgres) {
    const { default: pg } = await import("pg");
    return new pg.Pool({ max: 10, ...settings }).on("error", () => {});
  }
  const { MYSQL_HOST: host, MYSQL_TCP_PORT: port, MYSQL_USER: user, MYSQL_PWD: password, MYSQL_DATABASE: database } = process.env;
  const driver = await import(DRIVER === "mysql2" ? "mysql2/promise" : "mariadb");
  return driver.createPool({
    host, port: Number(port), user, password, database, connectionLimit: 10,
    ...(DRIVER === "mariadb" ? { allowPublicKeyRetrieval: true } : {}), ...settings,
  });
}

export const connectionOf = (pool) => (isPostgres ? pool.connect() : pool.getConnection());

export async function rowsOf(connection, sql) {
  const result = await connection.query(sql);
  return (result.rows ?? (DRIVER === "mysql2" ? result[0] : result));
}

/** Wait until something is so. */
export async function until(is) {
  while (!(await is())) await pause(20);
}

/** Run a program beside this one, which has locks and pool. */
export function beside(program, ...flags) {
  const code = `
    import { Locks } from "applock";
    const isPostgres = ${isPostgres};
    const DRIVER = process.env.APPLOCK_TEST_DRIVER;
    ${createPool}
    ${rowsOf}
    const pool = await createPool({});
    const locks = new Locks(pool);
    const say = (text) => process.stdout.write(text + "\\n");
    ${program}
    await pool.end();`;
  const child = spawn(process.execPath, [...flags, "--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  child.said = (async () => {
    let text = "";
    for await (const chunk of child.stdout) text += chunk;
    return text;
  })();
  child.line = () => new Promise((resolve) => child.stdout.once("data", (chunk) => resolve(String(chunk).trim())));
  return child;
}
