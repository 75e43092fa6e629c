import process from "node:process";
import { expect, test, vi } from "vitest";
import { createClient } from "../client/client.ts";
import { waitFor } from "./follow.ts";

const WATCHED = JSON.stringify({
  result: { type: "ADDED", object: { metadata: { name: "job" }, status: { phase: "Running" } } },
});

test("a wait whose connection broke ends when its workflow was deleted meanwhile", async () => {
  const asked: string[] = [];
  const fetchIt: typeof fetch = (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    asked.push(pathname);
    return Promise.resolve(
      pathname.includes("workflow-events")
        ? new Response(`${WATCHED}\n`)
        : Response.json({ code: 5, message: "not found" }, { status: 404 }),
    );
  };
  const client = createClient({ server: "http://server", fetch: fetchIt });
  const context = { client, namespace: "ns", now: () => 0 };
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  expect(await waitFor(context, "ns", "job", true)).toBe(1);
  expect(write.mock.lastCall).toEqual(["Error: workflow job was deleted\n"]);
  write.mockRestore();
  expect(asked).toEqual(["/api/v1/workflow-events/ns", "/api/v1/workflows/ns/job"]);
});
