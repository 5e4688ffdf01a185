"use strict";

const { AsyncLocalStorage } = require("node:async_hooks");
const { randomBytes } = require("node:crypto");
const os = require("node:os");
const { inspect } = require("node:util");
const { ApplockError, InvalidArgumentError, LostError, ContentionError, HeldError } = require("./errors.cjs");

// All times here are milliseconds of a monotonic clock.
const now = () => performance.now();
const LONGEST_TIMER = 2 ** 31 - 1;
const LONGEST_CALL = 30_000;
const RELEASE_FOR = 5_000;
/** When the object of a get without an answer is released again: the get may arrive late. */
const RELEASE_AGAIN = [1_000, 5_000, 15_000];
const FIRST_PAUSE = 20;
const MOMENT = 50;
/** Errors after which nothing has changed, because of other transactions. */
const BUSY = new Set(["40001", "40P01", "55P03", 1020, 1205, 1213]);

/** A grant that is renewed until it ends or is lost. It has a lease for its first caller and for each that re-enters. */
class Grant {
  #locks;
  #key;
  #ttl;
  #asked = -Infinity;
  #controller = new AbortController();
  #ended = false;
  #failure;
  #renewal;
  #expiry;
  leases = 0;

  constructor(locks, key, ttl, fence, asked) {
    this.#locks = locks;
    this.#key = key;
    this.#ttl = ttl * 1000;
    this.fence = fence;
    this.#trust(asked);
  }

  get key() {
    return this.#key;
  }

  /** Aborted once the lock is lost, even if no timer has run since. */
  get signal() {
    if (now() >= this.#deadline && !this.#ended) this.#lose("has not been renewed in time", this.#failure);
    return this.#controller.signal;
  }

  async end() {
    const { signal } = this;
    this.#stop();
    const { objectType, objectId, operator } = this.#key;
    const released = release(this.#locks, this.#key, this.fence);
    if (signal.aborted) {
      released.catch(() => {}); // a lost lease has no caller that waits
      return;
    }
    if (!(await released)) this.#controller.abort(new LostError(`the lock of ${objectType}:${objectId} by ${operator} had ended before`));
  }

  /** Trust the lock from before the call, and a little less long than the database keeps it. */
  get #deadline() {
    return this.#asked + this.#ttl - Math.min(this.#ttl / 10, 1000);
  }

  #trust(asked) {
    if (asked < this.#asked) return; // an answer that was overtaken by a later one
    this.#asked = asked;
    this.#watch();
    if (!this.#ended) this.#renewLater(asked + this.#ttl / 3 - now());
  }

  /** Check the clock at the end. A timer may fire a little too early. */
  #watch() {
    clearTimeout(this.#expiry);
    if (!this.signal.aborted && !this.#ended) this.#expiry = background(() => this.#watch(), Math.max(this.#deadline - now(), 1));
  }

  #renewLater(delay) {
    clearTimeout(this.#renewal);
    this.#renewal = background(() => this.#renew(), Math.min(delay, LONGEST_TIMER / 2));
  }

  async #renew() {
    const asked = now();
    this.#renewLater(this.#ttl / 9); // if no answer comes
    try {
      const [row] = await this.#locks.renew([{ ...this.#key, fence: this.fence, ttl: this.#ttl / 1000 }]);
      if (this.#ended || !row) return; // no row: another transaction is changing the lock
      if (row.granted) this.#trust(asked);
      else this.#lose(row.holder ? `is held by ${row.holder.operator}` : "has ended");
    } catch (error) {
      this.#failure = error;
      if (!this.#ended) this.#renewLater(Math.min(this.#ttl / 9, 1000));
    }
  }

  #lose(how, cause) {
    this.#stop();
    this.#controller.abort(new LostError(`the lock of ${this.#key.objectType}:${this.#key.objectId} ${how}`, { cause }));
  }

  #stop() {
    this.#ended = true;
    clearTimeout(this.#expiry);
    clearTimeout(this.#renewal);
  }
}

/** The signal of a lease's grant, which a release of the lease does not abort. */
let lossOf;

class Lease {
  #grant;
  #controller = new AbortController();
  #released = false;
  #isTold = false;

  static {
    lossOf = (lease) => lease.#grant.signal;
  }

  constructor(grant) {
    this.#grant = grant;
    grant.leases++;
    const { signal } = grant;
    const lose = () => this.#controller.abort(signal.reason);
    if (signal.aborted) lose();
    else signal.addEventListener("abort", lose, { signal: this.#controller.signal });
  }

  get objectType() {
    return this.#grant.key.objectType;
  }

  get objectId() {
    return this.#grant.key.objectId;
  }

  get operator() {
    return this.#grant.key.operator;
  }

  get fence() {
    return this.#grant.fence;
  }

  get signal() {
    this.#isLost(); // which aborts it
    return this.#controller.signal;
  }

  check() {
    this.#isTold ||= this.#isLost();
    this.#controller.signal.throwIfAborted();
  }

  #isLost() {
    return this.#grant.signal.aborted;
  }

  enter(objectType, objectId) {
    if (objectType !== this.objectType || objectId !== this.objectId) {
      throw new InvalidArgumentError(`within is a lease of ${this.objectType}:${this.objectId}`);
    }
    if (this.#released) throw new InvalidArgumentError("within has been released");
    this.check();
    return new Lease(this.#grant);
  }

  async release() {
    if (this.#released) return;
    this.#released = true;
    if (!this.#isLost()) this.#controller.abort(new LostError(`the lease of ${this.objectType}:${this.objectId} has been released`));
    if (--this.#grant.leases === 0) await this.#grant.end();
    if (!this.#isTold) this.#grant.signal.throwIfAborted();
  }
}
if (Symbol.asyncDispose) Object.defineProperty(Lease.prototype, Symbol.asyncDispose, { value: Lease.prototype.release });

/** The operators of the leases in whose work the caller is. */
const entered = new AsyncLocalStorage();

/** Do work with a lease, which cannot wait for the same object meanwhile. */
const inside = (lease, work) => entered.run([lease.operator, ...(entered.getStore() ?? [])], work, lease);

/** Take a lock as a lease, and wait for it. listen, if it can, calls its argument when the object is released. */
async function acquire(locks, objectType, objectId, { ttl = 30, wait = 0, department, signal }, listen) {
  if (!Number.isSafeInteger(ttl) || ttl < 1) throw new InvalidArgumentError(`ttl must be a whole number of seconds, and not ${inspect(ttl)}`);
  if (!(typeof wait === "number" && wait >= 0)) throw new InvalidArgumentError(`wait must be a number of seconds, and not ${inspect(wait)}`);
  const operator = `${os.hostname().slice(0, 30)}/${process.pid}/${randomBytes(8).toString("hex")}`;
  const attempt = new Attempt(locks, { objectType, objectId, operator }, { ttl, department, signal });
  const refusal = await attempt.take();
  if (refusal instanceof Lease || wait === 0) return granted(refusal);
  if (entered.getStore()?.includes(refusal.answer?.holder.operator)) {
    throw new InvalidArgumentError(`this is within a lease of ${objectType}:${objectId}, and would wait for its end: give that lease as within`);
  }
  return granted(await attempt.wait(now() + wait * 1000, wait, listen));
}

function granted(result) {
  if (result instanceof Lease) return result;
  throw result;
}

/** An attempt to get an object, for an operator that no other caller has. */
class Attempt {
  #locks;
  #key;
  #options;
  #isAwake = false;
  #wake = () => {};

  constructor(locks, key, options) {
    this.#locks = locks;
    this.#key = key;
    this.#options = options;
  }

  /** The lease, or why there is none yet. */
  async take() {
    const { ttl, department, signal } = this.#options;
    const { objectType, objectId, operator } = this.#key;
    signal?.throwIfAborted();
    const asked = now();
    const call = this.#locks.get(objectType, objectId, operator, { department, ttl, new: true });
    let answer;
    try {
      answer = await limited(call, Math.min(ttl * 900, LONGEST_CALL), signal);
    } catch (error) {
      if (isBusy(error)) return error;
      if (!(error instanceof ApplockError)) this.#giveBack(call);
      throw error;
    }
    if (!answer.granted) return new HeldError(answer);
    // A policy may have cut the ttl.
    const grant = new Grant(this.#locks, this.#key, Math.min(ttl, answer.secondsLeft), answer.fence, asked);
    const lease = new Lease(grant);
    if (!grant.signal.aborted) return lease;
    await lease.release().catch(() => {});
    return grant.signal.reason; // the answer came too late
  }

  /** take() each time that a poll or a message says that the object could be free, until it succeeds or the time is up. */
  async wait(giveUp, seconds, listen) {
    const { signal } = this.#options;
    const heard = () => {
      this.#isAwake = true;
      this.#wake();
    };
    const ignore = listen(heard);
    signal?.addEventListener("abort", heard);
    try {
      await this.#announce(seconds);
      for (;;) {
        const result = await this.take(); // after announcing, because earlier releases sent no message
        if (result instanceof Lease || now() >= giveUp) return result;
        await this.#untilFree(giveUp, seconds, ignore ? 5000 : 1000);
      }
    } finally {
      ignore?.();
      signal?.removeEventListener("abort", heard);
      const { objectType, objectId, operator } = this.#key;
      this.#locks.retract(objectType, objectId, operator, operator).catch(() => {});
    }
  }

  async #announce(seconds) {
    const { objectType, objectId, operator } = this.#key;
    const wait = Number.isFinite(seconds) ? Math.ceil(seconds) : undefined;
    await this.#locks.announce(objectType, objectId, operator, operator, { department: this.#options.department, wait });
  }

  async #untilFree(giveUp, seconds, longestPause) {
    let failingSince = Infinity;
    for (let pause = FIRST_PAUSE; now() < giveUp; pause = Math.min(pause * 2, longestPause)) {
      await this.#sleep(Math.min(pause * (0.5 + Math.random() / 2), giveUp - now()));
      this.#options.signal?.throwIfAborted();
      if (this.#isAwake) break;
      try {
        const [row] = await limited(this.#locks.poll(this.#key.operator), LONGEST_CALL, this.#options.signal);
        if (row?.freeInUs === 0) {
          if (!row.first) await this.#sleep(Math.min(MOMENT, giveUp - now())); // for the program whose turn it is
          break;
        }
        if (row) pause = Math.min(pause, row.freeInUs / 1000);
        else await this.#announce(seconds); // a waiter that has not polled for a minute is no longer listed
        failingSince = Infinity;
      } catch (error) {
        this.#options.signal?.throwIfAborted();
        failingSince = Math.min(failingSince, now());
        if (error instanceof ApplockError || now() - failingSince > LONGEST_CALL) throw error; // otherwise the connection may be broken
      }
    }
    this.#isAwake = false;
  }

  #sleep(delay) {
    if (this.#isAwake) return undefined;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Undo a get without an answer, which may have taken the object or may still do so. No other caller has its operator. */
  #giveBack(call) {
    const { objectType, objectId, operator } = this.#key;
    const releaseIt = () => this.#locks.release(objectType, objectId, operator).catch(() => {});
    releaseIt();
    for (const delay of RELEASE_AGAIN) background(releaseIt, delay);
    call.then(releaseIt, () => {});
  }
}

/** Release a grant, with retries, and return whether it was there. */
async function release(locks, { objectType, objectId, operator }, fence) {
  const giveUp = now() + RELEASE_FOR;
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      const { outcome } = await limited(locks.release(objectType, objectId, operator, { fence }), RELEASE_FOR / 3);
      return outcome === "RELEASED" || (isRepeated && outcome === "FREE"); // the call before may have released it
    } catch (error) {
      if (now() >= giveUp || error instanceof InvalidArgumentError) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
  }
}

/** The answer of a call, unless that takes too long or the signal aborts. The call goes on. */
async function limited(call, longest, signal) {
  let timer;
  let stop;
  const ended = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the database has not answered in time")), longest);
    stop = () => reject(signal.reason);
    signal?.addEventListener("abort", stop);
  });
  try {
    return await Promise.race([call, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** A timer that does not keep the process alive. */
function background(work, delay) {
  return setTimeout(work, Math.min(Math.max(delay, 0), LONGEST_TIMER)).unref();
}

function isBusy(error) {
  return error instanceof ContentionError || BUSY.has(error?.code) || BUSY.has(error?.errno);
}

module.exports = { Lease, acquire, inside, lossOf };
