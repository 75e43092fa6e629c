/**
 * Streams on the wire, in the two framings of the reference: newline-delimited JSON, and server-sent events if `Accept` asks for
 * exactly those. The official client can read nothing in the latter but `data: ` with one JSON value, and short heartbeats.
 */
import type { JsonObject } from "../base/json.ts";
import { writeJson } from "../base/json_text.ts";
import type { Clock } from "../platform/clock.ts";
import { type Problem, ProblemCode } from "../base/problem.ts";
import type { Hold } from "../service/workflows/hold.ts";
import { SMALL_READ } from "../service/workflows/large_reads.ts";
import { shortPieces } from "./answer_text.ts";
import { addRetryAfter, asProblem, problemFrame, problemResponse } from "./problems.ts";
import { project, type Projection } from "./projection.ts";

/** Silence after which server-sent events send a heartbeat. */
const HEARTBEAT_MS = 15_000;

/** How messages are put on the wire. */
export type Framing = "ndjson" | "sse";

/** Framing that a request asks for. */
export function framingOf(headers: Headers): Framing {
  return headers.get("accept") === "text/event-stream" ? "sse" : "ndjson";
}

/** Longer frames are encoded for each receiver, so that their bytes are not held beside their text. */
const MAX_KEPT_FRAME = 16_384;

/** A whole frame that has already been filtered and written, once for all receivers. */
export class FrameText {
  readonly text: string;
  readonly #encoded: Partial<Record<Framing, Uint8Array>> = {};

  /** @param text as `writeJson` makes it */
  constructor(text: string) {
    this.text = text;
  }

  /** As it goes on the wire, not as the last frame: the same bytes for all receivers, not to be changed. */
  bytes(framing: Framing): Uint8Array {
    const known = this.#encoded[framing];
    if (known !== undefined) return known;
    const bytes = encoder.encode(frameText(this.text, framing, false));
    if (this.text.length <= MAX_KEPT_FRAME) this.#encoded[framing] = bytes;
    return bytes;
  }
}

const encoder = new TextEncoder();

/** A message, or several that are there at the same time and are sent together. */
export type Messages = JsonObject | FrameText | readonly (JsonObject | FrameText)[];

function frameText(json: string, framing: Framing, last: boolean): string {
  if (framing === "sse") return last ? `data: ${json} \n\n` : `data: ${json} \n\n\n`;
  return last ? json : `${json}\n`;
}

function streamHeaders(framing: Framing): Headers {
  return framing === "sse"
    ? new Headers({
      "content-type": "text/event-stream",
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
    })
    : new Headers({ "content-type": "application/json" });
}

/**
 * The answer when a streaming route refuses before its first message: the error frame of the reference. Readers of server-sent
 * events get a plain error instead, because the official client can't read an error frame. Only a missing credential is a
 * frame for them too, as in the reference.
 */
export function refusedStream(problem: Problem, framing: Framing): Response {
  if (framing === "sse" && problem.code !== ProblemCode.Unauthenticated) {
    return problemResponse(problem);
  }
  const headers = streamHeaders(framing);
  addRetryAfter(headers, problem);
  return new Response(frameText(writeJson(problemFrame(problem)), framing, true), {
    status: problem.status,
    headers,
  });
}

/** What a stream needs besides its messages. */
export interface StreamOptions {
  framing: Framing;
  /** Applied to whole frames; errors are never filtered. */
  projection?: Projection | undefined;
  clock: Clock;
  /** Of the request: what is sent and not read yet takes room. */
  hold?: Hold | undefined;
  /** Called once when the client is gone or the source has ended. */
  onEnd: () => void;
  onError: (error: unknown) => void;
}

/**
 * Turns messages into a response. The client pulls, so for a slow one only the messages that came together are held. An error
 * of the source becomes the last frame.
 */
export function streamResponse(
  source: AsyncIterable<Messages>,
  options: StreamOptions,
): Response {
  const { framing, projection, clock, hold } = options;
  const iterator = source[Symbol.asyncIterator]();
  let cancelHeartbeat = () => {};
  let ended = false;
  const large = new LargeFrames(framing, hold);
  const end = () => {
    if (ended) return;
    ended = true;
    cancelHeartbeat();
    large.end();
    options.onEnd();
  };
  const stop = () => {
    end();
    // Intentionally not awaited: a source that waits for a change ends when it sees the abort.
    iterator.return?.().catch(options.onError);
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (framing === "sse") cancelHeartbeat = startHeartbeat(controller, clock);
    },
    async pull(controller) {
      try {
        const piece = large.next();
        if (piece !== undefined) return controller.enqueue(piece);
        const next = await iterator.next();
        if (ended) return;
        if (next.done === true) {
          end();
          controller.close();
          return;
        }
        const frames = [next.value].flat().map((one) => frameOf(one, projection));
        const size = frames.reduce((sum, { text }) => sum + text.length, 0);
        if (size <= SMALL_READ && !large.hasRoom) {
          return controller.enqueue(joined(frames.map((frame) => frame.bytes(framing))));
        }
        await large.send(frames, size, (reason) => {
          stop();
          controller.error(reason);
        });
        const first = ended ? undefined : large.next();
        if (first !== undefined) controller.enqueue(first);
      } catch (error) {
        if (ended) return;
        stop();
        options.onError(error);
        const json = writeJson(problemFrame(asProblem(error)));
        controller.enqueue(encoder.encode(frameText(json, framing, true)));
        controller.close();
      }
    },
    cancel: stop,
  }, { highWaterMark: 1 });
  return new Response(body, { status: 200, headers: streamHeaders(framing) });
}

/** Sends a heartbeat now and then, unless something waits to be read; the result ends that. */
function startHeartbeat(
  controller: ReadableStreamDefaultController<Uint8Array>,
  clock: Clock,
): () => void {
  let cancel = () => {};
  const beat = () => {
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(":\n"));
    cancel = clock.after(HEARTBEAT_MS, beat);
  };
  cancel = clock.after(HEARTBEAT_MS, beat);
  return () => cancel();
}

/**
 * Frames on their way that are large, or made from what is: in pieces, because only so it is seen how far a client has read.
 * They have room until then.
 */
class LargeFrames {
  readonly #framing: Framing;
  readonly #hold: Hold | undefined;
  #rest: Iterator<string> | undefined;
  /** Room that was taken for those that are sent. */
  #taken = 0;

  constructor(framing: Framing, hold: Hold | undefined) {
    this.#framing = framing;
    this.#hold = hold;
  }

  /** The source has room for what it has read. */
  get hasRoom(): boolean {
    return this.#hold !== undefined && this.#hold.size > 0;
  }

  /**
   * Takes room for frames, unless their source has it already; `next` then has their pieces.
   * @param cut is called if the client takes nothing while others need the room
   * @throws {Problem} DeadlineExceeded when there is no room
   */
  async send(
    frames: readonly FrameText[],
    size: number,
    cut: (reason: Error) => void,
  ): Promise<void> {
    const hold = this.#hold;
    const missing = size - (hold?.size ?? size);
    if (missing > SMALL_READ) {
      await hold?.enter(missing);
      this.#taken = missing;
    }
    if (this.hasRoom) {
      hold?.begin(() =>
        cut(new Error("the client read nothing of the stream while others waited"))
      );
    }
    this.#rest = shortPieces(frames.map(({ text }) => frameText(text, this.#framing, false)));
  }

  /** The next piece; undefined when all were taken. */
  next(): Uint8Array | undefined {
    this.#hold?.taken();
    const piece = this.#rest?.next();
    if (piece?.done === false) return encoder.encode(piece.value);
    this.#rest = undefined;
    if (this.#taken > 0) this.#hold?.give(this.#taken);
    this.#taken = 0;
    return undefined;
  }

  end(): void {
    this.#rest = undefined;
    this.#hold?.release();
  }
}

function frameOf(message: JsonObject | FrameText, projection: Projection | undefined): FrameText {
  if (message instanceof FrameText) return message;
  const frame: JsonObject = { result: message };
  return new FrameText(writeJson(projection === undefined ? frame : project(frame, projection)));
}

/** Several pieces as one; a single one as it is. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Makes messages from the values of a stream. No generator: one that waits would still refer to the last value. */
export function mapStream<T>(
  source: AsyncIterable<T>,
  messagesOf: (value: T) => Messages | Promise<Messages>,
): AsyncIterable<Messages> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      return {
        async next() {
          const { done, value } = await iterator.next();
          if (done === true) return { done, value: undefined };
          const made = messagesOf(value);
          return { value: made instanceof Promise ? await made : made };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
