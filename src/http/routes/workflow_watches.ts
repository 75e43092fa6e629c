/** Routes of watches: workflows as they change, and the events about them. */
import { defined } from "../../base/defined.ts";
import { escapeMarkup, writeJson } from "../../base/json_text.ts";
import { Turns } from "../../platform/turns.ts";
import { watchEvents } from "../../service/events/stream/open_stream.ts";
import type { Excerpt } from "../../service/workflows/change.ts";
import { withWait } from "../../service/workflows/waits.ts";
import { type WatchEvent, watchWorkflows } from "../../service/workflows/watch.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { parseProjection, project, projectionBelow } from "../projection.ts";
import { LIST_OPTIONS } from "../query.ts";
import { kindSchema } from "../requests.ts";
import { type Route, streaming } from "../route.ts";
import { FrameText, mapStream } from "../stream.ts";
import { showsNodes, workflowText, workflowWire } from "../wire.ts";
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
    query: {
      ...LIST_OPTIONS,
      fields: "string",
      waiting: "bool",
      exactTimes: "bool",
      waits: "bool",
    },
    answer: { type: "change", schema: kindSchema("Workflow") },
    open: async (call) => {
      const { fields, waiting, exactTimes = false, waits = false } = call.query;
      const request = { ...watchRequest(call), ...defined({ waiting, exactTimes }) };
      const events = await watchWorkflows(call.service, call.caller, request, call.signal);
      const frameOf = frameWriter(fields, { exactTimes, waits });
      return mapStream(events, (some) => framesOf(some, frameOf));
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

/** So many small frames are made without a look at the clock: that costs as much as one of them. */
const FEW = 8;

/**
 * The frames of events. Those of large workflows, or of many, are made a little at a time: many watchers may each show
 * something else of the same change, or come back together.
 */
function framesOf(
  events: readonly WatchEvent[],
  frameOf: (event: WatchEvent) => FrameText,
): FrameText[] | Promise<FrameText[]> {
  return events.length > FEW || events.some(({ isLarge }) => isLarge)
    ? framesInTurns(events, frameOf)
    : events.map(frameOf);
}

async function framesInTurns(
  events: readonly WatchEvent[],
  frameOf: (event: WatchEvent) => FrameText,
): Promise<FrameText[]> {
  const turns = new Turns("watches");
  const frames: FrameText[] = [];
  for (const event of events) frames.push(await turns.do(() => frameOf(event)));
  return frames;
}

/** Makes the frames of a watch. With `fields`, the same frame is made and encoded once for all watchers. */
function frameWriter(
  fields: string | undefined,
  { exactTimes, waits }: { exactTimes: boolean; waits: boolean },
): (event: WatchEvent) => FrameText {
  const projection = parseProjection(fields);
  const form = `${exactTimes ? "exact" : ""} ${waits ? "waits" : ""}`;
  const shown = (workflow: Workflow, since: number | undefined) =>
    waits ? withWait(workflow, since) : workflow;
  if (projection === undefined) {
    const write = (workflow: Workflow, since?: number) =>
      escapeMarkup(workflowText(shown(workflow, since)));
    return (event) => {
      const object = exactTimes || waits
        ? event.excerptOf({ key: form, isWithoutNodes: false, exactTimes, write })
        : event.textOf(write);
      return new FrameText(`{"result":{"type":"${event.type}","object":${object}}}`);
    };
  }
  const below = projectionBelow(projection, "result", "object");
  const isWithoutNodes = !showsNodes(projection, "result", "object");
  const excerpt = (type: WatchEvent["type"]): Excerpt<FrameText> => ({
    key: `${form} ${type} ${fields}`,
    isWithoutNodes,
    exactTimes,
    write(workflow, since) {
      const frame = { result: { type, object: workflowWire(shown(workflow, since), below) } };
      return new FrameText(writeJson(project(frame, projection)));
    },
  });
  // Made once, because a key that is put together for each frame is also hashed for each.
  const excerpts = {
    ADDED: excerpt("ADDED"),
    MODIFIED: excerpt("MODIFIED"),
    DELETED: excerpt("DELETED"),
  };
  return (event) => event.excerptOf(excerpts[event.type]);
}
