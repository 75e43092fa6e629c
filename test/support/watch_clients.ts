/** Clients that watch workflows over HTTP and record every change that they see. */

export interface WatchClientOptions {
  url: string;
  /** "" watches all. */
  namespace: string;
  /** Changes after this version. */
  after: string;
  framing: "ndjson" | "sse";
}

const RESULT = /"resourceVersion":"(\d+)"/;
const ERROR = /"error":\{.*?"message":"((?:[^"\\]|\\.)*)"/;
const GO_ON = /go on from resourceVersion (\d+)/;

/** One watcher. When it is cut off, it resumes by itself from the version that it is told. */
export class WatchClient {
  readonly namespace: string;
  /** Versions seen, in order. */
  readonly seen: string[] = [];
  /** Epoch ms at which each was seen. */
  readonly times: number[] = [];
  /** Errors that ended a watch. */
  readonly cuts: string[] = [];
  readonly #options: WatchClientOptions;
  #isClosed = false;
  #gate = Promise.resolve();
  #open: () => void = () => {};
  #reading: Promise<void> | undefined;
  #cancel: () => Promise<void> = () => Promise.resolve();

  constructor(options: WatchClientOptions) {
    this.#options = options;
    this.namespace = options.namespace;
  }

  /** Opens the watch; resolves when the server has answered. */
  async open(): Promise<void> {
    const opened = Promise.withResolvers<void>();
    this.#reading = this.#follow(opened.resolve).catch((cause: unknown) => {
      if (this.#isClosed) return;
      this.cuts.push(String(cause));
      opened.reject(cause);
    });
    await opened.promise;
  }

  /** Stops reading. */
  pause(): void {
    this.#gate = new Promise((resolve) => this.#open = resolve);
  }

  /** Reads again. */
  goOn(): void {
    this.#open();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#open();
    await this.#cancel().catch(() => {});
    await this.#reading;
  }

  async #follow(opened: () => void): Promise<void> {
    for (let after: string | undefined = this.#options.after; after !== undefined;) {
      if (this.#isClosed) return;
      const cuts = this.cuts.length;
      await this.#read(after, opened);
      // An answer that just ends is resumed too.
      const cut = this.cuts[cuts];
      after = cut === undefined ? this.seen.at(-1) ?? after : GO_ON.exec(cut)?.[1];
    }
  }

  async #read(after: string, opened: () => void): Promise<void> {
    const { url, namespace, framing } = this.#options;
    const response = await fetch(
      `${url}/api/v1/workflow-events/${namespace}?listOptions.resourceVersion=${after}`,
      { headers: framing === "sse" ? { accept: "text/event-stream" } : {} },
    );
    if (!response.ok || response.body === null) {
      throw new Error(`${response.status} ${await response.text()}`);
    }
    opened();
    const decoder = new TextDecoder();
    let text = "";
    const reader = response.body.getReader();
    // Intentionally not left to the signal: on Deno it does not end a read that waits.
    this.#cancel = () => reader.cancel();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      await this.#gate;
      const lines = (text + decoder.decode(next.value, { stream: true })).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
    }
    this.#take(text);
  }

  #take(line: string): void {
    if (line.length < 10) return;
    // The version comes before anything from a manifest.
    const version = line.startsWith('{"error"') || line.startsWith('data: {"error"')
      ? undefined
      : RESULT.exec(line)?.[1];
    if (version === undefined) this.cuts.push(ERROR.exec(line)?.[1] ?? line.slice(0, 500));
    else {
      this.seen.push(version);
      this.times.push(Date.now());
    }
  }
}
