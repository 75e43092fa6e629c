/**
 * Connections to one server, to the master that sentinels name, or to a cluster. They reconnect by themselves, with
 * growing pauses between attempts; meanwhile commands are refused at once.
 */
import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { createClient, createCluster, createSentinel } from "redis";
import { defined } from "../../base/defined.ts";
import { errorText } from "../../base/error_text.ts";
import { invalid, Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { systemClock } from "../../platform/clock.ts";
import { bounded, misfitOf } from "./trouble.ts";
import type { RedisAddress, RedisNode } from "./url.ts";

export type RedisArgument = string | Buffer;

export interface RedisConnectionOptions {
  address: RedisAddress;
  /** Milliseconds after which a call fails. */
  timeoutMs: number;
  /** Called when the connection for messages is back after a loss: messages may have been missed. */
  onReconnect: () => void;
  /** Told about lost connections, for the log: the same text again and again as long as the trouble lasts. */
  onTrouble: (text: string) => void;
}

/** What all three kinds of connections can do. */
export interface RedisConnection {
  send(key: string, args: RedisArgument[], options: object): Promise<unknown>;
  /** One function for each master. */
  masters(): Promise<((args: RedisArgument[]) => Promise<unknown>)[]>;
  subscribe(channel: string, hear: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, hear: (message: string) => void): Promise<unknown>;
  destroy(): void;
}

/** A connection that knows what went wrong with it last. */
export interface WatchedConnection extends RedisConnection {
  /** The last trouble so far, which may be over. */
  lastTrouble(): string | undefined;
}

/** The listener that a client calls for each message. */
type Hear<Bytes extends boolean> = (
  message: Bytes extends true ? Buffer : string,
  channel: Bytes extends true ? Buffer : string,
) => void;

/**
 * Connects to Redis.
 * @throws {Problem} Unavailable when that takes longer than the timeout, FailedPrecondition when the address never fits
 */
export async function connectRedis(options: RedisConnectionOptions): Promise<WatchedConnection> {
  const { address, timeoutMs } = options;
  let lastTrouble: string | undefined;
  let isAsking = false;
  const note = (text: string) => {
    lastTrouble = text;
    options.onTrouble(text);
  };
  const onTrouble = (error: unknown) => {
    const text = errorText(error);
    if (address.topology !== "single" || !CLOSED.test(text)) return note(text);
    if (isAsking) return;
    isAsking = true;
    void firstWords(options).catch(() => undefined).then((words) => {
      isAsking = false;
      note(words ?? text);
    });
  };
  const onReady = () => void (lastTrouble = undefined);
  const opening = address.topology === "single"
    ? connectSingle(options, onTrouble, onReady)
    : address.topology === "sentinel"
    ? connectSentinel(options, onTrouble)
    : connectCluster(options, onTrouble);
  try {
    return { ...await bounded(opening, timeoutMs), lastTrouble: () => lastTrouble };
  } catch (error) {
    opening.then((connection) => connection.destroy(), () => {});
    const where = address.nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
    if (error instanceof Problem && error.code !== ProblemCode.Unavailable) throw error;
    const reason = lastTrouble ?? errorText(error);
    throw misfitOf(reason) ?? unavailable(`Cannot connect to Redis at ${where}: ${reason}`);
  }
}

/** Errors of a connection that the other end closes without a word. */
const CLOSED = /Socket closed unexpectedly|ECONNRESET|EPIPE/;
/** How long a server has to say why it closes connections, ms. */
const FIRST_WORDS_MS = 200;

/**
 * The error that a server tells whoever connects before it closes the connection, as where it has too many of them. The client
 * speaks at once, and loses that error with the connection.
 * @throws {Problem} the server waits for us to speak
 */
async function firstWords(options: RedisConnectionOptions): Promise<string | undefined> {
  const [node] = options.address.nodes;
  if (node === undefined) return undefined;
  const socket = socketTo(node, options);
  const words = new Promise<string | undefined>((resolve) => {
    socket.once("data", (bytes) => resolve(/^-(.*)/.exec(String(bytes))?.[1]?.trim()));
    socket.once("error", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
  });
  try {
    return await bounded(words, FIRST_WORDS_MS);
  } finally {
    socket.destroy();
  }
}

function socketTo(node: RedisNode, { address }: RedisConnectionOptions) {
  const { tls, ...options } = { tls: false, ...tlsOptions(address), ...node };
  return tls ? connectTls(options) : connect(options);
}

/** @throws {Problem} InvalidArgument when the authority's certificate can't be read */
function tlsOptions({ isTls, caFile }: RedisAddress) {
  if (!isTls) return {};
  if (caFile === undefined) return { tls: true as const };
  try {
    return { tls: true as const, ca: readFileSync(caFile) };
  } catch (error) {
    throw invalid(`Cannot read the certificate of the Redis URL: ${errorText(error)}`);
  }
}

function clientOptions({ address, timeoutMs }: RedisConnectionOptions) {
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
    ...defined({ username, password }),
  };
}

/** We have timeouts of our own: those of the client don't cover commands that were already sent. */
const NO_TIMEOUT = { timeout: 0 };

/** Waits until a client is connected. One that is not in time is destroyed. */
async function opened(
  opening: Promise<unknown>,
  timeoutMs: number,
  destroy: () => void,
): Promise<void> {
  try {
    await bounded(opening, timeoutMs);
  } catch (error) {
    opening.catch(() => {});
    destroy();
    throw error;
  }
}

/** How long a server may refuse a first connection, or be away, before the attempt is given up, ms. */
const REFUSED_MS = 1_000;

/** Fails a while after the first error of a client, so that whoever waits for it soon learns why it does not come. */
function refused(client: Pick<EventEmitter, "once">): Promise<never> {
  return new Promise((_, reject) => {
    client.once("error", (error: unknown) => {
      systemClock.after(REFUSED_MS, () => reject(error), true);
    });
  });
}

async function connectSingle(
  options: RedisConnectionOptions,
  onTrouble: (error: unknown) => void,
  onReady: () => void,
): Promise<RedisConnection> {
  const [node] = options.address.nodes;
  const common = clientOptions(options);
  const client = createClient({
    ...common,
    commandOptions: NO_TIMEOUT,
    socket: { ...common.socket, ...node },
  });
  const subscriber = client.duplicate({ disableOfflineQueue: false });
  client.on("error", onTrouble);
  client.on("ready", onReady);
  subscriber.on("error", onTrouble);
  subscriber.on("ready", options.onReconnect);
  const destroy = () => {
    for (const one of [client, subscriber]) if (one.isOpen) one.destroy();
  };
  const connecting = Promise.all([client.connect(), subscriber.connect()]);
  await opened(Promise.race([connecting, refused(client)]), options.timeoutMs, destroy);
  return {
    send: (_key, args, more) => client.sendCommand(args, more),
    masters: () => Promise.resolve([(args) => client.sendCommand(args)]),
    subscribe: (channel, hear) => subscriber.subscribe(channel, hear),
    unsubscribe: (channel, hear) => subscriber.unsubscribe(channel, hear as Hear<boolean>),
    destroy,
  };
}

/** How long a sentinel may be silent, ms. */
const PATIENCE_MS = 1_000;
/**
 * How often sentinels are asked who the master is, in times of that. The client asks them in a fixed order, sends no command
 * meanwhile, and begins again if it is to ask while it still does: it must be through with those that are silent before.
 */
const SCAN_EVERY = 5;
/** How often a sentinel that says nothing is asked whether it is there, ms. */
const SENTINEL_PING_MS = 100;

function patienceOf({ timeoutMs }: RedisConnectionOptions): number {
  return Math.min(PATIENCE_MS, timeoutMs);
}

/** Whether a server says anything in time, be it that it wants a password. To make a client for it takes 30 ms. */
async function doesAnswer(
  node: RedisNode,
  options: RedisConnectionOptions,
  patienceMs: number,
): Promise<boolean> {
  const socket = socketTo(node, options);
  const answer = new Promise<boolean>((resolve) => {
    socket.once("data", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.write("PING\r\n");
  });
  try {
    return await bounded(answer, patienceMs);
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The named servers, those that answer and those that are silent. */
async function sortedByAnswer(
  options: RedisConnectionOptions,
): Promise<{ answering: RedisNode[]; silent: RedisNode[] }> {
  const { nodes } = options.address;
  const patience = patienceOf(options);
  const answers = await Promise.all(nodes.map((node) => doesAnswer(node, options, patience)));
  return {
    answering: nodes.filter((_, at) => answers[at] === true),
    silent: nodes.filter((_, at) => answers[at] !== true),
  };
}

async function connectSentinel(
  options: RedisConnectionOptions,
  onTrouble: (error: unknown) => void,
): Promise<RedisConnection> {
  const { address, timeoutMs } = options;
  const { RESP, ...nodeClientOptions } = clientOptions(options);
  const { sentinelUsername: username, sentinelPassword: password } = address;
  const patience = patienceOf(options);
  // The client asks them in this order, and a silent one takes its time.
  const { answering, silent } = await sortedByAnswer(options);
  const sentinel = createSentinel({
    RESP,
    name: address.master ?? "",
    sentinelRootNodes: [...answering, ...silent],
    nodeClientOptions,
    sentinelClientOptions: {
      socket: { connectTimeout: patience, socketTimeout: patience, ...tlsOptions(address) },
      ...defined({ username, password }),
      pingInterval: SENTINEL_PING_MS,
    },
    commandOptions: NO_TIMEOUT,
    // All callers share one connection, so that commands are pipelined; the client repeats none by itself.
    reserveClient: true,
    maxCommandRediscovers: 0,
    scanInterval: SCAN_EVERY * patience,
    passthroughClientErrorEvents: true,
  });
  sentinel.on("error", onTrouble);
  sentinel.on("client-error", onTrouble);
  sentinel.on("topology-change", options.onReconnect);
  await opened(sentinel.connect(), timeoutMs, () => sentinel.destroy());
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
  options: RedisConnectionOptions,
  onTrouble: (error: unknown) => void,
): Promise<RedisConnection> {
  const { RESP, database: _database, ...defaults } = clientOptions(options);
  const { answering, silent } = await sortedByAnswer(options);
  const rootOf = (node: RedisNode) => ({ socket: { ...defaults.socket, ...node } });
  // The client begins with any of these, and a silent one would take all of its time.
  const rootNodes = (answering.length > 0 ? answering : silent).map(rootOf);
  const cluster = createCluster({ RESP, rootNodes, defaults, commandOptions: NO_TIMEOUT });
  cluster.on("error", onTrouble);
  cluster.on("node-error", onTrouble);
  cluster.on("node-ready", options.onReconnect);
  await opened(cluster.connect(), options.timeoutMs, () => cluster.destroy());
  // From now on they only help when no server is left that the cluster has named.
  if (answering.length > 0) rootNodes.push(...silent.map(rootOf));
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
