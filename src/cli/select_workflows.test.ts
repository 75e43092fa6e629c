import { Command } from "commander";
import { expect, test } from "vitest";
import type { Workflow } from "../spec/manifest.ts";
import type { Context } from "./context.ts";
import {
  addFilters,
  filteredWorkflows,
  targets,
  type WorkflowFilters,
} from "./select_workflows.ts";

test("workflows of several pages are shown as those of one page: unfinished ones first", async () => {
  const at = (minute: number) => `2026-11-30T10:0${minute}:00Z`;
  const workflow = (name: string, created: number, finished?: number): Workflow => ({
    metadata: { name, creationTimestamp: at(created) },
    spec: {},
    ...(finished !== undefined && { status: { startedAt: at(created), finishedAt: at(finished) } }),
  });
  // Pages follow the start of the workflows.
  const pages = [
    [workflow("waits", 4), workflow("short", 3, 4)],
    [workflow("long", 2, 5), workflow("older waits", 1)],
  ];
  const call = (_operation: string, { query }: { query: Record<string, string | undefined> }) => {
    const at = Number(query["listOptions.continue"] ?? 0);
    const next = at + 1 < pages.length ? { continue: String(at + 1) } : {};
    return Promise.resolve({ metadata: next, items: pages[at] });
  };
  const context = { client: { call }, now: () => Date.parse(at(9)) } as unknown as Context;
  const shown = await filteredWorkflows(context, "default", { chunkSize: 2 });
  expect(shown.map(({ metadata }) => metadata.name)).toEqual([
    "waits",
    "older waits",
    "long",
    "short",
  ]);
});

test("a selector adds to the workflows that are named, and each is chosen once", async () => {
  const items = ["b", "c"].map((name) => ({ metadata: { name, namespace: "default" }, spec: {} }));
  const context = {
    namespace: "default",
    now: () => 0,
    client: { call: () => Promise.resolve({ metadata: {}, items }) },
  } as unknown as Context;
  const chosen = async (names: string[], filters: WorkflowFilters) =>
    (await targets(context, names, filters)).map(({ name }) => name);
  expect(await chosen(["a", "b", "a"], {})).toEqual(["a", "b"]);
  expect(await chosen(["a", "b"], { selector: "team=x" })).toEqual(["a", "b", "c"]);
  expect(await chosen([], { selector: "team=x" })).toEqual(["b", "c"]);
});

test("phases may be separated by commas or given one by one", () => {
  const command = addFilters(new Command());
  command.parse(["--status", "Failed,Error", "--status", "Pending"], { from: "user" });
  expect(command.opts()["status"]).toBe("Failed,Error,Pending");
});
