/** Routes of logs. */
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import { parseRequestTime } from "../../expr/values/request_time.ts";
import { workflowLogs } from "../../service/logs/logs.ts";
import { LOG_OPTIONS } from "../requests.ts";
import { type Call, param, type Route, streaming } from "../route.ts";
import { mapStream, type Messages } from "../stream.ts";
import { workflowRef } from "./shared_options.ts";

const ONE = "/api/v1/workflows/{namespace}/{name}";
const tag = "workflows";

interface LogQueryValues {
  grep?: string;
  selector?: string;
  "logOptions.container"?: string;
  "logOptions.follow"?: boolean;
  "logOptions.sinceSeconds"?: number;
  "logOptions.sinceTime"?: string;
  "logOptions.sinceTime.seconds"?: number;
  "logOptions.timestamps"?: boolean;
  "logOptions.tailLines"?: number;
  "logOptions.limitBytes"?: number;
}

async function openLog(
  call: Omit<Call, "query"> & { query: LogQueryValues },
  podName: string | undefined,
): Promise<AsyncIterable<Messages>> {
  const { query } = call;
  checkNumbers(query);
  const request = defined({
    podName,
    grep: query.grep,
    selector: query.selector,
    container: query["logOptions.container"] || undefined,
    follow: query["logOptions.follow"],
    timestamps: query["logOptions.timestamps"],
    sinceMs: logStart(query, call.service.clock.now()),
    tailLines: query["logOptions.tailLines"],
    limitBytes: query["logOptions.limitBytes"],
  });
  const entries = await workflowLogs(
    call.service,
    call.caller,
    workflowRef(call),
    request,
    call.signal,
  );
  return mapStream(entries, ({ content, podName }) => ({ content, podName }));
}

/** @throws {Problem} InvalidArgument */
function checkNumbers(query: LogQueryValues): void {
  const names = [
    "logOptions.limitBytes",
    "logOptions.sinceSeconds",
    "logOptions.tailLines",
  ] as const;
  for (const name of names) {
    const value = query[name];
    if (value !== undefined && value < 0) throw invalid(`${name} must be at least 0, not ${value}`);
  }
}

/** Epoch ms of the oldest line that is wanted. */
function logStart(query: LogQueryValues, nowMs: number): number | undefined {
  const seconds = query["logOptions.sinceSeconds"];
  if (seconds !== undefined) return nowMs - seconds * 1000;
  const epochSeconds = query["logOptions.sinceTime.seconds"];
  if (epochSeconds !== undefined) return epochSeconds * 1000;
  const text = query["logOptions.sinceTime"] ?? "";
  return text === "" ? undefined : parseRequestTime(text);
}

/** Every route of logs. */
export const WORKFLOW_LOG_ROUTES: readonly Route[] = [
  streaming({
    method: "GET",
    path: `${ONE}/log`,
    operation: "WorkflowService_WorkflowLogs",
    tag,
    summary: "Log lines of a workflow's steps",
    query: {
      ...LOG_OPTIONS,
      podName: "string",
      grep: "string",
      selector: "string",
      fields: "string",
    },
    answer: { type: "logLine" },
    open: (call) => openLog(call, call.query.podName),
  }),
  streaming({
    method: "GET",
    path: `${ONE}/{podName}/log`,
    operation: "WorkflowService_PodLogs",
    tag,
    summary: "Log lines of one step; use the route above with `podName`",
    query: { ...LOG_OPTIONS, grep: "string", selector: "string", fields: "string" },
    answer: { type: "logLine" },
    open: (call) => openLog(call, param(call, "podName")),
  }),
];
