/**
 * The connections to Redis: one for commands, one for messages. Nothing blocks on them and nothing waits longer than the
 * timeout, whatever Redis does. They come back by themselves, with a growing pause between attempts. All trouble is a
 * `Problem` Unavailable.
 */
import { readFileSync } from "node:fs";
import {
  ClientOfflineError,
  createClient,
  createCluster,
  createSentinel,
  ErrorReply,
  RESP_TYPES,
} from "redis";
import { invalid, Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { listOf } from "./redis_replies.ts";
import type { RedisScript } from "./redis_script.ts";
import type { RedisAddress } from "./redis_url.ts";

export type RedisArgument = string | Buffer;

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
  subscribe(channel: string, hear: (message: string) => void): Promise<void>;
  unsubscribe(channel: string, hear: (message: string) => void): Promise<void>;
  close(): Promise<void>;
}

export interface RedisLinkOptions {
  address: RedisAddress;
  /** Milliseconds after which a call fails. */
  timeoutMs: number;
  /** Called after the connection for messages was lost and is back: messages may have been missed. */
  onReconnect: () => void;
  /** Hears of lost connections, for the log. */
  onTrouble: (text: string) => void;
}

/** What the clients call for a message. */
type Hear<Bytes extends boolean> = (
  message: Bytes extends true ? Buffer : string,
  channel: Bytes extends true ? Buffer : string,
) => void;

interface Connection {
  send(key: string, args: RedisArgument[], options: object): Promise<unknown>;
  /** One function for each server that holds keys of its own. */
  masters(): Promise<((args: RedisArgument[]) => Promise<unknown>)[]>;
  subscribe(channel: string, hear: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, hear: (message: string) => void): Promise<unknown>;
  destroy(): void;
}

/** Answers of the server that mean it can't now, and what to tell. */
const REFUSALS: readonly [pattern: RegExp, text: string][] = [
  [/\bLOADING\b/, "Redis is loading its data"],
  [/\bREADONLY\b/, "Redis is read-only: it is a replica, or a fail-over is under way"],
  [/\bOOM\b/, "Redis is out of memory: maxmemory is reached"],
  [/\bMISCONF\b/, "Redis refuses writes because it cannot save to its disk"],
  [/\bBUSY\b|\bUNKILLABLE\b/, "Redis is busy with a script"],
  [
    /\bCLUSTERDOWN\b|\bTRYAGAIN\b|\bMASTERDOWN\b|\bMOVED\b|\bASK\b/,
    "The Redis cluster is not ready",
  ],
  [/\bNOREPLICAS\b/, "Redis has too few replicas for a write"],
  [/\bNOAUTH\b|\bWRONGPASS\b|\bNOPERM\b/, "Redis refuses the user or the password of the store"],
  [/max number of clients/, "Redis accepts no more connections"],
];

/**
 * Connects to Redis.
 * @throws {Problem} Unavailable when that takes longer than the timeout
 */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const { address, timeoutMs } = options;
  const connection = await connect(options);
  const send = async (key: string, args: RedisArgument[], more: object = {}) => {
    try {
      return await bounded(connection.send(key, args, more), timeoutMs);
    } catch (error) {
      throw problemOf(error);
    }
  };
  return {
    isOneServer: address.topology !== "cluster",
    send,
    async sendForBytes(key, args) {
      const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer };
      const reply = await send(key, args, { typeMapping });
      return Buffer.isBuffer(reply) ? reply : null;
    },
    async sendToAll(args) {
      const replies = async () => {
        const masters = await connection.masters();
        return await Promise.all(masters.map((sendTo) => sendTo(args)));
      };
      try {
        return await bounded(replies(), timeoutMs);
      } catch (error) {
        throw problemOf(error);
      }
    },
    async *scan(pattern) {
      try {
        for (const sendTo of await bounded(connection.masters(), timeoutMs)) {
          let cursor = "0";
          do {
            const args = ["SCAN", cursor, "MATCH", pattern, "COUNT", "1000"];
            const [next, found] = listOf(await bounded(sendTo(args), timeoutMs));
            cursor = String(next);
            yield listOf(found).map(String);
          } while (cursor !== "0");
        }
      } catch (error) {
        throw problemOf(error);
      }
    },
    async run({ sha, source }, key, args) {
      try {
        return await bounded(
          connection.send(key, ["EVALSHA", sha, "1", key, ...args], {}),
          timeoutMs,
        );
      } catch (error) {
        if (!(error instanceof ErrorReply && error.message.startsWith("NOSCRIPT"))) {
          throw problemOf(error);
        }
        return await send(key, ["EVAL", source, "1", key, ...args]);
      }
    },
    async subscribe(channel, hear) {
      try {
        await bounded(connection.subscribe(channel, hear), timeoutMs);
      } catch (error) {
        throw problemOf(error);
      }
    },
    async unsubscribe(channel, hear) {
      try {
        await bounded(connection.unsubscribe(channel, hear), timeoutMs);
      } catch (error) {
        throw problemOf(error);
      }
    },
    close() {
      connection.destroy();
      return Promise.resolve();
    },
  };
}

/** Tells whether a failed call was certainly not carried out. */
export function wasRefused(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error;
  return cause instanceof ErrorReply || cause instanceof ClientOfflineError;
}

async function connect(options: RedisLinkOptions): Promise<Connection> {
  const { address, timeoutMs } = options;
  let trouble = "";
  const onTrouble = (error: unknown) => {
    const text = textOf(error);
    if (text !== trouble) options.onTrouble(text);
    trouble = text;
  };
  const opening = address.topology === "single"
    ? connectSingle(options, onTrouble)
    : address.topology === "sentinel"
    ? connectSentinel(options, onTrouble)
    : connectCluster(options, onTrouble);
  try {
    return await bounded(opening, timeoutMs);
  } catch (error) {
    opening.then((connection) => connection.destroy(), () => {});
    const where = address.nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
    if (error instanceof Problem && error.code !== ProblemCode.Unavailable) throw error;
    const why = trouble || textOf(error);
    throw unavailable(`Cannot connect to Redis at ${where}: ${why}`);
  }
}

/** @throws {Problem} InvalidArgument when the authority's certificate can't be read */
function tlsOptions({ isTls, caFile }: RedisAddress) {
  if (!isTls) return {};
  if (caFile === undefined) return { tls: true as const };
  try {
    return { tls: true as const, ca: readFileSync(caFile) };
  } catch (error) {
    throw invalid(`Cannot read the certificate of the Redis URL: ${textOf(error)}`);
  }
}

function clientOptions({ address, timeoutMs }: RedisLinkOptions) {
  const { username, password, database } = address;
  const socket = {
    connectTimeout: timeoutMs,
    // Pings keep a healthy connection busy: silence means that the other end is gone.
    socketTimeout: 3 * timeoutMs,
    reconnectStrategy: (retries: number) =>
      Math.min(2_000, 50 * 2 ** Math.min(retries, 6)) * (0.75 + Math.random() / 2),
  };
  return {
    RESP: 2 as const,
    socket: { ...socket, ...tlsOptions(address) },
    database,
    pingInterval: timeoutMs,
    disableOfflineQueue: true,
    commandsQueueMaxLength: 100_000,
    maintNotifications: "disabled" as const,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

/** Timeouts are ours: those of the client do not cover commands that were sent. */
const NO_TIMEOUT = { timeout: 0 };

async function connectSingle(
  options: RedisLinkOptions,
  onTrouble: (error: unknown) => void,
): Promise<Connection> {
  const [node] = options.address.nodes;
  const common = clientOptions(options);
  const client = createClient({
    ...common,
    commandOptions: NO_TIMEOUT,
    socket: { ...common.socket, ...node },
  });
  const subscriber = client.duplicate({ disableOfflineQueue: false });
  client.on("error", onTrouble);
  subscriber.on("error", onTrouble);
  subscriber.on("ready", options.onReconnect);
  const destroy = () => {
    for (const one of [client, subscriber]) if (one.isOpen) one.destroy();
  };
  const opening = Promise.all([client.connect(), subscriber.connect()]);
  try {
    await bounded(opening, options.timeoutMs);
  } catch (error) {
    opening.catch(() => {});
    destroy();
    throw error;
  }
  return {
    send: (_key, args, more) => client.sendCommand(args, more),
    masters: () => Promise.resolve([(args) => client.sendCommand(args)]),
    subscribe: (channel, hear) => subscriber.subscribe(channel, hear),
    unsubscribe: (channel, hear) => subscriber.unsubscribe(channel, hear as Hear<boolean>),
    destroy,
  };
}

async function connectSentinel(
  options: RedisLinkOptions,
  onTrouble: (error: unknown) => void,
): Promise<Connection> {
  const { address, timeoutMs } = options;
  const { RESP, ...nodeClientOptions } = clientOptions(options);
  const { sentinelUsername: username, sentinelPassword: password } = address;
  const { connectTimeout, reconnectStrategy } = nodeClientOptions.socket;
  const sentinel = createSentinel({
    RESP,
    name: address.master ?? "",
    sentinelRootNodes: address.nodes,
    nodeClientOptions,
    sentinelClientOptions: {
      socket: { connectTimeout, reconnectStrategy, ...tlsOptions(address) },
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
    },
    commandOptions: NO_TIMEOUT,
    // Commands of all callers share one connection, so that they are pipelined; none is repeated behind our back.
    reserveClient: true,
    maxCommandRediscovers: 0,
    scanInterval: Math.min(1_000, timeoutMs),
    passthroughClientErrorEvents: true,
  });
  sentinel.on("error", onTrouble);
  sentinel.on("client-error", onTrouble);
  sentinel.on("topology-change", options.onReconnect);
  const opening = sentinel.connect();
  try {
    await bounded(opening, timeoutMs);
  } catch (error) {
    opening.catch(() => {});
    sentinel.destroy();
    throw error;
  }
  return {
    send: (_key, args, more) => sentinel.sendCommand(false, args, more),
    masters: () => Promise.resolve([(args) => sentinel.sendCommand(false, args)]),
    subscribe: (channel, hear) => sentinel.subscribe(channel, hear),
    unsubscribe: (channel, hear) => sentinel.unsubscribe(channel, hear as Hear<boolean>),
    destroy: () => {
      if (sentinel.isOpen) sentinel.destroy();
    },
  };
}

async function connectCluster(
  options: RedisLinkOptions,
  onTrouble: (error: unknown) => void,
): Promise<Connection> {
  const { RESP, database: _database, ...defaults } = clientOptions(options);
  const cluster = createCluster({
    RESP,
    rootNodes: options.address.nodes.map((node) => ({ socket: { ...defaults.socket, ...node } })),
    defaults,
    commandOptions: NO_TIMEOUT,
  });
  cluster.on("error", onTrouble);
  cluster.on("node-error", onTrouble);
  cluster.on("node-ready", options.onReconnect);
  const opening = cluster.connect();
  try {
    await bounded(opening, options.timeoutMs);
  } catch (error) {
    opening.catch(() => {});
    cluster.destroy();
    throw error;
  }
  return {
    send: (key, args, more) => cluster.sendCommand(key, false, args, more),
    masters: () =>
      Promise.all(cluster.masters.map(async (node) => {
        const client = await cluster.nodeClient(node);
        return (args: RedisArgument[]) => client.sendCommand(args);
      })),
    subscribe: (channel, hear) => cluster.subscribe(channel, hear),
    unsubscribe: (channel, hear) => cluster.unsubscribe(channel, hear as Hear<boolean>),
    destroy: () => {
      if (cluster.isOpen) cluster.destroy();
    },
  };
}

function bounded<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(unavailable(`Redis did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

function problemOf(error: unknown): unknown {
  if (error instanceof Problem) return error;
  if (!(error instanceof Error)) return error;
  if (error instanceof ErrorReply) {
    const refusal = REFUSALS.find(([pattern]) => pattern.test(error.message));
    return refusal === undefined ? error : withCause(refusal[1], error);
  }
  return withCause(`Redis cannot be reached: ${textOf(error)}`, error);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

function withCause(text: string, cause: Error): Problem {
  const problem = unavailable(text);
  return new Problem(problem.code, problem.message, { retryAfterSeconds: 1, cause });
}
