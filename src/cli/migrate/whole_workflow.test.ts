import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { isFinished, wholeWorkflow } from "./whole_workflow.ts";

const nodes = { n: { id: "n" } };
const workflow = (status: object) => ({ metadata: { uid: "u" }, status }) as never;

test("nodes are unpacked, or fetched by uid and version", async () => {
  const compressedNodes = gzipSync(JSON.stringify(nodes)).toString("base64");
  expect(await wholeWorkflow(workflow({ phase: "Failed", compressedNodes })))
    .toEqual(workflow({ phase: "Failed", nodes }));
  const asked: string[] = [];
  const offloaded = workflow({ offloadNodeStatusVersion: "fnv:1" });
  const fetched = await wholeWorkflow(offloaded, (...key) => {
    asked.push(...key);
    return Promise.resolve(nodes as never);
  });
  expect(fetched).toEqual(workflow({ nodes }));
  expect(asked).toEqual(["u", "fnv:1"]);
});

test("the archive has all nodes, and still names their version", async () => {
  const status = { nodes, offloadNodeStatusVersion: "fnv:1" };
  expect(await wholeWorkflow(workflow(status))).toEqual(workflow({ nodes }));
});

test("nodes out of reach are an error, and so is what does not unpack", async () => {
  const offloaded = workflow({ offloadNodeStatusVersion: "fnv:1" });
  await expect(wholeWorkflow(offloaded)).rejects.toThrow("--archive");
  await expect(wholeWorkflow(offloaded, () => Promise.resolve(undefined))).rejects
    .toThrow("no longer in the database");
  await expect(wholeWorkflow(workflow({ compressedNodes: "AAAA" }))).rejects
    .toThrow("status.compressedNodes cannot be read: ");
  const bomb = gzipSync(Buffer.alloc(129 * 2 ** 20, " ")).toString("base64");
  await expect(wholeWorkflow(workflow({ compressedNodes: bomb }))).rejects.toThrow();
});

test("only what has ended is finished", () => {
  expect(isFinished(workflow({ phase: "Error", finishedAt: "2026-01-01T00:00:00Z" }))).toBe(true);
  expect(isFinished(workflow({ phase: "Running", finishedAt: null }))).toBe(false);
  expect(isFinished(workflow({ phase: "Succeeded" }))).toBe(false);
});
