/** Stored objects as text: the facts of `get`, the rows of `list`. */
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { CronWorkflow, Parameter } from "../spec/manifest.ts";
import { cronClock, nextDue, parseSchedule } from "../spec/cron_schedule.ts";
import { type Context, manifestVersion } from "./context.ts";
import { metadataOf } from "./manifests.ts";
import { asManifest, type Format, print, printObject, printTable, terminalText } from "./output.ts";
import type { Resource } from "./resources.ts";
import { age, moment } from "./times.ts";
import { factLines } from "./workflow_text.ts";

/** Prints one object in the format of `-o`. */
export async function printResource(
  context: Context,
  { kind }: Resource,
  object: JsonObject,
  format: Format | undefined,
): Promise<void> {
  if (format === "json" || format === "yaml") {
    return printObject(asManifest(object, kind, await manifestVersion(context)), format);
  }
  const now = context.now();
  const { name, namespace, creationTimestamp } = metadataOf(object);
  if (format === "name") return print(String(name));
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  const lines = factLines([
    ["Name", String(name)],
    ["Namespace", namespace === undefined ? undefined : String(namespace)],
    [
      "Created",
      typeof creationTimestamp === "string" ? moment(creationTimestamp, now) : undefined,
    ],
    ...("workflowSpec" in spec ? cronFacts(object as unknown as CronWorkflow, now) : []),
  ]);
  for (const line of lines) print(line);
}

function cronFacts(cron: CronWorkflow, now: number): [string, string | undefined][] {
  const { spec, status } = cron;
  const next = nextRun(cron, now);
  return [
    ["Schedules", (cron.spec.schedules ?? []).join(",")],
    ["Suspended", String(spec.suspend ?? false)],
    ["Timezone", spec.timezone],
    ["StartingDeadlineSeconds", spec.startingDeadlineSeconds?.toString()],
    ["ConcurrencyPolicy", spec.concurrencyPolicy],
    ["StopStrategy", spec.stopStrategy?.expression],
    ["LastScheduledTime", status?.lastScheduledTime ? moment(status.lastScheduledTime, now) : ""],
    ["NextScheduledTime", next === undefined ? "" : moment(new Date(next).toISOString(), now)],
    ["Active Workflows", (status?.active ?? []).map((one) => String(one["name"])).join(", ")],
    ["Phase", status?.phase],
    ...(status?.conditions ?? []).map(({ type, status: state, message }): [string, string] => [
      `Condition ${type}`,
      message || state,
    ]),
    ...parameterFacts(spec.workflowSpec.arguments?.parameters),
  ];
}

/** What its workflows are given. */
function parameterFacts(parameters: readonly Parameter[] = []): [string, string][] {
  const known = parameters.filter(({ value }) => value !== undefined);
  if (known.length === 0) return [];
  return [
    ["Workflow Parameters", " "],
    ...known.map(({ name, value = "" }): [string, string] => [`  ${name}`, terminalText(value)]),
  ];
}

/** When it runs next, epoch ms; undefined when it never does, or the schedules can't be read. */
function nextRun(cron: CronWorkflow, now: number): number | undefined {
  if (cron.spec.suspend) return undefined;
  const times = (cron.spec.schedules ?? []).flatMap((text) => {
    try {
      return nextDue(parseSchedule(text), now, cronClock(cron)) ?? [];
    } catch {
      return [];
    }
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Prints the table, documents or names of a list of one kind. */
export async function printResources(
  context: Context,
  resource: Resource,
  items: JsonObject[],
  look: { format: Format | undefined; namespaces: boolean; heads: boolean },
): Promise<void> {
  const { format, namespaces } = look;
  const now = context.now();
  if (format === "json" || format === "yaml") {
    const version = await manifestVersion(context);
    return printObject(items.map((item) => asManifest(item, resource.kind, version)), format);
  }
  const nameOf = (item: JsonObject) => String(metadataOf(item)["name"]);
  if (format === "name") return items.forEach((item) => print(nameOf(item)));
  const isCron = resource.kind === "CronWorkflow";
  if (isCron && items.length === 0) return print("No cron workflows found");
  const head = [
    ...(namespaces && resource.namespaced ? ["NAMESPACE"] : []),
    "NAME",
    ...(isCron ? ["AGE", "LAST RUN", "NEXT RUN", "SCHEDULES", "TIMEZONE", "SUSPENDED"] : []),
    ...(format === "wide" && !isCron ? ["AGE"] : []),
  ];
  const rows = items.map((item) => {
    const { creationTimestamp, namespace } = metadataOf(item);
    const created = typeof creationTimestamp === "string" ? creationTimestamp : undefined;
    return [
      ...(namespaces && resource.namespaced ? [String(namespace)] : []),
      nameOf(item),
      ...(isCron ? cronCells(item as unknown as CronWorkflow, created, now) : []),
      ...(format === "wide" && !isCron ? [age(created, now)] : []),
    ];
  });
  printTable(look.heads ? head : undefined, rows);
}

function cronCells(
  cron: CronWorkflow,
  created: string | undefined,
  now: number,
): string[] {
  const { spec, status } = cron;
  const next = nextRun(cron, now);
  return [
    age(created, now),
    age(status?.lastScheduledTime, now),
    next === undefined ? "-" : age(new Date(2 * now - next).toISOString(), now),
    (cron.spec.schedules ?? []).join(", "),
    spec.timezone ?? "",
    String(spec.suspend ?? false),
  ];
}
