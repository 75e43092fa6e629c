import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createArtifactStore } from "./artifact_store.ts";
import { parseRepository } from "./repository_setting.ts";

let server: Server;
let answer: (response: ServerResponse, query: URLSearchParams) => void;
beforeAll(async () => {
  server = createServer((request, response) =>
    answer(response, new URL(request.url ?? "", "http://server").searchParams)
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const SCOPE = { namespace: "n" };
const artifact = { name: "a", s3: { key: "n/k/" } };

function store() {
  const { port } = server.address() as AddressInfo;
  const nothing = () => Promise.resolve(undefined);
  return createArtifactStore({
    repository: parseRepository(`s3://key:secret@127.0.0.1:${port}/bucket?insecure=true`),
    config: { configMap: nothing, secret: nothing },
  });
}

function listOf(keys: readonly string[], next?: string): string {
  const contents = keys.map((key) => `<Contents><Size>1</Size><Key>${key}</Key></Contents>`);
  const more = next === undefined
    ? "<IsTruncated>false</IsTruncated>"
    : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`;
  return `<?xml version="1.0"?><ListBucketResult xmlns="x"><Name>b</Name>${
    contents.join("")
  }${more}</ListBucketResult>`;
}

/** Sends for as long as somebody reads. */
function sendForEver(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, "<Contents>");
  while (!response.destroyed && response.write(chunk));
  if (!response.destroyed) response.once("drain", () => sendForEver(response));
}

test("keys are as they were, in any way to write them, over several answers", async () => {
  const asked: (string | null)[] = [];
  answer = (response, query) => {
    const token = query.get("continuation-token");
    asked.push(token);
    response.end(
      token === null
        ? listOf(["n/k/a&amp;b", "n/k/it&#39;s &quot;x&quot;"], "t/1=")
        : listOf(["n/k/&amp;lt;&lt;&#x41;&apos;", "n/k/ü+%41"]),
    );
  };
  expect(await store().list(artifact, SCOPE)).toEqual([
    "n/k/a&b",
    `n/k/it's "x"`,
    "n/k/&lt;<A'",
    "n/k/ü+%41",
  ]);
  expect(asked).toEqual([null, "t/1="]);
});

test.each([
  [200, "gave an answer of more than 8388608 bytes"],
  [403, "Unexpected response code 403"],
])(
  "an answer without an end, with status %d, is refused",
  async (status, why) => {
    answer = (response) => {
      response.writeHead(status);
      sendForEver(response);
    };
    await expect(store().list(artifact, SCOPE)).rejects.toThrow(why);
    await expect(store().remove(artifact, SCOPE)).rejects.toThrow();
  },
);

test("the beginning of a long refusal says why", async () => {
  answer = (response) => {
    response.writeHead(403);
    response.end(
      `<Error><Code>Late</Code><Message>not today</Message>${" ".repeat(100_000)}</Error>`,
    );
  };
  await expect(store().list(artifact, SCOPE)).rejects.toThrow("repository: not today");
});

// The library takes hours to read these.
const COMMENTS = "<!--".repeat(2 ** 20);

test("a refusal full of comments without an end is read at once", async () => {
  answer = (response) => {
    response.writeHead(500);
    response.end(COMMENTS);
  };
  await expect(store().list(artifact, SCOPE)).rejects.toThrow("Unexpected response code 500");
});

test("an upload whose beginning is answered so is refused", async () => {
  answer = (response) => response.end(COMMENTS);
  const body = Readable.from([Buffer.alloc(17 * 1024 * 1024)]);
  await expect(store().write({ name: "a", s3: { key: "n/k" } }, body, SCOPE))
    .rejects.toThrow("gave an answer of more than 16384 bytes");
});

test("a list without an end is refused", async () => {
  let page = 0;
  const keys = Array.from({ length: 1_000 }, (_, at) => `n/k/${at}/${"y".repeat(4_000)}`);
  const text = listOf(keys, "more");
  answer = (response) => {
    page++;
    response.end(text);
  };
  await expect(store().list(artifact, SCOPE)).rejects.toThrow("keys of more than 33554432");
  expect(page).toBeLessThan(12);
});

test("a list of empty keys without an end is refused", async () => {
  let page = 0;
  const text = listOf(Array.from({ length: 150_000 }, () => ""), "more");
  answer = (response) => {
    page++;
    response.end(text);
  };
  const { port } = server.address() as AddressInfo;
  const s3 = { endpoint: `127.0.0.1:${port}`, insecure: true, bucket: "hostile", key: "k/" };
  await expect(store().list({ name: "a", s3 }, SCOPE)).rejects.toThrow(
    "keys of more than 33554432",
  );
  expect(page).toBe(7);
});

test("a list ends when nobody wants it any more", async () => {
  const stop = new AbortController();
  let page = 0;
  answer = (response) => {
    if (++page === 3) stop.abort(new Error("enough"));
    response.end(listOf([`n/k/${page}`], "more"));
  };
  await expect(store().list(artifact, SCOPE, stop.signal)).rejects.toThrow("enough");
  expect(page).toBe(3);
});

test("what is no list is told", async () => {
  answer = (response) => response.end("<html>a proxy</html>");
  await expect(store().list(artifact, SCOPE)).rejects.toThrow(
    'answered a list with "<html>a proxy</html>"',
  );
});
