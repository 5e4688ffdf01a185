// A user's program, which clients/node/package compiles and runs against the package, once as ESM and once as CommonJS.
import { createPool as createMariaDB } from "mariadb";
import { createPool as createMySQL } from "mysql2/promise";
import { Pool } from "pg";
import { ContentionError, HeldError, InvalidArgumentError, Locks, LostError, type GetAnswer } from "applock";

const pool = new Pool();
const drivers = [new Locks(pool), new Locks(createMySQL({})), new Locks(createMariaDB({}))];

const pages = ["one", "two"];
declare function publish(page: string, options: { signal: AbortSignal; fence: number }): Promise<void>;

export async function work(locks: Locks, signal: AbortSignal): Promise<string> {
  const lock: GetAnswer = await locks.get("customer", 42, "JDOE", { department: "CS", ttl: 3600, new: true });
  if (!lock.granted) return `${lock.holder.operator} has it until ${lock.expiresAt.toISOString()}`;
  // @ts-expect-error: nobody has what the caller has got
  lock.holder.operator;
  const released = await locks.release("customer", 42, "JDOE");
  if (!released.granted) return released.holder.operator;
  const desk = await locks.permit("room", "desks", 3, "JDOE");
  if (!desk.granted) return desk.holders.map(({ slotId }) => slotId).join();
  if (desk.slotId.length + desk.expiresAt.getTime() === 0) return "neither is null";
  const [first] = await locks.renew([{ objectType: "customer", objectId: 42, operator: "JDOE", fence: lock.fence, ttl: 60 }]);
  if (!first?.granted) return "lost";
  const page = await locks.read("appl_lock_live", { objectType: "customer" }, { maxRows: 10 });
  await locks.read("appl_lock_history", { operator: "JDOE", since: 60 }, { after: { eventId: 1 } });
  const until: Date | undefined = page[0]?.expiresAt;
  // @ts-expect-error: a misspelt option
  await locks.get("customer", 42, "JDOE", { ttlSeconds: 60 });
  // @ts-expect-error: not a column
  await locks.read("appl_lock_stats", { note: "" });
  {
    await using lease = await locks.lease("job", "report", { ttl: 30, wait: 10, signal });
    for (const page of pages) {
      lease.check();
      await publish(page, { signal: lease.signal, fence: lease.fence });
    }
  }
  const total: number = await locks.withLease("job", "report", async (lease) => lease.fence);
  return `${until} ${total}`;
}

// What can be said without a database.
async function main(): Promise<void> {
  for (const locks of drivers) {
    // @ts-expect-error: a misspelt option
    const error: unknown = await locks.get("customer", 42, "JDOE", { ttlSeconds: 60 }).catch((reason: unknown) => reason);
    if (!(error instanceof TypeError && error.message.includes("ttlSeconds"))) throw new Error(`misspelt: ${error}`);
    const outside: unknown = await locks.serialize("customer", 42).catch((reason: unknown) => reason);
    if (!(outside instanceof InvalidArgumentError)) throw new Error(`on a pool: ${outside}`);
  }
  if (new Set([HeldError, LostError, ContentionError, InvalidArgumentError].map((each) => each.name)).size !== 4) throw new Error("names");
  await released();
  process.exit(); // the pools try to connect
}

// `await using` releases, with a pool that answers without a database.
async function released(): Promise<void> {
  const calls: string[] = [];
  const rows: Record<string, object> = {
    appl_lock_version: { p_version: 1 },
    autocommit: { autocommit: 1 },
    get_appl_lock_row: { p_ok_fl: "Y", p_outcome: "ACQUIRED", p_old_operator_id: "", p_old_department_id: "", p_fence: "7", p_seconds_left: "30" },
    release_appl_lock_row: { p_ok_fl: "Y", p_outcome: "RELEASED", p_old_operator_id: "", p_old_department_id: "" },
  };
  const answer = async ({ sql }: { sql: string }): Promise<object[]> => {
    const called = Object.keys(rows).find((name) => sql.includes(name)) ?? "";
    calls.push(called);
    return [rows[called] ?? {}];
  };
  const connection = { query: answer, execute: answer, release() {} };
  const fake = { ...connection, getConnection: async () => connection };
  {
    await using lease = await new Locks(fake).lease("job", "report");
    if (lease.fence !== 7) throw new Error("fence");
  }
  if (calls.at(-1) !== "release_appl_lock_row") throw new Error(`not released: ${calls}`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
