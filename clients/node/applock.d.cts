/// <reference lib="esnext.disposable" />
/// <reference types="node" />

/** A client or pool of pg, or a connection or pool of mysql2/promise or mariadb. */
export interface Connection {
  query(...args: any[]): any;
}

/** Text, or what is made text: an id may be a number. */
export type Text = string | number | bigint;
/** A whole number. */
export type Whole = number | bigint;
/** An option that is undefined is not given. */
type Options<T> = { [Name in keyof T]?: T[Name] | undefined };

export interface Person {
  operator: string;
  /** Empty when nobody has said. */
  department: string;
}

export interface Answer {
  /** Whether the caller has got what it asked for. */
  granted: boolean;
  outcome: string;
}

export interface HeldAnswer extends Answer {
  /** Who has it instead; null when nobody has. */
  holder: Person | null;
}

export interface Ending {
  /** When the lock ends, the caller's or the holder's; null for none. */
  expiresAt: Date | null;
  /** Whole seconds until then by the database's clock, rounded up; 0 for none. */
  secondsLeft: number;
}

export interface Granted extends HeldAnswer, Ending {
  /** The fencing token of the grant, greater for each later one; 0 when there is none. */
  fence: number;
}

export interface GetAnswer extends Granted {
  /** What the holder has noted, or the caller in a renewal. */
  note: string;
}

export interface TakeAnswer extends Granted {
  /** From whom it was taken. */
  former: Person | null;
}

export interface AskAnswer extends Granted {
  /** Who had it, when it was GIVEN. When it is ASKED, holder has it. */
  former: Person | null;
}

export interface Permit extends Answer, Ending {
  /** The object id of the slot, for all other operations; null when all are taken. */
  slotId: string | null;
  fence: number;
  note: string;
  /** Who has which slot when all are taken, the soonest to expire first. */
  holders: (Person & Ending & { slotId: string; fence: number; note: string })[];
}

export interface Lock extends Person {
  fence: number;
  acquiredAt: Date;
  /** Last get, renewal or transfer. */
  lockedAt: Date;
  expiresAt: Date;
  secondsLeft: number;
  note: string;
}

export interface ObjectKey {
  objectType: string;
  objectId: string;
}

export type Renewal = ObjectKey & HeldAnswer & Ending;
export type Change = ObjectKey & Granted;

export interface Grant {
  objectType: string;
  objectId: Text;
  operator: Text;
  fence: Whole;
  ttl: Whole;
}

export interface Notice extends ObjectKey {
  /** TAKEN, HANDED, RELEASED, GIVEN or YIELDED, which are events; AWAITED, LATER or DECLINED, which is how it is now. */
  kind: string;
  /** 0 for what is no event. */
  eventId: Whole;
  otherOperator: string;
  otherDepartment: string;
  eventAt: Date;
  secondsLeft: number;
  reason: string;
  /** afterEventId of the next call. */
  safeEventId: Whole;
  /** What somebody who asks has to say; empty unless it is a request. */
  message: string;
  /** The program of who asks, for answer; empty unless it is a request. */
  client: string;
  /** The operator's grant that is asked for, for answer; 0 unless it is a request. */
  fence: Whole;
}

/** Somebody who has to do with an object. */
export interface Presence extends Person {
  /** HOLDER, also where that is the operator itself; ASKER or VIEWER, once for each other program. */
  kind: string;
  /** The browser tab or program; empty for HOLDER. */
  client: string;
  /** VIEWING, EDITING or IDLE; empty unless VIEWER. */
  state: string;
  /** The start of the grant, HOLDER; since when it asks or looks. */
  sinceAt: Date;
  /** Whole seconds to the end of the lock, HOLDER; until that one is not listed any more. */
  secondsLeft: number;
  /** What an ASKER has to say. */
  message: string;
}

/** The rows of the views. */
export interface Views {
  appl_lock_live: ObjectKey & Lock & { ttlSeconds: number };
  appl_lock_waiting: ObjectKey & Person & {
    client: string; sinceAt: Date; untilAt: Date | null; waitedSeconds: number; holder: string; holderDepartment: string; secondsLeft: number;
  };
  appl_lock_asking: ObjectKey & Person & {
    client: string; message: string; sinceAt: Date; untilAt: Date | null; waitedSeconds: number; answer: string; answerReason: string; holder: string;
    holderDepartment: string; secondsLeft: number;
  };
  appl_lock_viewers: ObjectKey & Person & { client: string; state: string; sinceAt: Date; secondsLeft: number };
  appl_lock_history: ObjectKey & {
    eventId: number; eventAt: Date; event: string; actor: string; dbUser: string; program: string; fromOperator: string; fromDepartment: string;
    toOperator: string; toDepartment: string; fromFence: number; toFence: number; reason: string;
  };
  appl_lock_policies: {
    objectType: string; defaultTtlSeconds: number | null; longestTtlSeconds: number | null; takeReason: boolean; historyLevel: string; presence: boolean;
    yieldAfterSeconds: number | null;
  };
  appl_lock_stats: {
    objectType: string; department: string; live: number; expired: number; oldestSeconds: number; nextExpirySeconds: number; waiters: number;
    longestWaitSeconds: number;
  };
}

/** Columns and what they have to be; of the history also who did, lost or got it, and how many seconds ago at most. */
export type Filters<View extends keyof Views> = Options<Views[View] & (View extends "appl_lock_history" ? { operator: string; since: Whole } : {})>;

export interface LeaseOptions extends Options<{
  /** For how many seconds the object stays locked after a crash; 30. It is renewed every third of it. */
  ttl: number;
  /** How many seconds to wait for whoever has it; 0, and Infinity is without a limit. */
  wait: number;
  department: Text;
  /** Ends the waiting, with its reason as the error. */
  signal: AbortSignal;
  /** A lease of the same object, which this one shares: the object is free when both have been released. */
  within: Lease;
}> {}

/** A lock for as long as a part of a program runs, which is renewed meanwhile. */
export class Lease implements AsyncDisposable {
  private constructor();
  readonly objectType: string;
  readonly objectId: string;
  /** Who holds it: a name that only this lease has. */
  readonly operator: string;
  /** For assert(), in the transaction that writes. */
  readonly fence: number;
  /** Aborted when the lock is lost; its reason is a LostError. */
  readonly signal: AbortSignal;
  /** Throw a LostError when the lock is lost. */
  check(): void;
  /** Release it, once. Throws a LostError when it was lost before, unless check() has thrown that. */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The operations, one method for each, and read for the views. The connection is yours, and so is the transaction: what a method has done is
 * final when you commit, or at once outside of a transaction. Numbers of seconds are whole.
 */
export class Locks {
  constructor(connection: Connection, options?: Options<{
    /** Where applock is installed: "applock"; on MySQL and MariaDB the connection's database. */
    schema: string;
    /** For a wrapper that looks like no driver, but calls as pg or as mysql2 does. */
    dialect: "postgres" | "mysql";
    /** A client of pg for this alone, by which waiting leases hear of releases. */
    listen: Connection & { on(event: "notification", listener: (message: any) => void): unknown };
  }>);

  /** What the first call on a connection does by itself: see that the database has what this package calls. Throws a VersionError. */
  check(): Promise<void>;
  /** Take or renew a lock for ttl seconds. With new the operator's own live lock is refused, too. */
  get(objectType: string, objectId: Text, operator: Text, options?: Options<{ department: Text; ttl: Whole; new: boolean }>): Promise<GetAnswer>;
  /** Take or renew one of so many permits. */
  permit(objectType: string, objectId: Text, permits: Whole, operator: Text, options?: Options<{ department: Text; ttl: Whole }>): Promise<Permit>;
  /** End the operator's lock, or the grant fence only. It is granted when nobody holds it, too. */
  release(objectType: string, objectId: Text, operator: Text, options?: Options<{ fence: Whole; actor: Text; reason: string }>): Promise<HeldAnswer>;
  /** Who holds it; null when it is free. */
  inquire(objectType: string, objectId: Text): Promise<Lock | null>;
  /** Hand it over. */
  transfer(
    objectType: string, objectId: Text, from: Text, to: Text, options?: Options<{ department: Text; ttl: Whole; actor: Text; reason: string }>,
  ): Promise<Granted>;
  /** Take it from whoever holds it, or from the grant expectedFence only; the former holder reads why in its inbox. */
  take(
    objectType: string, objectId: Text, operator: Text, reason: string, options?: Options<{ department: Text; expectedFence: Whole; ttl: Whole }>,
  ): Promise<TakeAnswer>;
  /** Hand over one page of what an operator holds. Fewer than maxRows are the last page; dryRun only tells what would be done. */
  transferAll(from: Text, to: Text, options?: Options<{
    objectType: string; department: Text; ttl: Whole; actor: Text; reason: string; afterType: string; afterId: Text; maxRows: Whole; dryRun: boolean;
  }>): Promise<Change[]>;
  /** Release one page of what an operator holds, likewise. */
  releaseAll(operator: Text, options?: Options<{
    objectType: string; actor: Text; reason: string; afterType: string; afterId: Text; maxRows: Whole; dryRun: boolean;
  }>): Promise<Change[]>;
  /** Say why the operator holds it, for whoever asks; no note takes that back. */
  note(objectType: string, objectId: Text, operator: Text, note?: string | null, options?: Options<{ fence: Whole }>): Promise<HeldAnswer>;
  /** Remove what has been free for so many seconds, and tell how many rows that were. */
  purge(options?: Options<{ olderThan: Whole; maxRows: Whole }>): Promise<number>;
  /** Remove events that are so many seconds old, and tell how many that were. */
  purgeHistory(options?: Options<{ olderThan: Whole; maxRows: Whole }>): Promise<number>;
  /** In a transaction: throw a LostError unless this grant is live, and keep it so until the transaction ends. */
  assert(objectType: string, objectId: Text, operator: Text, fence: Whole): Promise<void>;
  /** In a transaction: wait until no other one is inside, and stay inside until this one ends. */
  serialize(objectType: string, objectId: Text): Promise<void>;
  /** Renew many. What another transaction is changing has no row in the answer: ask again. */
  renew(grants: Grant[]): Promise<Renewal[]>;
  /** Say that an operator waits, in a program whose name nobody else has. */
  announce(objectType: string, objectId: Text, operator: Text, client: Text, options?: Options<{ department: Text; wait: Whole }>): Promise<void>;
  /** Say that it does not wait any more. */
  retract(objectType: string, objectId: Text, operator: Text, client: Text): Promise<void>;
  /** What a program waits for, the soonest to be free first. */
  poll(client: Text, options?: Options<{ maxRows: Whole }>): Promise<(ObjectKey & { freeInUs: number })[]>;
  /**
   * Ask whoever holds it for it, in a browser tab or program that names itself. It is listed for 60 s, or until wait is over: ask again in
   * each heartbeat. wait: 0 takes the request back. It is ASKED, WITHDRAWN or GIVEN: the operator has it now. It is not granted when it is
   * FREE, or when the operator has it: OWN.
   */
  ask(
    objectType: string, objectId: Text, operator: Text, client: Text, options?: Options<{ department: Text; message: string; wait: Whole }>,
  ): Promise<AskAnswer>;
  /**
   * Answer who asks for what the operator holds by the grant fence, as a notice AWAITED has them. GIVE hands it over: GIVEN. LATER and NO are
   * told: TOLD. It is not granted when it is HELD by another grant, FREE, or when the asker is GONE. Without client it is whichever.
   */
  answer(
    objectType: string, objectId: Text, operator: Text, fence: Whole, asker: Text, answer: "GIVE" | "LATER" | "NO",
    options?: Options<{ client: Text; reason: string }>,
  ): Promise<HeldAnswer & Ending>;
  /**
   * Say that the operator looks at it in a browser tab, or with null that it leaves, and return who else is there: for each heartbeat of
   * 15 s. It is listed for 45 s, or ttl, at most 60 s. It locks nothing, and the history is not told.
   */
  see(
    objectType: string, objectId: Text, operator: Text, client: Text, state: "VIEWING" | "EDITING" | "IDLE" | null,
    options?: Options<{ department: Text; ttl: Whole }>,
  ): Promise<Presence[]>;
  /**
   * What others did with an operator's locks, who waits or asks for them, and how its requests were answered. It may tell of an event twice,
   * and never of none.
   */
  inbox(operator: Text, options?: Options<{ afterEventId: Whole; maxRows: Whole }>): Promise<Notice[]>;
  /** Lay down for a type how long its locks last, at first and at most, in seconds; what is not given is none. */
  setPolicy(objectType: string, options?: Options<{
    defaultTtl: Whole; longestTtl: Whole; takeReason: boolean; actor: Text; reason: string; history: "CHANGES" | "ALL"; presence: boolean; yieldAfter: Whole;
  }>): Promise<Answer>;
  dropPolicy(objectType: string, options?: Options<{ actor: Text; reason: string }>): Promise<Answer>;
  /** One page of a view in the order of its key, behind the row after. */
  read<View extends keyof Views>(
    view: View, filters?: Filters<View>, options?: Options<{ after: Partial<Views[View]>; maxRows: Whole }>,
  ): Promise<Views[View][]>;

  /** Take a lock as a lease, on a pool. Throws a HeldError when somebody else has it still. */
  lease(objectType: string, objectId: Text, options?: LeaseOptions): Promise<Lease>;
  /** The same around a function, whose result or error it has. Throws a LostError when the function was not alone to its end. */
  withLease<Result>(objectType: string, objectId: Text, work: (lease: Lease) => Result | PromiseLike<Result>): Promise<Result>;
  withLease<Result>(
    objectType: string, objectId: Text, options: LeaseOptions | undefined, work: (lease: Lease) => Result | PromiseLike<Result>,
  ): Promise<Result>;
}

/** What the library refuses or is told. What the driver throws passes through as it is. */
export class ApplockError extends Error {
  /** LK001, LK002 or LK003, where there is one. */
  sqlstate?: string;
}
/** A mistake of the caller: the same call fails again. */
export class InvalidArgumentError extends ApplockError {}
/** The grant is not live any more. */
export class LostError extends ApplockError {}
/** The object changed hands too often during the call: call again. */
export class ContentionError extends ApplockError {}
/** A lease that somebody else has. */
export class HeldError extends ApplockError {
  /** Who, and for how long. */
  answer: GetAnswer;
}
/** What is installed in the database, and this package, do not fit: the message says which to upgrade. */
export class VersionError extends ApplockError {}
