/** The edit lock of a web page: docs/weblock.md of github.com/applock/applock. */
export interface Asker {
  other_operator_id: string;
  client_id: string;
  message: string;
}

export interface Options {
  /** Where the routes are, ending in a slash. */
  base?: string;
  /** Reads the record anew, when the lock is there. */
  load?: (lock: Lock) => unknown;
  change?: (lock: Lock) => void;
  /** An <applock-banner>. */
  banner?: Element | null;
}

export class Lock extends EventTarget {
  readonly state: "free" | "mine" | "theirs" | "asked" | "lost";
  readonly doubt: "" | "offline" | "asleep" | "signed-out";
  readonly fence: string;
  readonly problem: string;
  readonly holder: string;
  readonly since: Date | null;
  readonly until: Date | null;
  readonly note: string;
  readonly mayTake: boolean;
  readonly askers: Asker[];
  readonly reply: { outcome: "LATER" | "DECLINED"; reason: string } | undefined;
  readonly taken: { other_operator_id: string; reason: string } | null;
  start(): Promise<void>;
  stop(): Promise<void>;
  ask(message?: string): Promise<void>;
  withdraw(): Promise<void>;
  answer(asker: Asker, answer: "GIVE" | "LATER" | "NO", reason?: string): Promise<void>;
  give(asker: Asker, reason?: string): Promise<void>;
  take(reason: string): Promise<void>;
  close(): void;
}

export function edit(type: string, id: string | number, options?: Options): Promise<Lock>;
export const words: Record<string, string | ((about: never) => string)>;
