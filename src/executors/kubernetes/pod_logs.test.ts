import { expect, test } from "vitest";
import { KubeClient } from "../../kubernetes/kube_client.ts";
import { podLogs } from "./pod_logs.ts";

/** A client that gives these lines. */
class Lines extends KubeClient {
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    super({
      server: "http://localhost",
      insecureSkipVerify: false,
      token: () => Promise.resolve(undefined),
    });
    this.#lines = lines;
  }

  override async *lines(): AsyncGenerator<string> {
    yield* this.#lines;
  }
}

function read(lines: readonly string[], sinceMs?: number) {
  const { signal } = new AbortController();
  const query = {
    container: "main",
    follow: false,
    signal,
    ...(sinceMs !== undefined && { sinceMs }),
  };
  const pod = { namespace: "n", podName: "p" };
  return Array.fromAsync(podLogs(new Lines(lines), pod, query));
}

const NINE = "2026-01-01T09:00:00.123456789Z";
const TEN = "2026-01-01T10:00:00+00:00";

test("each line has its time", async () => {
  expect(await read([`${NINE} a b`, `${TEN} `, TEN, `${TEN}  indented`])).toEqual([
    { at: Date.parse(NINE), text: "a b" },
    { at: Date.parse(TEN), text: "" },
    { at: Date.parse(TEN), text: "" },
    { at: Date.parse(TEN), text: " indented" },
  ]);
});

test("pieces of a very long line have that of their line", async () => {
  expect(await read([`${NINE} x`, "May 1", "", `${TEN} y`])).toEqual([
    { at: Date.parse(NINE), text: "x" },
    { at: Date.parse(NINE), text: "May 1" },
    { at: Date.parse(NINE), text: "" },
    { at: Date.parse(TEN), text: "y" },
  ]);
  expect(await read([`${NINE} x`, "rest", `${TEN} y`], Date.parse(TEN))).toEqual([
    { at: Date.parse(TEN), text: "y" },
  ]);
});
