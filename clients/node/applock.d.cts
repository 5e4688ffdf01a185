/// <reference lib="esnext.disposable" />
/// <reference types="node" />

/** A client or pool of pg, or a connection or pool of mysql2, with promises or callbacks, or of mariadb. */
export interface Connection {
  query(...args: any[]): any;
}

/** Text, or a number that becomes text: an id may be a number. */
export type Text = string | number | bigint;
/** A whole number. */
export type Whole = number | bigint;
/** An undefined option counts as absent. */
type Options<T> = { [Name in keyof T]?: T[Name] | undefined };

export interface Person {
  operator: string;
  /** Empty if unknown. */
  department: string;
}

export interface Answer {
  /** Whether the caller got what it asked for. */
  granted: boolean;
  outcome: string;
}

/** The answers of most operations: granted tells whether the caller got what it asked for, and so which fields are null. */
type Told<Got, Refused> = { outcome: string } & (({ granted: true } & Got) | ({ granted: false } & Refused));

/** Of a release: holder is the operator who has it instead. */
export type ReleaseAnswer = Told<{ holder: null }, { holder: Person }>;
/** holder is the operator who has it instead; null if nobody has. */
export type HeldAnswer = Told<{ holder: null }, { holder: Person | null }>;

export interface Ending {
  /** When the lock ends, the caller's or the holder's; null for none. */
  expiresAt: Date | null;
  /** Whole seconds until then by the database's clock, rounded up; 0 for none. */
  secondsLeft: number;
}

export interface Times extends Ending {
  /** The start of the grant that ends then; of a renewal only the holder's. */
  acquiredAt: Date | null;
}

interface Fenced {
  /** The fencing token of the grant, greater for each later one; 0 when there is none. */
  fence: number;
}

interface Ends {
  acquiredAt: Date;
  expiresAt: Date;
}

export type GetAnswer = Told<{ holder: null }, { holder: Person }> & Times & Ends & Fenced & {
  /** The holder's note, or the caller's own in a renewal. */
  note: string;
};

export type Granted = Told<{ holder: null } & Ends, { holder: Person | null }> & Times & Fenced;

/** former is the operator who has lost it. */
export type TakeAnswer = Told<{ holder: null; former: Person | null } & Ends, { holder: Person | null; former: null }> & Times & Fenced;

/** former is the holder before GIVEN. For ASKED, holder has the object. */
export type AskAnswer = Answer & { holder: Person | null; former: Person | null } & Times & Fenced;

/** slotId is the object id of the slot, for all other operations. holders are those of all slots when all are taken, the earliest to expire first. */
export type Permit = Told<{ slotId: string; holders: [] } & Ends, { slotId: null; holders: SlotHolder[] }> & Times & Fenced & { note: string };

export type SlotHolder = Person & Times & { slotId: string; fence: number; note: string };

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

export type Renewal = ObjectKey & HeldAnswer & Times;
export type Change = ObjectKey & HeldAnswer & Ending & Fenced;

export interface Grant {
  objectType: string;
  objectId: Text;
  operator: Text;
  fence: Whole;
  ttl: Whole;
}

export interface Notice extends ObjectKey {
  /** TAKEN, HANDED, RELEASED, GIVEN or YIELDED for an event; AWAITED, LATER or DECLINED for the present state. */
  kind: string;
  /** 0 unless it is an event. */
  eventId: Whole;
  otherOperator: string;
  otherDepartment: string;
  eventAt: Date;
  secondsLeft: number;
  reason: string;
  /** The position of the next call. */
  nextPosition: string;
  /** The message of a request, else empty. */
  message: string;
  /** The asker's program, for answer; empty unless it is a request. */
  client: string;
  /** The fence of the requested grant, for answer; 0 unless it is a request. */
  fence: Whole;
}

/** The holder, an asker or a viewer of an object. */
export interface Presence extends Person {
  /** HOLDER, even if that is the operator itself; ASKER or VIEWER, once for each other program. */
  kind: string;
  /** The browser tab or program; empty for HOLDER. */
  client: string;
  /** VIEWING, EDITING or IDLE; empty unless VIEWER. */
  state: string;
  /** The start of a HOLDER's grant, or of asking or viewing. */
  sinceAt: Date;
  /** Whole seconds until a HOLDER's lock ends, or until the row is no longer listed. */
  secondsLeft: number;
  /** The ASKER's. */
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

/** Columns and their values. The history has two more: operator, who caused an event or is named in it, and since, its greatest age in seconds. */
export type Filters<View extends keyof Views> = Options<Views[View] & (View extends "appl_lock_history" ? { operator: string; since: Whole } : {})>;

export interface LeaseOptions extends Options<{
  /** How many seconds the object stays locked after a crash, by default 30. The lease is renewed every third of it. */
  ttl: number;
  /** How many seconds to wait for a held object, by default 0. Infinity is no limit. */
  wait: number;
  department: Text;
  /** Ends the wait, with its reason as the error. */
  signal: AbortSignal;
  /** A lease of the same object, which this one shares: the object is free when both have been released. */
  within: Lease;
}> {}

/** A lock for as long as a part of a program runs, renewed meanwhile. */
export class Lease implements AsyncDisposable {
  private constructor();
  readonly objectType: string;
  readonly objectId: string;
  /** The holder: a name that only this lease has. */
  readonly operator: string;
  /** For assert(), in the transaction that writes. */
  readonly fence: number;
  /** Aborted when the lock is lost or this lease has been released; its reason is a LostError. */
  readonly signal: AbortSignal;
  /** Throw a LostError when the lock is lost or this lease has been released. */
  check(): void;
  /** Release it, once. Throws a LostError when it was lost before, unless check() has thrown that. */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The operations, one method for each, and read for the views. The connection and the transaction are yours: a method's effect is final when
 * you commit, or at once outside of a transaction. Numbers of seconds are whole.
 */
export class Locks {
  constructor(connection: Connection, options?: Options<{
    /** Where applock is installed. The default is "applock", and on MySQL and MariaDB the connection's database. */
    schema: string;
    /** For a wrapper that is not recognized, but has the calls of pg or mysql2. */
    dialect: "postgres" | "mysql";
    /** A separate client of pg, on which waiting leases receive messages of releases. */
    listen: Connection & { on(event: "notification", listener: (message: any) => void): unknown };
  }>);

  /** Check that the database has what this package calls, or throw a VersionError. The first call on a connection does this itself. */
  check(): Promise<void>;
  /** Take or renew the lock on an object until it expires, after ttl seconds. new also refuses to renew the operator's own live lock. */
  get(objectType: string, objectId: Text, operator: Text, options?: Options<{ department: Text; ttl: Whole; new: boolean }>): Promise<GetAnswer>;
  /** Take or renew one of the permits of an object until it expires. */
  permit(objectType: string, objectId: Text, permits: Whole, operator: Text, options?: Options<{ department: Text; ttl: Whole }>): Promise<Permit>;
  /** End the operator's grant, or only the one with this fence. The answer is granted as well if the object is free. */
  release(objectType: string, objectId: Text, operator: Text, options?: Options<{ fence: Whole; actor: Text; reason: string }>): Promise<ReleaseAnswer>;
  /** Show who holds an object, since when and until when; null if it is free. */
  inquire(objectType: string, objectId: Text): Promise<Lock | null>;
  /** Hand a held object from one operator to another. */
  transfer(
    objectType: string, objectId: Text, from: Text, to: Text, options?: Options<{ department: Text; ttl: Whole; actor: Text; reason: string }>,
  ): Promise<Granted>;
  /** Take a held object from its holder, or only from the grant expectedFence. The former holder finds the reason in its inbox. */
  take(
    objectType: string, objectId: Text, operator: Text, reason: string, options?: Options<{ department: Text; expectedFence: Whole; ttl: Whole }>,
  ): Promise<TakeAnswer>;
  /** Hand over one page of what an operator holds. The last page has fewer than maxRows. dryRun changes nothing. */
  transferAll(from: Text, to: Text, options?: Options<{
    objectType: string; department: Text; ttl: Whole; actor: Text; reason: string; afterType: string; afterId: Text; maxRows: Whole; dryRun: boolean;
  }>): Promise<Change[]>;
  /** Release one page of what an operator holds, in the same way. */
  releaseAll(operator: Text, options?: Options<{
    objectType: string; actor: Text; reason: string; afterType: string; afterId: Text; maxRows: Whole; dryRun: boolean;
  }>): Promise<Change[]>;
  /** Leave a note on why the operator holds an object, for everybody to read. Without a note it is removed. */
  note(objectType: string, objectId: Text, operator: Text, note?: string | null, options?: Options<{ fence: Whole }>): Promise<HeldAnswer>;
  /** Remove the rows of objects that have been free for olderThan seconds, and return their number. */
  purge(options?: Options<{ olderThan: Whole; maxRows: Whole }>): Promise<number>;
  /** Remove events older than olderThan seconds from the history, and return their number. */
  purgeHistory(options?: Options<{ olderThan: Whole; maxRows: Whole }>): Promise<number>;
  /** In a transaction: throw a LostError unless exactly this grant is live, and keep it so until the transaction ends. */
  assert(objectType: string, objectId: Text, operator: Text, fence: Whole): Promise<void>;
  /** In a transaction: let one transaction at a time work on an object, until this one ends. */
  serialize(objectType: string, objectId: Text): Promise<void>;
  /** Renew many grants in one call, each by its fence. A grant without a row is locked by another transaction: retry it. */
  renew(grants: Grant[]): Promise<Renewal[]>;
  /** List an operator as a waiter for an object. No other program may have the name client. */
  announce(objectType: string, objectId: Text, operator: Text, client: Text, options?: Options<{ department: Text; wait: Whole }>): Promise<void>;
  /** Remove a waiter from the list. */
  retract(objectType: string, objectId: Text, operator: Text, client: Text): Promise<void>;
  /**
   * The objects that a program waits for, the earliest to be free first. It keeps the waiters listed. first: it is free, and the turn of
   * the program, whose waiter has been listed longest.
   */
  poll(client: Text, options?: Options<{ maxRows: Whole }>): Promise<(ObjectKey & { freeInUs: number; first: boolean })[]>;
  /**
   * Ask an object's holder for it. client is the asking browser tab or program. The request is listed for 60 s, or until wait is over: repeat
   * the call in each heartbeat. wait: 0 withdraws the request. The outcome is ASKED, WITHDRAWN, or GIVEN: the operator has the object now.
   * The answer is not granted for FREE, and for OWN: the operator has it already.
   */
  ask(
    objectType: string, objectId: Text, operator: Text, client: Text, options?: Options<{ department: Text; message: string; wait: Whole }>,
  ): Promise<AskAnswer>;
  /**
   * Answer an operator who asks for a held object. A notice AWAITED has asker, client and fence. GIVE hands the object over: GIVEN. LATER and
   * NO are for the asker to read: TOLD. The answer is not granted for HELD, FREE, and for GONE: the asker no longer asks. Without client it
   * is any client of the asker.
   */
  answer(
    objectType: string, objectId: Text, operator: Text, fence: Whole, asker: Text, answer: "GIVE" | "LATER" | "NO",
    options?: Options<{ client: Text; reason: string }>,
  ): Promise<HeldAnswer & Times>;
  /**
   * List an operator as a viewer of an object in a browser tab, and return its holder, askers and other viewers. The operator is listed for
   * 45 s, or ttl, at most 300 s: repeat the call in each heartbeat of 15 s. The state null removes it. It locks nothing, and the history does
   * not record it.
   */
  see(
    objectType: string, objectId: Text, operator: Text, client: Text, state: "VIEWING" | "EDITING" | "IDLE" | null,
    options?: Options<{ department: Text; ttl: Whole }>,
  ): Promise<Presence[]>;
  /**
   * Report what others did with an operator's locks, who waits or asks for them, and how its requests were answered. Pass the
   * nextPosition of any row to the next call, or the same position where there was no row: no event is left out.
   */
  inbox(operator: Text, options?: Options<{ position: Text; maxRows: Whole }>): Promise<Notice[]>;
  /**
   * Set a type's policy: how long its locks last, in seconds, whether a take needs a reason, what the history records, and who sees whom. An
   * absent setting is unset.
   */
  setPolicy(objectType: string, options?: Options<{
    defaultTtl: Whole; longestTtl: Whole; takeReason: boolean; actor: Text; reason: string; history: "CHANGES" | "ALL"; presence: boolean; yieldAfter: Whole;
  }>): Promise<Answer>;
  dropPolicy(objectType: string, options?: Options<{ actor: Text; reason: string }>): Promise<Answer>;
  /** One page of a view in the order of its key, after the row after. */
  read<View extends keyof Views>(
    view: View, filters?: Filters<View>, options?: Options<{ after: Partial<Views[View]>; maxRows: Whole }>,
  ): Promise<Views[View][]>;

  /** Take a lock as a lease, on a pool. Throws a HeldError if another holder still has it. */
  lease(objectType: string, objectId: Text, options?: LeaseOptions): Promise<Lease>;
  /** Run a function under a lease, and return its result or error. Throws a LostError if the lease was lost before the function ended. */
  withLease<Result>(objectType: string, objectId: Text, work: (lease: Lease) => Result | PromiseLike<Result>): Promise<Result>;
  withLease<Result>(
    objectType: string, objectId: Text, options: LeaseOptions | undefined, work: (lease: Lease) => Result | PromiseLike<Result>,
  ): Promise<Result>;
}

/** An error of this library or of a procedure. Errors of the driver pass through unchanged. */
export class ApplockError extends Error {
  /** LK001, LK002 or LK003, if there is one. */
  sqlstate?: string;
}
/** A mistake of the caller: the same call fails again. */
export class InvalidArgumentError extends ApplockError {}
/** The grant is not live any more. */
export class LostError extends ApplockError {}
/** The object changed hands too often during the call: call again. */
export class ContentionError extends ApplockError {}
/** Another holder has the object. */
export class HeldError extends ApplockError {
  /** It has the holder, and how long its lock lasts. */
  answer: GetAnswer & { granted: false };
}
/** The database and this package have different versions of the contract: the message says which to upgrade. */
export class VersionError extends ApplockError {}
