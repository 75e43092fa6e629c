/**
 * Calls to Redis: commands, scripts and messages. Nothing blocks on a connection and nothing waits longer than the
 * timeout, whatever Redis does. All trouble is a `Problem` Unavailable.
 */
import { ErrorReply, RESP_TYPES } from "redis";
import {
  connectRedis,
  type RedisArgument,
  type RedisConnection,
  type RedisConnectionOptions,
  type WatchedConnection,
} from "./connection.ts";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { listOf } from "./replies.ts";
import type { RedisScript } from "./script.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { systemClock } from "../../platform/clock.ts";
import { lateAnswer, problemOf } from "./trouble.ts";

const AS_BYTES = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/** When a write counts as acknowledged: not before so many replicas of its server have it. */
export interface ReplicaWait {
  replicas: number;
  /** How long a write waits for them, ms. */
  timeoutMs: number;
}

export interface RedisLinkOptions extends RedisConnectionOptions {
  /** Absent: writes wait for no replica. */
  wait?: ReplicaWait | undefined;
}

/**
 * Connects to Redis.
 * @throws {Problem} Unavailable when that takes longer than the timeout
 */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const connection = await connectRedis(options);
  if (options.wait === undefined) return new RedisLink(connection, options);
  try {
    // A wait holds up its connection. Reads go past it on the other one.
    const writer = await connectRedis(options);
    return new RedisLink(connection, options, { ...options.wait, connection: writer });
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** The connection of writes that wait. */
interface Writer extends ReplicaWait {
  connection: RedisConnection;
}

/** A connection whose calls are bounded in time. */
export class RedisLink {
  /** Whether one command may name keys with several hash tags. */
  readonly isOneServer: boolean;
  /** Whether all calls are carried out in the order in which they are made. */
  readonly isInOrder: boolean;
  readonly #connection: WatchedConnection;
  readonly #deadlines: Deadlines;
  readonly #late: () => Problem;
  readonly #writer: Writer | undefined;

  /** @param writer where writes wait for replicas, if they do */
  constructor(
    connection: WatchedConnection,
    { address, timeoutMs }: RedisConnectionOptions,
    writer?: Writer,
  ) {
    this.#writer = writer;
    this.isOneServer = address.topology !== "cluster";
    this.isInOrder = this.isOneServer && writer === undefined;
    this.#connection = connection;
    this.#deadlines = new Deadlines(systemClock, timeoutMs);
    this.#late = () => lateAnswer(timeoutMs);
  }

  /** Sends a command; `key` says which server of a cluster it is for. */
  send(key: string, args: RedisArgument[]): Promise<unknown> {
    return this.#send(key, args, {});
  }

  /**
   * Like `send`, over the connection of the writes: what the owner of a shard reads before it writes must come from the server that
   * it writes to, also while one takes the place of another.
   */
  sendWhereWritten(key: string, args: RedisArgument[]): Promise<unknown> {
    const { connection } = this.#writer ?? { connection: this.#connection };
    return this.#bounded(connection.send(key, args, {}));
  }

  /** The same for a script. */
  runWhereWritten(script: RedisScript, key: string, args: RedisArgument[]): Promise<unknown> {
    return this.#run(script, key, args, {}, this.#writer?.connection);
  }

  /** Sends a command whose answer is bytes. */
  async sendForBytes(key: string, args: RedisArgument[]): Promise<Buffer | null> {
    const reply = await this.#send(key, args, AS_BYTES);
    return Buffer.isBuffer(reply) ? reply : null;
  }

  /** Sends a command to every master. */
  sendToAll(args: RedisArgument[]): Promise<unknown[]> {
    const masters = this.#connection.masters();
    return this.#bounded(masters.then((all) => Promise.all(all.map((sendTo) => sendTo(args)))));
  }

  /** Names of all keys of a pattern, in portions. */
  async *scan(pattern: string): AsyncGenerator<string[]> {
    for (const sendTo of await this.#bounded(this.#connection.masters())) {
      let cursor = "0";
      do {
        const args = ["SCAN", cursor, "MATCH", pattern, "COUNT", "1000"];
        const [next, found] = listOf(await this.#bounded(sendTo(args)));
        cursor = String(next);
        yield listOf(found).map(String);
      } while (cursor !== "0");
    }
  }

  /** Runs a script on one key. */
  run(script: RedisScript, key: string, args: RedisArgument[]): Promise<unknown> {
    return this.#run(script, key, args, {});
  }

  /**
   * Runs a script whose caller tells somebody that it is done: it is so only when enough replicas have it, if any were asked
   * for. Everything before it on this server is there then too.
   * @throws {Problem} Unavailable, `mayBeDone`: too few replicas have it yet
   */
  write(script: RedisScript, key: string, args: RedisArgument[]): Promise<unknown> {
    return this.#writer === undefined
      ? this.run(script, key, args)
      : this.#bounded(this.#writeConfirmed(this.#writer, script, key, args));
  }

  /** Like `run`, but texts in the answer are bytes. */
  runForBytes(script: RedisScript, key: string, args: RedisArgument[]): Promise<unknown> {
    return this.#run(script, key, args, AS_BYTES);
  }

  async subscribe(channel: string, hear: (message: string) => void): Promise<void> {
    await this.#bounded(this.#connection.subscribe(channel, hear));
  }

  async unsubscribe(channel: string, hear: (message: string) => void): Promise<void> {
    await this.#bounded(this.#connection.unsubscribe(channel, hear));
  }

  close(): Promise<void> {
    this.#connection.destroy();
    this.#writer?.connection.destroy();
    this.#deadlines.expire();
    return Promise.resolve();
  }

  #send(key: string, args: RedisArgument[], more: object): Promise<unknown> {
    return this.#bounded(this.#connection.send(key, args, more));
  }

  #run(
    { sha, source }: RedisScript,
    key: string,
    args: RedisArgument[],
    more: object,
    connection: RedisConnection = this.#connection,
  ): Promise<unknown> {
    const call = connection.send(key, this.#head("EVALSHA", sha, key).concat(args), more);
    return this.#deadlines.bound(call, this.#late, (error) => {
      if (!isUnknownScript(error)) return this.#throwProblem(error);
      const text = this.#head("EVAL", source, key).concat(args);
      return this.#bounded(connection.send(key, text, more));
    });
  }

  /** Runs a script and waits for replicas. @throws {Problem} too few have it */
  async #writeConfirmed(
    writer: Writer,
    { sha, source }: RedisScript,
    key: string,
    args: RedisArgument[],
  ): Promise<unknown> {
    const { connection, replicas, timeoutMs } = writer;
    // Sent together: if the connection is lost in between, nothing is confirmed by another server.
    const confirmed = async (head: RedisArgument[]) => {
      const call = connection.send(key, head.concat(args), {});
      const wait = connection.send(key, ["WAIT", String(replicas), String(timeoutMs)], {});
      const [reply, count] = await Promise.allSettled([call, wait]);
      if (reply.status === "rejected") throw reply.reason;
      if (count.status === "rejected") throw new Unconfirmed(count.reason);
      if (Number(count.value) < replicas) throw tooFew(Number(count.value), writer);
      return reply.value;
    };
    try {
      return await confirmed(this.#head("EVALSHA", sha, key));
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await confirmed(this.#head("EVAL", source, key));
    }
  }

  /**
   * How the call of a script begins. On a cluster it names a second key, which never exists. So while a slot moves to another server,
   * both refuse its scripts (TRYAGAIN). With one key, the other server would carry them out without what has not moved yet, and
   * give a shard a second owner.
   */
  #head(command: string, script: string, key: string): RedisArgument[] {
    return this.isOneServer ? [command, script, "1", key] : [command, script, "2", key, `${key}?`];
  }

  /** Bounds a call in time and turns all its trouble into a `Problem`. */
  #bounded<T>(call: Promise<T>): Promise<T> {
    return this.#deadlines.bound(call, this.#late, this.#throwProblem);
  }

  readonly #throwProblem = (error: unknown): never => {
    throw problemOf(error, this.#connection.lastTrouble());
  };
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith("NOSCRIPT");
}

/** The script was carried out, but not its wait for replicas: it is not refused, whatever refused the wait. */
class Unconfirmed extends Error {
  constructor(cause: unknown) {
    super(`the wait for replicas failed: ${errorText(cause)}`);
  }
}

function tooFew(count: number, { replicas, timeoutMs }: ReplicaWait): Problem {
  return new Problem(
    ProblemCode.Unavailable,
    `Only ${count} of ${replicas} replicas of Redis had the write within ${timeoutMs} ms`,
    { retryAfterSeconds: 1, mayBeDone: true },
  );
}
