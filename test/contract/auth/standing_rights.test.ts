/** A stream ends soon after its caller has lost the right to it. */
import { afterAll, expect, test } from "vitest";
import type { AccessRule } from "../../../src/auth/access_rules.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";
import { tokenCallers } from "../../support/token_callers.ts";

const CALLERS = tokenCallers(
  ["reader", "other"],
  `
rules:
  - { subjects: [other], namespaces: [team], resources: [workflows], verbs: [get, list, watch] }
  - { subjects: [reader], namespaces: [team], resources: [workflows], verbs: [get, list, watch] }
`,
);

let instance: Instance | undefined;
afterAll(() => instance?.stop());

test("a watch goes on until its caller may no longer watch", async () => {
  const { service, fetch } = instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    settings: { authRequired: true },
  });
  const { clock } = service;
  // A minute takes some milliseconds.
  Object.assign(service, {
    clock: {
      ...clock,
      after: (ms: number, run: () => void) => clock.after(ms === 60_000 ? 20 : ms, run),
    },
  });
  const watch = async (subject: string) => {
    const { body } = await fetch(
      new Request("http://127.0.0.1/api/v1/workflow-events/team", {
        headers: { authorization: CALLERS.tokenOf(subject) },
      }),
    );
    let isOver = false;
    const stream = body?.getReader();
    const ended = (async () => {
      while (stream !== undefined && !(await stream.read()).done);
      isOver = true;
    })();
    return { stream, ended, isOver: () => isOver };
  };
  const watches = [await watch("reader"), await watch("other")] as const;
  await clock.sleep(200);
  expect(watches.map(({ isOver }) => isOver())).toEqual([false, false]);
  (CALLERS.rules as AccessRule[]).pop();
  await watches[0].ended;
  await clock.sleep(100);
  expect(watches[1].isOver()).toBe(false);
  await watches[1].stream?.cancel();
});
