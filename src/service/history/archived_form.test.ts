/** A large workflow comes out of the archive a little at a time, and as a small one does. */
import { expect, test } from "vitest";
import type { ArchivedWorkflow } from "../../archive/port.ts";
import { runToEnd } from "../../base/steps.ts";
import { loadSteps } from "../../engine/codec.ts";
import { viewSteps } from "../../engine/view.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { archivedSteps, storedSteps } from "./archived_form.ts";

const TIME = "2026-11-23T12:00:00Z";
const COUNT = 5_000;

/** A row with a loop of so many elements. @param past undefined: Argo Workflows has written it */
function rowOf(count: number, past: object | undefined): ArchivedWorkflow {
  const times = { phase: "Succeeded", startedAt: TIME, finishedAt: TIME };
  const nodeOf = (id: string, more: object) => ({ id, displayName: id, ...times, ...more });
  const children = Array.from({ length: count }, (_, at) => `a-${at}`);
  const element = (id: string, at: number) => [
    id,
    nodeOf(id, { name: `a[0].each(${at}:${at})`, type: "Skipped", boundaryID: "a" }),
  ];
  const metadata = { namespace: "n", name: "a", uid: "u" };
  const object = {
    metadata: { ...metadata, creationTimestamp: TIME, resourceVersion: "7" },
    spec: { entrypoint: "m", arguments: {}, templates: [{ name: "m", suspend: {} }] },
    status: {
      ...times,
      nodes: {
        a: nodeOf("a", { name: "a", type: "Steps", children }),
        ...Object.fromEntries(children.map(element)),
      },
      storedTemplates: { t: { name: "m", suspend: {} } },
    },
    ...(past !== undefined && { sluice: past }),
  };
  const at = Date.parse(TIME);
  return {
    ...metadata,
    phase: "Succeeded",
    labels: {},
    createdAt: at,
    finishedAt: at,
    edition: past === undefined ? 0 : 2,
    object: JSON.stringify(object),
  };
}

test.each([[{ retries: 0 }], [undefined]])("no step of it takes long (past: %j)", (past) => {
  const steps = storedSteps(rowOf(COUNT, past), STANDARD_NAMING);
  let count = 0;
  for (; steps.next().done !== true; count++);
  expect(count).toBeGreaterThan(25);
});

test.each([[10, { retries: 3, starts: { "a-1": 2 } }], [COUNT, {
  retries: 3,
  starts: { "a-1": 2 },
}], [
  COUNT,
  undefined,
]])("%i elements come out as they went in (past: %j)", (count, past) => {
  const row = rowOf(count, past);
  const { parts, version } = runToEnd(storedSteps(row, STANDARD_NAMING));
  expect(version).toBe("7");
  const state = runToEnd(loadSteps(parts));
  const { status } = runToEnd(viewSteps(state));
  const wanted = JSON.parse(row.object).status;
  expect(Object.keys(status?.nodes ?? {})).toHaveLength(count + 1);
  expect(status?.nodes?.["a-7"]).toMatchObject(wanted.nodes["a-7"]);
  expect(status?.storedTemplates).toMatchObject(wanted.storedTemplates);
  expect(state.header.retries ?? 0).toBe(past?.retries ?? 0);
});

test("a workflow keeps the milliseconds of its times in the archive", () => {
  const exact = "2026-11-23T12:00:00.342Z";
  const row = rowOf(10, { retries: 0 });
  const given = { ...row, object: row.object.replaceAll(`At":"${TIME}"`, `At":"${exact}"`) };
  const options = { naming: STANDARD_NAMING, indexParameters: new Set<string>() };
  const form = runToEnd(archivedSteps(runToEnd(storedSteps(given, STANDARD_NAMING)), options));
  if (form.row === undefined) throw new Error("it has not ended");
  const { parts } = runToEnd(storedSteps(form.row, STANDARD_NAMING));
  const state = runToEnd(loadSteps(parts));
  const times = (exactTimes: boolean) => {
    const { status } = runToEnd(viewSteps(state, { exactTimes }));
    return [status?.startedAt, status?.finishedAt, status?.nodes?.["a-3"]?.finishedAt];
  };
  expect(times(true)).toEqual([exact, exact, exact]);
  expect(times(false)).toEqual([TIME, TIME, TIME]);
});

test("a large object that is damaged has no parts", () => {
  const row = rowOf(COUNT, { retries: 0 });
  for (
    const object of [
      row.object.slice(0, -9),
      `[${row.object}]`,
      row.object.replace('"a-7":{', '"a-7":}'),
    ]
  ) {
    expect(runToEnd(storedSteps({ ...row, object }, STANDARD_NAMING)).parts).toEqual({});
  }
});
