/** URLs in the place of marks: of those that the workflow itself wrote, and of no others. */
import { expect, test } from "vitest";
import { callbackKey } from "../../auth/callback_token.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { type CallbackMark, writeMark } from "../../spec/callback.ts";
import { CallbackUrls } from "./urls.ts";

const UID = "3f1c0000-0000-4000-8000-000000000000";
const SECRET = "s3cret";
const KEY = callbackKey(Buffer.alloc(32, 7));
const URLS = new CallbackUrls({
  keys: { signing: () => Promise.resolve(KEY), accepted: () => Promise.resolve([KEY]) },
  base: "http://sluice",
  clock: { now: () => Date.UTC(2026, 0, 1) },
});
const MARK: CallbackMark = {
  form: "resume",
  workflowUid: UID,
  nodeName: "wf[1].wait's (a)",
  seconds: 60,
};

function taskWith(text: string, callbackSecret: string | undefined = SECRET): TaskSpec {
  return {
    namespace: "ns",
    workflow: "wf",
    workflowUid: UID,
    template: { http: { url: "http://jobs", body: text } },
    callbackSecret,
  } as unknown as TaskSpec;
}

async function filled(text: string, secret?: string): Promise<string> {
  const task = await URLS.fill(taskWith(text, secret));
  expect(task.callbackSecret).toBeUndefined();
  return task.template.http?.body ?? "";
}

test("a mark becomes a URL that is good for its step", async () => {
  const url = await filled(`{"to": "${writeMark(MARK, SECRET)}"}`);
  const [, token = ""] = /^\{"to": "http:\/\/sluice\/callback\/resume\/([^"]+)"\}$/.exec(url) ?? [];
  expect(await URLS.check(token, "resume")).toMatchObject({ uid: UID, node: MARK.nodeName });
  await expect(URLS.check(token, "stop")).rejects.toThrow("no such callback");
});

test("whoever has a URL can't write a mark, nor change one", async () => {
  const mark = writeMark(MARK, SECRET);
  const other = writeMark({ ...MARK, nodeName: "wf[2].approve" }, SECRET);
  const sealOf = (text: string) => text.slice(-33);
  const forged = [
    writeMark(MARK, ""),
    writeMark(MARK, UID),
    writeMark({ ...MARK, nodeName: "wf[2].approve" }, "guess"),
    mark.slice(0, -33) + sealOf(other),
    mark.replace("callback:resume", "callback:stop"),
    mark.replace(";60;", ";61;"),
    mark.replace(/;[0-9a-f]{32}\)$/, ")"),
    writeMark({ ...MARK, workflowUid: "other" }, SECRET),
  ];
  // Beside a genuine one too, of the same step and time.
  for (const text of forged) {
    expect(await filled(text)).toBe(text);
    const both = await filled(`${text} ${mark}`);
    expect(both.startsWith(`${text} http://sluice/callback/resume/cb1`)).toBe(true);
  }
  // A task without a secret has no marks, whatever its text looks like.
  expect(await filled(writeMark(MARK, ""), "")).not.toContain("undefined");
});
