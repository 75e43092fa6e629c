/** Events: send, test, list and replay. */
import type { Command } from "commander";
import { errorText } from "../base/error_text.ts";
import type { JsonObject } from "../base/json.ts";
import { type Context, contextOf, example, UsageError, wholeNumber } from "./context.ts";
import { finiteOnly, readSource } from "./manifests.ts";
import {
  cellText,
  outputOption,
  type OutputOptions,
  print,
  printObject,
  printTable,
  say,
} from "./output.ts";

/** Most bindings of one event that a table names. */
const MAX_NAMED = 5;

/** Registers `event`. */
export function addEventCommands(program: Command): void {
  const event = program.command("event").description("send, test, list and replay events");
  addSend(event, "send", "post an event");
  addSend(event, "test", "say what an event would do, without doing it");
  addList(event);
  addReplay(event);
}

interface SendOptions {
  data?: string;
  file?: string;
  idempotencyKey?: string;
}

function addSend(event: Command, name: "send" | "test", description: string): void {
  const sending = event.command(`${name} [discriminator]`).description(description)
    .option("-d, --data <json>", "the event's JSON")
    .option("-f, --file <file>", "file with the event's JSON; - is standard input")
    .addHelpText(...example(`sluice event ${name} build --data '{"number": 7}'`))
    .action(
      async (discriminator = "", options: SendOptions, command: Command) => {
        const { client, namespace } = contextOf(command);
        if (discriminator.includes("/")) {
          // It is the last part of a path.
          throw new UsageError(
            `A discriminator has no slash, received ${JSON.stringify(discriminator)}`,
          );
        }
        const answer = await client.call("EventService_ReceiveEvent", {
          params: { namespace, discriminator },
          query: name === "test" ? { dryRun: true } : {},
          body: await eventBody(options),
          idempotencyKey: options.idempotencyKey,
        });
        if (name === "test") printObject(answer, "yaml");
        else say("event accepted");
      },
    );
  // What only looks has no effect that could come twice.
  if (name === "test") return;
  sending.option(
    "--idempotency-key <key>",
    "events with the same key and content have one effect",
  );
}

async function eventBody({ data, file }: SendOptions): Promise<JsonObject> {
  if (data !== undefined && file !== undefined) {
    throw new UsageError("Give --data or --file, not both");
  }
  const text = data ?? (file === undefined ? undefined : await readSource(file));
  if (text === undefined) {
    throw new UsageError("Give the event's JSON with --data or --file (- is standard input)");
  }
  try {
    return JSON.parse(text, finiteOnly) as JsonObject;
  } catch (error) {
    const advice = text.startsWith("@") ? " (--file names a file)" : "";
    throw new UsageError(`The event is not JSON: ${errorText(error)}${advice}`);
  }
}

interface ListOptions extends OutputOptions {
  state?: string;
  limit: number;
}

function addList(event: Command): void {
  event.command("list [id]").description("deliveries: what became of accepted events")
    .option("--state <state>", "queued, done or dead")
    .option("--limit <number>", "most deliveries to list", wholeNumber("--limit"), 50)
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice event list --state dead"))
    .action(async (id: string | undefined, options: ListOptions, command: Command) => {
      const context = contextOf(command);
      if (id === undefined) await listDeliveries(context, options);
      else await showDelivery(context, id, options);
    });
}

async function showDelivery(
  { client, namespace }: Context,
  id: string,
  { output }: OutputOptions,
): Promise<void> {
  const delivery = await client.call("EventService_GetEventDelivery", {
    params: { namespace, id },
  });
  printObject(delivery, output === "json" ? "json" : "yaml");
}

async function listDeliveries(
  { client, namespace }: Context,
  { state, limit, output }: ListOptions,
): Promise<void> {
  const items: JsonObject[] = [];
  let next: string | undefined;
  do {
    const answer = await client.call("EventService_ListEventDeliveries", {
      params: { namespace },
      query: { state, limit: limit - items.length, continue: next },
    });
    items.push(...(answer["items"] ?? []) as JsonObject[]);
    // A page is shorter than what is asked for if that is much.
    next = (answer["metadata"] as { continue?: string } | undefined)?.continue;
  } while (next && items.length < limit);
  if (output === "json" || output === "yaml") return printObject(items, output);
  printTable(
    ["ID", "STATE", "DISCRIMINATOR", "RECEIVED", "BINDINGS"],
    items.map((item) => [
      String(item["id"]),
      String(item["state"]),
      cellText(String(item["discriminator"] ?? "")),
      String(item["receivedAt"] ?? ""),
      bindingsText((item["bindings"] ?? []) as JsonObject[]),
    ]),
  );
}

/** What bindings did with an event, on one line. `event list ID` shows everything. */
function bindingsText(bindings: JsonObject[]): string {
  const busy = bindings.filter(({ outcome }) => outcome !== "not-matched");
  const named = busy.slice(0, MAX_NAMED).map(({ binding, workflow, outcome }) =>
    cellText(`${binding}=${workflow ?? outcome}`)
  );
  if (busy.length > MAX_NAMED) named.push(`and ${busy.length - MAX_NAMED} more`);
  const others = bindings.length - busy.length;
  if (others > 0) named.push(`(${others} not matched)`);
  return named.join(" ");
}

interface ReplayOptions {
  all?: boolean;
  discriminator?: string;
}

function addReplay(event: Command): void {
  event.command("replay [ids...]").description("put dead letters back into the queue")
    .option("--all", "every dead letter of the namespace")
    .option("--discriminator <text>", "with --all: only events sent to it")
    .addHelpText(...example("sluice event replay --all"))
    .action(async (ids: string[], options: ReplayOptions, command: Command) => {
      const context = contextOf(command);
      if (ids.length > 0) await replay(context, ids);
      else if (options.all) await replayAll(context, options.discriminator);
      else throw new UsageError("Name deliveries, or use --all");
    });
}

async function replay({ client, namespace }: Context, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await client.call("EventService_ReplayEventDelivery", { params: { namespace, id } });
    print(`${id} replayed`);
  }
}

async function replayAll(
  { client, namespace }: Context,
  discriminator: string | undefined,
): Promise<void> {
  const answer = await client.call("EventService_ReplayEventDeliveries", {
    params: { namespace },
    body: { discriminator },
  });
  print(`${answer["replayed"] ?? 0} replayed`);
}
