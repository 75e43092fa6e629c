/** Clients that watch workflows over HTTP and account for what they see; a slow one reads nothing until it is told to go on. */

interface Frame {
  result?: { object: { metadata: { name: string; resourceVersion: string } } };
  error?: { grpc_code: number; message: string };
}

export interface WatchClient {
  /** Versions seen, in order, by workflow. */
  seen: Map<string, string[]>;
  /** Number of changes seen. */
  count(): number;
  /** Errors that ended a watch, after each of which it went on from the version that the error names. */
  cuts: string[];
  /** Lets a slow client read. */
  goOn(): void;
  close(): Promise<void>;
}

export interface WatchClientOptions {
  url: string;
  /** "" watches all. */
  namespace: string;
  /** Changes after this version. */
  after: string;
  framing: "ndjson" | "sse";
  isSlow?: boolean;
}

/** Opens a watch; resolves when the server has answered. */
export async function watchClient(options: WatchClientOptions): Promise<WatchClient> {
  const { framing, isSlow = false } = options;
  const seen = new Map<string, string[]>();
  const cuts: string[] = [];
  const abort = new AbortController();
  const gate = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let count = 0;
  if (!isSlow) gate.resolve();

  async function read(after: string): Promise<string | undefined> {
    const response = await fetch(
      `${options.url}/api/v1/workflow-events/${options.namespace}?listOptions.resourceVersion=${after}`,
      {
        headers: framing === "sse" ? { accept: "text/event-stream" } : {},
        signal: abort.signal,
      },
    );
    if (!response.ok || response.body === null) {
      throw new Error(`${response.status} ${await response.text()}`);
    }
    opened.resolve();
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body) {
      await gate.promise;
      const lines = (text + decoder.decode(chunk, { stream: true })).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const next = take(line);
        if (next !== undefined) return next;
      }
    }
    return take(text);
  }

  /** The version to go on from, when a line is an error. */
  function take(line: string): string | undefined {
    const json = framing === "sse" ? line.replace(/^data: |^:.*/, "") : line;
    if (json.trim() === "") return undefined;
    const { result, error } = JSON.parse(json) as Frame;
    if (error !== undefined) {
      cuts.push(error.message);
      return /go on from resourceVersion (\d+)/.exec(error.message)?.[1] ?? "";
    }
    const { name = "", resourceVersion = "" } = result?.object.metadata ?? {};
    seen.set(name, [...seen.get(name) ?? [], resourceVersion]);
    count++;
    return undefined;
  }

  const reading = (async () => {
    for (let after: string | undefined = options.after; after !== undefined;) {
      after = await read(after);
      if (after === "") return;
    }
  })().catch((cause: unknown) => {
    if (!abort.signal.aborted) cuts.push(String(cause));
    opened.reject(cause);
  });
  await opened.promise;
  return {
    seen,
    count: () => count,
    cuts,
    goOn: () => gate.resolve(),
    async close() {
      abort.abort();
      gate.resolve();
      await reading;
    },
  };
}
