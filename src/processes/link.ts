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

/** The answer; undefined: the connection broke, and the question may or may not have arrived. */
export type HearAnswer = (answer: Json | undefined) => void;

/** Answers a question of a neighbour, once. */
export type TakeQuestion = (question: Json, answer: (answer: Json) => void) => void;

/** A question or an answer on its way. */
type Line = [id: number, isAnswer: 0 | 1, body: Json];

export class Link {
  /** Open connections, by the name of the neighbour. */
  readonly #open = new Map<string, Connection>();
  /** Names of neighbours whose connections are open or on the way. */
  readonly #known = new Set<string>();
  #server: Server | undefined;
  #take: TakeQuestion = () => {};
  #hearGone: (name: string) => void = () => {};

  /** Begins to take connections of neighbours at a path. */
  listen(path: string): Promise<void> {
    const server = createServer((socket) => {
      const connection = new Connection(socket, (question, answer) => this.#take(question, answer));
      socket.once("close", () => connection.lost());
    });
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
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
    this.#hearGone(name);
  }

  /** Learns where neighbours listen, by name, and connects to those that are new. */
  meet(neighbours: Readonly<Record<string, string>>): void {
    for (const [name, path] of Object.entries(neighbours)) {
      if (!this.#known.has(name)) this.#connect(name, path);
    }
  }

  /** Asks a neighbour; false, and nothing is sent, when there is no connection to one of this name. */
  ask(name: string, question: Json, hear: HearAnswer): boolean {
    const connection = this.#open.get(name);
    connection?.ask(question, hear);
    return connection !== undefined;
  }

  /** Ends all connections. */
  close(): void {
    for (const connection of this.#open.values()) connection.end();
    const path = this.#server?.address();
    this.#server?.close();
    if (typeof path === "string") leave(path);
  }

  #connect(name: string, path: string): void {
    this.#known.add(name);
    const socket = connect(path);
    const connection = new Connection(socket, () => {});
    socket.once("connect", () => this.#open.set(name, connection));
    // What follows an error is the end of the connection.
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#open.delete(name);
      this.#known.delete(name);
      connection.lost();
    });
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

  ask(question: Json, hear: HearAnswer): void {
    const id = ++this.#asked;
    this.#waiting.set(id, hear);
    this.#write([id, 0, question]);
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
      this.#take(body, (answer) => this.#write([id, 1, answer]));
      return;
    }
    const hear = this.#waiting.get(id);
    this.#waiting.delete(id);
    hear?.(body);
  }
}
