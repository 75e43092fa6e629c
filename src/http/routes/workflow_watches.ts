/** Routes of watches: workflows as they change, and the events about them. */
import { writeJson } from "../../base/json_text.ts";
import { watchEvents } from "../../service/events/stream/open_stream.ts";
import { type WatchEvent, watchWorkflows } from "../../service/workflows/watch.ts";
import { parseProjection, project, projectionBelow } from "../projection.ts";
import { LIST_OPTIONS } from "../query.ts";
import { kindSchema } from "../requests.ts";
import { type Route, streaming } from "../route.ts";
import { FrameText, mapStream } from "../stream.ts";
import { showsNodes, workflowWire } from "../wire.ts";
import { watchRequest } from "./shared_options.ts";

const tag = "workflows";

/** Every route that watches workflows. */
export const WORKFLOW_WATCH_ROUTES: readonly Route[] = [
  streaming({
    method: "GET",
    path: "/api/v1/workflow-events/{namespace}",
    operation: "WorkflowService_WatchWorkflows",
    tag,
    summary: "Watch workflows: what exists first, then every change",
    query: { ...LIST_OPTIONS, fields: "string" },
    answer: { type: "change", schema: kindSchema("Workflow") },
    open: async (call) => {
      const events = await watchWorkflows(
        call.service,
        call.caller,
        watchRequest(call),
        call.signal,
      );
      const frameOf = frameWriter(call.query.fields);
      return mapStream(events, (some) => some.map(frameOf));
    },
  }),
  streaming({
    method: "GET",
    path: "/api/v1/stream/events/{namespace}",
    operation: "WorkflowService_WatchEvents",
    tag,
    summary: "Watch events about workflows",
    query: LIST_OPTIONS,
    open: (call) => watchEvents(call.service, call.caller, watchRequest(call), call.signal),
  }),
];

/** Writes the frames of a watch. The same frame is written once for all watchers. */
function frameWriter(fields: string | undefined): (event: WatchEvent) => FrameText {
  const projection = parseProjection(fields);
  if (projection === undefined) {
    return (event) => {
      const object = event.textOf((workflow) => writeJson(workflowWire(workflow)));
      return new FrameText(`{"result":{"type":"${event.type}","object":${object}}}`);
    };
  }
  const below = projectionBelow(projection, "result", "object");
  const isWithoutNodes = !showsNodes(projection, "result", "object");
  return (event) => {
    const { type } = event;
    const text = event.excerptOf({
      key: `${type} ${fields}`,
      isWithoutNodes,
      write(workflow) {
        const frame = { result: { type, object: workflowWire(workflow, below) } };
        return writeJson(project(frame, projection));
      },
    });
    return new FrameText(text);
  };
}
