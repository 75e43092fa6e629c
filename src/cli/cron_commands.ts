/** Commands that only cron workflows have: suspend, resume, backfill. */
import { type Command, Option } from "commander";
import type { JsonObject } from "../base/json.ts";
import { timeOf } from "../base/time_of.ts";
import { ClientError } from "../client/transport.ts";
import { cronClock, nextDue, parseSchedule } from "../spec/cron_schedule.ts";
import type { CronWorkflow } from "../spec/manifest.ts";
import { backfillLabel, scheduledTimeAnnotation } from "../spec/naming.ts";
import {
  type Context,
  contextOf,
  example,
  labelPrefix,
  UsageError,
  wholeNumber,
} from "./context.ts";
import { exists, waitFor } from "./follow.ts";
import { print, say } from "./output.ts";

const SWITCHES = {
  suspend: { operation: "CronWorkflowService_SuspendCronWorkflow", done: "suspended" },
  resume: { operation: "CronWorkflowService_ResumeCronWorkflow", done: "resumed" },
} as const;

/** A workflow of that name is there. */
const EXISTS = 409;

interface BackfillOptions {
  start: string;
  end?: string;
  name?: string;
  argname?: string;
  parallel?: boolean;
  maxWorkflowCount: number;
  maxworkflowcount?: number;
}

/** Registers the commands in the group `cron`. */
export function addCronCommands(group: Command): void {
  for (const [verb, { operation, done }] of Object.entries(SWITCHES)) {
    group.command(`${verb} <names...>`)
      .description(verb === "suspend" ? "start no more workflows" : "start workflows again")
      .addHelpText(...example(`sluice cron ${verb} nightly`))
      .action(async (names: string[], _options: unknown, command: Command) => {
        const context = contextOf(command);
        for (const name of names) {
          const named = { name, namespace: context.namespace };
          await context.client.call(operation, { params: named, body: named });
          print(`CronWorkflow '${name}' ${done}`);
        }
      });
  }
  group.command("backfill <name>").description("start the workflows of scheduled times in the past")
    .requiredOption("--start <time>", "first time (RFC 3339)")
    .option("--end <time>", "last time (default: now)")
    .option("--name <prefix>", "beginning of the names instead of NAME-backfill")
    .option("--argname <argument>", "argument that gets the scheduled time")
    .option("--parallel", "start all at once instead of one after another")
    .option(
      "--max-workflow-count <number>",
      "refuse to start more workflows than this",
      wholeNumber("--max-workflow-count"),
      1000,
    )
    .addOption(
      new Option("--maxworkflowcount <number>", "same as --max-workflow-count")
        .argParser(wholeNumber("--maxworkflowcount")).hideHelp(),
    )
    .addHelpText(...example(
      "sluice cron backfill nightly --start 2026-01-01T00:00:00Z --end 2026-01-07T00:00:00Z",
    ))
    .action(async (name: string, options: BackfillOptions, command: Command) =>
      await backfill(contextOf(command), name, options)
    );
}

async function backfill(context: Context, name: string, options: BackfillOptions): Promise<void> {
  const { namespace } = context;
  const cron = await context.client.call("CronWorkflowService_GetCronWorkflow", {
    params: { namespace, name },
  });
  const times = dueBetween(
    cron,
    timeGiven("--start", options.start),
    options.end === undefined ? context.now() : timeGiven("--end", options.end),
    options.maxworkflowcount ?? options.maxWorkflowCount,
  );
  if (times.length === 0) say(`${name} has no scheduled time between --start and --end`);
  const prefix = options.name ?? `${name}-backfill`;
  const naming = { labelPrefix: await labelPrefix(context) };
  const annotation = scheduledTimeAnnotation(naming);
  for (const at of times) {
    const scheduled = new Date(at).toISOString().replace(".000Z", "Z");
    // The same time gives the same name: a backfill that is repeated after an interruption starts no workflow twice, and goes on.
    const made = `${prefix}-${at / 1000}`;
    const submitOptions = {
      name: made,
      annotations: `${annotation}=${scheduled}`,
      labels: `${backfillLabel(naming)}=${name}`,
      ...(options.argname !== undefined && { parameters: [`${options.argname}=${scheduled}`] }),
    };
    // One that has moved to the archive no longer holds its name.
    const isThere = await exists(context.client, namespace, made) ||
      !await submitted(context, name, submitOptions);
    if (isThere) say(`workflow ${made} for ${scheduled} is there already`);
    else print(`workflow ${made} created for ${scheduled}`);
    if (!options.parallel) await waitFor(context, namespace, made, false);
  }
}

/** Submits one workflow of a cron workflow. @returns false when its name is taken */
async function submitted(
  { client, namespace }: Context,
  cron: string,
  submitOptions: JsonObject,
): Promise<boolean> {
  const resource = { resourceKind: "CronWorkflow", resourceName: cron };
  try {
    await client.call("WorkflowService_SubmitWorkflow", {
      params: { namespace },
      body: { namespace, ...resource, submitOptions },
    });
    return true;
  } catch (error) {
    if (!(error instanceof ClientError) || error.status !== EXISTS) throw error;
    return false;
  }
}

function timeGiven(option: string, text: string): number {
  const at = timeOf(text);
  if (at === undefined) {
    throw new UsageError(`${option} takes a time such as 2026-01-31T12:00:00Z, received ${text}`);
  }
  return at;
}

/** The scheduled times from start to end, inclusive, in order. @throws {UsageError} when there are more than `most` */
function dueBetween(
  cron: CronWorkflow,
  startMs: number,
  endMs: number,
  most: number,
): number[] {
  const clock = cronClock(cron);
  const times = new Set<number>();
  for (const text of cron.spec.schedules ?? []) {
    const schedule = parseSchedule(text);
    for (let at = nextDue(schedule, startMs - 1, clock); at !== undefined && at <= endMs;) {
      times.add(at);
      if (times.size > most) {
        throw new UsageError(
          `More than ${most} workflows would be started; raise --max-workflow-count to allow it`,
        );
      }
      at = nextDue(schedule, at, clock);
    }
  }
  return [...times].sort((a, b) => a - b);
}
