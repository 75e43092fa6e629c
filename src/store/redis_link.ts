/**
 * Calls to Redis: commands, scripts and messages. Nothing blocks on a connection and nothing waits longer than the
 * timeout, whatever Redis does. All trouble is a `Problem` Unavailable.
 */
import { ErrorReply, RESP_TYPES } from "redis";
import {
  connectRedis,
  type RedisArgument,
  type RedisConnectionOptions,
} from "./redis_connection.ts";
import { listOf } from "./redis_replies.ts";
import type { RedisScript } from "./redis_script.ts";
import { Deadlines } from "../platform/deadlines.ts";
import { systemClock } from "../platform/clock.ts";
import { lateAnswer, problemOf } from "./redis_trouble.ts";

const AS_BYTES = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

export interface RedisLink {
  /** True when one command may name keys of several hash tags. */
  readonly isOneServer: boolean;
  /** Sends a command; `key` says which server of a cluster it is for. */
  send(key: string, args: RedisArgument[]): Promise<unknown>;
  /** Sends a command whose answer is bytes. */
  sendForBytes(key: string, args: RedisArgument[]): Promise<Buffer | null>;
  /** Sends a command to every server that holds keys of its own. */
  sendToAll(args: RedisArgument[]): Promise<unknown[]>;
  /** Names of all keys of a pattern, in portions. */
  scan(pattern: string): AsyncIterable<string[]>;
  /** Runs a script on one key. */
  run(script: RedisScript, key: string, args: RedisArgument[]): Promise<unknown>;
  /** The same; texts of the answer are bytes. */
  runForBytes(script: RedisScript, key: string, args: RedisArgument[]): Promise<unknown>;
  subscribe(channel: string, hear: (message: string) => void): Promise<void>;
  unsubscribe(channel: string, hear: (message: string) => void): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to Redis.
 * @throws {Problem} Unavailable when that takes longer than the timeout
 */
export async function openRedisLink(options: RedisConnectionOptions): Promise<RedisLink> {
  const { address, timeoutMs } = options;
  const connection = await connectRedis(options);
  const deadlines = new Deadlines(systemClock, timeoutMs);
  const bounded = <T>(call: Promise<T>) => deadlines.bound(call, () => lateAnswer(timeoutMs));
  const send = async (key: string, args: RedisArgument[], more: object = {}) => {
    try {
      return await bounded(connection.send(key, args, more));
    } catch (error) {
      throw problemOf(error);
    }
  };
  const run = async (
    { sha, source }: RedisScript,
    key: string,
    args: RedisArgument[],
    more: object,
  ) => {
    try {
      return await bounded(connection.send(key, ["EVALSHA", sha, "1", key, ...args], more));
    } catch (error) {
      if (!(error instanceof ErrorReply && error.message.startsWith("NOSCRIPT"))) {
        throw problemOf(error);
      }
      return await send(key, ["EVAL", source, "1", key, ...args], more);
    }
  };
  return {
    isOneServer: address.topology !== "cluster",
    send,
    async sendForBytes(key, args) {
      const reply = await send(key, args, AS_BYTES);
      return Buffer.isBuffer(reply) ? reply : null;
    },
    async sendToAll(args) {
      const replies = async () => {
        const masters = await connection.masters();
        return await Promise.all(masters.map((sendTo) => sendTo(args)));
      };
      try {
        return await bounded(replies());
      } catch (error) {
        throw problemOf(error);
      }
    },
    async *scan(pattern) {
      try {
        for (const sendTo of await bounded(connection.masters())) {
          let cursor = "0";
          do {
            const args = ["SCAN", cursor, "MATCH", pattern, "COUNT", "1000"];
            const [next, found] = listOf(await bounded(sendTo(args)));
            cursor = String(next);
            yield listOf(found).map(String);
          } while (cursor !== "0");
        }
      } catch (error) {
        throw problemOf(error);
      }
    },
    run: (script, key, args) => run(script, key, args, {}),
    runForBytes: (script, key, args) => run(script, key, args, AS_BYTES),
    async subscribe(channel, hear) {
      try {
        await bounded(connection.subscribe(channel, hear));
      } catch (error) {
        throw problemOf(error);
      }
    },
    async unsubscribe(channel, hear) {
      try {
        await bounded(connection.unsubscribe(channel, hear));
      } catch (error) {
        throw problemOf(error);
      }
    },
    close() {
      connection.destroy();
      deadlines.expire();
      return Promise.resolve();
    },
  };
}
