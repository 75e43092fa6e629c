/** What is stored as texts that can be written over behind the back of the service. */
import type { Store } from "../../../src/store/port.ts";

/** File in the temporary folder with the process id of a Redis server: whoever ends the target ends it as well. */
export const REDIS_PID = "redis.pid";

/** Sorts of stored records. */
export type RecordKind =
  /** Header, specs, arguments and nodes of an actor. */
  | "part"
  /** What lists show of an actor. */
  | "index"
  | "outbox"
  | "timer"
  /** Answers to requests with an idempotency key. */
  | "answer"
  | "feed"
  | "manifest"
  | "mail"
  | "event"
  | "delivery";

export interface RawRecord {
  /** Tells whose it is. */
  name: string;
  text: string;
  /** Writes over it; undefined removes it. */
  write(text: string | undefined): Promise<void>;
}

/** A store whose records can be damaged while nobody has it open. */
export interface RawStore {
  /** Opens it; empty the first time. */
  open(): Promise<Store>;
  /** Lets go of it. What was stored stays. */
  release(): Promise<void>;
  /** All records of a sort in a fixed order; none where the store has no such records of its own. */
  records(kind: RecordKind): Promise<RawRecord[]>;
  /** Puts a made-up entry into the event queue or a mailbox, as far as the store can hold it. */
  add(kind: "event" | "mail", text: string): Promise<void>;
  /** Everything gone. */
  clear(): Promise<void>;
  /** Ends what runs for it. */
  leave?(): Promise<void>;
}
