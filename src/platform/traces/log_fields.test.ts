import { expect, test } from "vitest";
import { createLogger } from "../log.ts";
import { addFields } from "../log.ts";
import { spanIdOf } from "./ids.ts";
import { traceFields } from "./log_fields.ts";
import type { NotedTrace } from "./span.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";

test("lines about actors, tasks, events and requests say their trace; others say none", () => {
  const noted: NotedTrace = { traceId: TRACE, run: 3, isSampled: true };
  const known = new Set(["wf/default/a", "uid", "event"]);
  const end = addFields(traceFields({ find: (name) => known.has(name) ? noted : undefined }));
  const lines: Record<string, unknown>[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(JSON.parse(line)) });
  log.info({ actor: "wf/default/a" }, "x");
  log.info({ task: "uid/node/1" }, "x");
  log.info({ event: "event" }, "x");
  log.info({ traceparent: `00-${TRACE}-b7ad6b7169203331-01`, requestId: "r" }, "x");
  log.info({ traceparent: "odd" }, "x");
  log.info({ actor: "wf/default/b" }, "x");
  log.info("x");
  end();
  log.info({ actor: "wf/default/a" }, "x");
  const told = lines.map(({ trace_id, span_id, traceparent }) => [trace_id, span_id, traceparent]);
  expect(told).toEqual([
    [TRACE, undefined, undefined],
    [TRACE, spanIdOf("uid", "node", 3), undefined],
    [TRACE, undefined, undefined],
    [TRACE, "b7ad6b7169203331", undefined],
    ...Array.from({ length: 4 }, () => [undefined, undefined, undefined]),
  ]);
});
