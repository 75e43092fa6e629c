import { expect, test } from "vitest";
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
  await expect(waitFor(context, "ns", "job", true)).rejects.toThrow("workflow job was deleted");
  expect(asked).toEqual(["/api/v1/workflow-events/ns", "/api/v1/workflows/ns/job"]);
});
