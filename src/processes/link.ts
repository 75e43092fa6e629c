/**
 * What the processes of one machine hand to each other directly: questions and their answers as lines of JSON over Unix
 * sockets, one for each process. Nothing is kept: who asks over a connection that breaks is told so.
 */
import { rmdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { setImmediate } from "node:timers";
import type { Json } from "../base/json.ts";
import { TextLines } from "../base/text_lines.ts";
import { systemClock } from "../platform/clock.ts";

/** The answer; undefined: the connection broke, and the question may or may not have arrived. */
export type HearAnswer = (answer: Json | undefined) => void;

/** Answers a question of a neighbour, once. */
export type TakeQuestion = (question: Json, answer: (answer: Json) => void) => void;

/** A question or an answer on its way. */
type Line = [id: number, isAnswer: 0 | 1, body: Json];

/** Pause before a broken connection is made again, and how far the pause grows, ms. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Most questions to one neighbour that have no answer yet: one that is frozen answers none. */
const MAX_WAITING = 10_000;
/** Most bytes for a neighbour that it has not taken yet. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

export class Link {
  /** Where neighbours listen whose processes have not ended, by name. */
  readonly #paths = new Map<string, string>();
  /** Open connections, by the name of the neighbour. */
  readonly #open = new Map<string, Connection>();
  /** Own ends of all connections, to neighbours and from them, also of those on the way. */
  readonly #connections = new Set<Connection>();
  #server: Server | undefined;
  #isClosed = false;
  #take: TakeQuestion = () => {};
  #hearGone: (name: string) => void = () => {};

  /** Begins to take connections of neighbours at a path. */
  listen(path: string): Promise<void> {
    const server = createServer((socket) => {
      this.#hold(socket, (question, answer) => this.#take(question, answer));
    });
    this.#server = server;
    return new Promise((resolve, reject) => {
      // Later ones are about a connection that could not be taken: whoever wanted it tries again.
      server.on("error", reject);
      server.listen(path, () => {
        server.unref();
        resolve();
      });
    });
  }

  /** @param take answers the questions of neighbours */
  serve(take: TakeQuestion): void {
    this.#take = take;
  }

  /** @param hear hears the name of a neighbour whose process has ended: it does nothing any more */
  onGone(hear: (name: string) => void): void {
    this.#hearGone = hear;
  }

  /** The process of a neighbour has ended, as whoever started it has seen. A broken connection alone would not say so. */
  gone(name: string): void {
    this.#paths.delete(name);
    this.#hearGone(name);
  }

  /** Learns where neighbours listen, by name, and connects to those that are new. */
  meet(neighbours: Readonly<Record<string, string>>): void {
    for (const [name, path] of Object.entries(neighbours)) {
      if (this.#paths.has(name)) continue;
      this.#paths.set(name, path);
      this.#connect(name, FIRST_PAUSE_MS);
    }
  }

  /**
   * Asks a neighbour; false, and nothing is sent, when there is no connection to one of this name, or when too much is on
   * its way there.
   */
  ask(name: string, question: Json, hear: HearAnswer): boolean {
    const connection = this.#open.get(name);
    return connection !== undefined && connection.ask(question, hear);
  }

  /** Ends all connections, for good. */
  close(): void {
    this.#isClosed = true;
    this.#open.clear();
    for (const connection of this.#connections) connection.end();
    const path = this.#server?.address();
    this.#server?.close();
    if (typeof path === "string") leave(path);
  }

  /** @param pauseMs before the next try, if this one fails */
  #connect(name: string, pauseMs: number): void {
    const path = this.#paths.get(name);
    if (path === undefined || this.#isClosed) return;
    const socket = connect(path);
    const connection = this.#hold(socket, () => {});
    let waitMs = pauseMs;
    socket.once("connect", () => {
      if (this.#isClosed) return;
      this.#open.set(name, connection);
      waitMs = FIRST_PAUSE_MS;
    });
    socket.once("close", () => {
      this.#open.delete(name);
      const nextMs = Math.min(2 * waitMs, LONGEST_PAUSE_MS);
      systemClock.after(waitMs, () => this.#connect(name, nextMs), true);
    });
  }

  #hold(socket: Socket, take: TakeQuestion): Connection {
    const connection = new Connection(socket, take);
    this.#connections.add(connection);
    socket.once("close", () => {
      this.#connections.delete(connection);
      connection.lost();
    });
    return connection;
  }
}

/** Removes a socket, and its folder after the last one. */
function leave(path: string): void {
  try {
    rmSync(path, { force: true });
    rmdirSync(dirname(path));
  } catch {
    // Others still have their sockets there.
  }
}

/** One end of a connection. What is said in one turn of the event loop goes out together. */
class Connection {
  readonly #socket: Socket;
  readonly #take: TakeQuestion;
  readonly #waiting = new Map<number, HearAnswer>();
  #asked = 0;
  #out = "";
  readonly #lines = new TextLines();

  constructor(socket: Socket, take: TakeQuestion) {
    this.#socket = socket;
    this.#take = take;
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => this.#read(chunk));
    socket.on("error", () => {});
    // The channel to the parent decides how long the process lives.
    socket.unref();
  }

  /** False, and nothing is sent, when the other end has not taken or not answered too much. */
  ask(question: Json, hear: HearAnswer): boolean {
    if (this.#waiting.size >= MAX_WAITING || this.#isFull) return false;
    const id = ++this.#asked;
    this.#waiting.set(id, hear);
    this.#write([id, 0, question]);
    return true;
  }

  end(): void {
    this.#flush();
    this.#socket.end();
  }

  /** The connection is gone. */
  lost(): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const hear of waiting) hear(undefined);
  }

  get #isFull(): boolean {
    return this.#out.length + this.#socket.writableLength > MAX_UNSENT_BYTES;
  }

  #write(line: Line): void {
    if (this.#out === "") setImmediate(() => this.#flush());
    this.#out += `${JSON.stringify(line)}\n`;
  }

  #flush(): void {
    const out = this.#out;
    this.#out = "";
    if (out !== "" && !this.#socket.destroyed) this.#socket.write(out);
  }

  #read(chunk: string): void {
    for (const line of this.#lines.add(chunk)) this.#hear(JSON.parse(line) as Line);
  }

  #hear([id, isAnswer, body]: Line): void {
    if (isAnswer === 0) {
      this.#take(body, (answer) => this.#answer(id, answer));
      return;
    }
    const hear = this.#waiting.get(id);
    this.#waiting.delete(id);
    hear?.(body);
  }

  #answer(id: number, answer: Json): void {
    // Without the connection, the other end knows that it must look for its answers elsewhere.
    if (this.#isFull) this.#socket.destroy();
    else this.#write([id, 1, answer]);
  }
}
