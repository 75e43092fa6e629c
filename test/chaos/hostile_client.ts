/** A thread that sends hostile bodies to servers, so that it does not slow the thread that measures. */
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

interface Orders {
  ports: number[];
  perSecond: number;
  /** Bytes of each body. */
  size: number;
  /** Tokens to send now and then: an invalid one, and one of a caller who may do nothing. */
  tokens: string[];
}

const { ports, perSecond, size, tokens } = workerData as Orders;

/** How long a stalled connection is kept open, ms. */
const STALL_MS = 10_000;
const PATHS = [
  "/api/v1/workflows/default",
  "/api/v1/workflows/default/lint",
  "/api/v1/events/default/x",
  "/api/v1/workflow-templates/default",
  "/api/v1/workflow-event-bindings/default",
];

/** A body of the given size that repeats one piece. */
function bodyOf(before: string, piece: string): Buffer {
  const body = Buffer.alloc(size, piece);
  body.write(before);
  return body;
}

const BODIES = [
  bodyOf('{"workflow":{"spec":{"templates":[', "{},"),
  bodyOf("[", "[],"),
  bodyOf('{"template":{"a":"', "x"),
  bodyOf('{"workflow":{"metadata":{"labels":{', '"a":"b",'),
  bodyOf("[", "["),
];

/** Status → number of answers; 0: cut off without an answer. */
const told: Record<number, number> = {};
let sent = 0;

function send(number: number): void {
  const pick = <T>(from: readonly T[], every = 1): T =>
    from[Math.floor(number / every) % from.length] as T;
  const path = pick(PATHS);
  const body = pick(BODIES);
  const token = number % 4 === 3 ? pick(tokens, 4) : undefined;
  const isStalled = number % 5 === 4;
  const isChunked = number % 3 === 2;
  const socket = connect(pick(ports), "127.0.0.1");
  let answer = "";
  socket.on("data", (data) => {
    answer += data.toString("latin1");
    // Only the status matters, so the rest of the answer and of the body is dropped.
    if (answer.includes("\r\n")) socket.destroy();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
    told[status] = (told[status] ?? 0) + 1;
  });
  socket.setTimeout(STALL_MS, () => socket.destroy());
  const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${size}`;
  const credential = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${credential}${framing}\r\n\r\n`);
  if (isChunked) socket.write(`${size.toString(16)}\r\n`);
  socket.write(isStalled ? body.subarray(0, size / 16) : body);
  if (isChunked && !isStalled) socket.write("\r\n0\r\n\r\n");
  sent++;
}

const timer = setInterval(() => send(sent), 1_000 / perSecond);
parentPort?.once("message", () => {
  clearInterval(timer);
  setTimeout(() => parentPort?.postMessage({ sent, told }), 500);
});
