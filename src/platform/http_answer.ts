/** Reads the answer to one HTTP request from the bytes of its connection. Whatever HTTP/1.1 does not allow is an error. */

export interface HttpAnswer {
  status: number;
  /** In the order in which they came. */
  headers: [string, string][];
  body: string;
}

/** Bytes of the head of an answer; also of the trailers, and of a line before a chunk. */
export const MAX_HEADER_BYTES = 64 * 1024;

const LF = 10;
const STATUS_LINE = /^HTTP\/1\.[01] \d{3}(?: |$)/;
const HEADER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/;
const CHUNK_LINE = /^[0-9a-fA-F]{1,12}[ \t]*(?:;|$)/;

/** What comes next: a line of the head, a body of known length or until the connection ends, or a part of one in chunks. */
type Place =
  | "status"
  | "header"
  | "sized"
  | "rest"
  | "chunk line"
  | "chunk"
  | "chunk end"
  | "trailers"
  | "over";

/** Tells whether an answer with a location is a redirect. */
export function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && (status <= 303 || status >= 307);
}

export class AnswerReader {
  /** The connection takes no other request. */
  isLast = false;
  /** For how long the server keeps the connection, as it says, ms. */
  keptMs = Infinity;
  readonly #method: string;
  readonly #maxBytes: number;
  #status = 0;
  #headers: [string, string][] = [];
  #place: Place = "status";
  /** Of the head, the trailers, or the line before a chunk. */
  #lineBytes = 0;
  /** Of a line whose end has not come yet. */
  #begun = "";
  /** What has come last, and how far it is understood. */
  #bytes: Buffer = EMPTY;
  #at = 0;
  /** Of the body or the chunk, still to come. */
  #left = 0;
  readonly #parts: Buffer[] = [];
  #length = 0;
  #isOld = false;
  #isMoved = false;
  #connection = "";
  #coding = "";
  #size = "";

  /** @param maxBytes of the body */
  constructor(method: string, maxBytes: number) {
    this.#method = method;
    this.#maxBytes = maxBytes;
  }

  /** Tells whether the head has come. */
  get hasHead(): boolean {
    return this.#place !== "status" && this.#place !== "header";
  }

  /** The answer, once it is whole. */
  get answer(): HttpAnswer {
    const [first = EMPTY] = this.#parts;
    const body = this.#parts.length > 1 ? Buffer.concat(this.#parts) : first;
    return { status: this.#status, headers: this.#headers, body: body.toString("utf8") };
  }

  /**
   * Takes the next bytes; true when the answer is whole. That of a redirect is when its head is there.
   * @throws {Error} when it is no answer, or too long
   */
  take(bytes: Buffer): boolean {
    this.#bytes = bytes;
    this.#at = 0;
    while (this.#step());
    if (this.#place !== "over") return false;
    // Nothing was asked for that could be answered by more.
    if (this.#at < this.#bytes.length) this.isLast = true;
    return true;
  }

  /** The connection has ended; true when that ends the answer. */
  end(): boolean {
    return this.#place === "rest";
  }

  /** Understands the next line or piece; false when that needs more bytes, or when all is there. */
  #step(): boolean {
    switch (this.#place) {
      case "over":
        return false;
      case "sized":
      case "rest":
        return this.#readBody("over");
      case "chunk":
        return this.#readBody("chunk end");
      default: {
        const line = this.#line();
        if (line !== undefined) this.#readLine(line);
        return line !== undefined;
      }
    }
  }

  /** The next line, without its end. Undefined: it is not whole yet. */
  #line(): string | undefined {
    const end = this.#bytes.indexOf(LF, this.#at);
    const until = end < 0 ? this.#bytes.length : end;
    this.#lineBytes += until - this.#at;
    if (this.#lineBytes > MAX_HEADER_BYTES) fail("Header overflow");
    const text = this.#begun + this.#bytes.toString("latin1", this.#at, until);
    this.#at = end < 0 ? until : end + 1;
    this.#begun = end < 0 ? text : "";
    if (end < 0) return undefined;
    if (!text.endsWith("\r")) fail("Missing expected CR");
    return text.slice(0, -1);
  }

  #readLine(line: string): void {
    switch (this.#place) {
      case "status":
        if (!STATUS_LINE.test(line)) fail("Expected HTTP/");
        this.#isOld = line[7] === "0";
        this.#status = Number(line.slice(9, 12));
        this.#place = "header";
        return;
      case "header":
        if (line === "") this.#endHead();
        else this.#readHeader(line);
        return;
      case "chunk end":
        if (line !== "") fail("Expected the end of a chunk");
        this.#place = "chunk line";
        return;
      case "chunk line":
        if (!CHUNK_LINE.test(line)) fail("Invalid chunk size");
        this.#lineBytes = 0;
        this.#left = Number.parseInt(line, 16);
        this.#place = this.#left === 0 ? "trailers" : "chunk";
        return;
      default:
        // Nobody asks for trailers.
        if (line === "") this.#place = "over";
    }
  }

  #readHeader(line: string): void {
    if (!HEADER_LINE.test(line)) fail("Invalid header");
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    this.#headers.push([name, value]);
    switch (name.toLowerCase()) {
      case "content-length":
        if (this.#size !== "" || !/^\d{1,15}$/.test(value)) fail("Invalid Content-Length");
        this.#size = value;
        return;
      case "transfer-encoding":
        this.#coding = value.toLowerCase();
        return;
      case "connection":
        this.#connection = value.toLowerCase();
        return;
      case "keep-alive":
        this.keptMs = 1_000 * Number(/timeout=(\d{1,9})/.exec(value)?.[1] ?? Infinity);
        return;
      case "location":
        this.#isMoved = isRedirect(this.#status);
    }
  }

  /** Finds out how long the body is, and whether the connection can be used again. */
  #endHead(): void {
    const status = this.#status;
    this.#lineBytes = 0;
    if (status < 200 && status !== 101) {
      // It says only that the answer proper will come.
      this.#place = "status";
      this.#headers = [];
      return;
    }
    const [coding, size] = [this.#coding, this.#size];
    if (coding !== "" && size !== "") fail("Content-Length and Transfer-Encoding");
    this.isLast = this.#isOld
      ? !this.#connection.includes("keep-alive")
      : this.#connection.includes("close");
    const hasBody = this.#method !== "HEAD" && status !== 204 && status !== 304;
    if (this.#isMoved || status === 101 || this.#method === "CONNECT") {
      this.isLast = true;
      this.#place = "over";
    } else if (!hasBody || Number(size || -1) === 0) this.#place = "over";
    else if (/(?:^|,[ \t]*)chunked$/.test(coding)) this.#place = "chunk line";
    else if (size !== "") {
      this.#left = Number(size);
      this.#place = "sized";
    } else {
      this.isLast = true;
      this.#left = Infinity;
      this.#place = "rest";
    }
  }

  #readBody(next: Place): boolean {
    const end = Math.min(this.#bytes.length, this.#at + this.#left);
    const part = this.#bytes.subarray(this.#at, end);
    if (part.length === 0) return false;
    this.#at = end;
    this.#left -= part.length;
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      throw new Error(`response body has more than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
    if (this.#left === 0) this.#place = next;
    return this.#left === 0;
  }
}

const EMPTY = Buffer.alloc(0);

function fail(what: string): never {
  throw new Error(`Parse Error: ${what}`);
}
