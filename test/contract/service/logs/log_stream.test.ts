/** Logs that are followed through a real server: across steps, live, with the pod of each line. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";

const step = (name: string, source: string) => ({
  name,
  script: { image: "x", command: ["sh"], source },
});
/** Two steps with a pause in between that the test ends, then a last one. */
const SPEC = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [
        [{ name: "one", template: "one" }],
        [{ name: "pause", template: "pause" }],
        [{ name: "two", template: "two" }],
      ],
    },
    step("one", "echo first; echo second >&2"),
    { name: "pause", suspend: {} },
    step("two", "for i in 1 2 3; do echo line $i; done"),
  ],
};

let folder: string;
let server: ServerProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-logs-"));
  server = await startServer([`--store=sqlite:${folder}`, "--executor=process"]);
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a followed log goes on from step to step and ends with the workflow, in both framings", async () => {
  const path = `${server.url}/api/v1/workflows/default`;
  const workflow = { metadata: { name: "logged" }, spec: SPEC };
  await (await fetch(path, { method: "POST", body: JSON.stringify({ workflow }) })).text();
  const follow = async (accept: string) => {
    const query = "logOptions.container=main&logOptions.follow=true";
    const response = await fetch(`${path}/logged/log?${query}`, { headers: { accept } });
    expect(response.status).toBe(200);
    return response;
  };
  const lines = await follow("application/json");
  const events = await follow("text/event-stream");
  const reader = lines.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  // The first step's lines come while the workflow waits.
  while (!text.includes("second")) {
    const { value, done } = await reader?.read() ?? {};
    if (done !== false) throw new Error(`The log ended with ${JSON.stringify(text)}`);
    text += value;
  }
  expect(text).not.toContain("line 1");
  // The end of the step comes after its lines: if resumed too early, the workflow would wait for ever.
  const selector = JSON.stringify({ nodeFieldSelector: "displayName=pause" });
  for (let isResumed = false; !isResumed;) {
    const answer = await fetch(`${path}/logged/resume`, { method: "PUT", body: selector });
    await answer.text();
    isResumed = answer.ok;
  }
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += next.value;
  }
  const entries = text.trim().split("\n").map((line) => JSON.parse(line).result);
  expect(entries.map(({ content }) => content).sort()).toEqual([
    "first",
    "line 1",
    "line 2",
    "line 3",
    "second",
  ]);
  for (const { content, podName } of entries) {
    const template = content.startsWith("line") ? "two" : "one";
    expect(podName).toMatch(new RegExp(`^logged-${template}-[0-9]+$`));
  }
  const frames = (await events.text()).split("\n").filter((line) => line.length > 5);
  expect(frames.map((frame) => JSON.parse(frame.replace(/^data: /, "")).result)).toHaveLength(5);
  const whole = await (await fetch(`${path}/logged/log?grep=line&logOptions.tailLines=2`)).text();
  expect(whole.trim().split("\n").map((line) => JSON.parse(line).result.content)).toEqual([
    "line 2",
    "line 3",
  ]);
});

test.each(["tailLines", "limitBytes", "sinceSeconds"])("a negative %s is refused", async (name) => {
  const path = `${server.url}/api/v1/workflows/default/logged/log`;
  const response = await fetch(`${path}?logOptions.container=main&logOptions.${name}=-5`);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { message: `logOptions.${name} must be at least 0, not -5` },
  });
});
