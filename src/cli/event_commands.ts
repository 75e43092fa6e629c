/** Events: send, test, list and replay. */
import type { Command } from "commander";
import type { JsonObject } from "../base/json.ts";
import { contextOf, example, UsageError, wholeNumber } from "./context.ts";
import { readSource } from "./manifests.ts";
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

/** What bindings made of an event, on one line; `event list ID` has all of it. */
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

/** Registers `event`. */
export function addEventCommands(program: Command): void {
  const event = program.command("event").description("send, test, list and replay events");
  const body = async (options: { data?: string; file?: string }): Promise<JsonObject> => {
    const text = options.data ??
      (options.file === undefined ? undefined : await readSource(options.file));
    if (text === undefined) {
      throw new UsageError("Give the event's JSON with --data or --file (- is standard input)");
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new UsageError(`The event is not JSON: ${(error as Error).message}`);
    }
  };
  for (
    const [name, description] of [["send", "post an event"], [
      "test",
      "say what an event would do, without doing it",
    ]] as const
  ) {
    event.command(`${name} [discriminator]`).description(description)
      .option("-d, --data <json>", "the event's JSON")
      .option("-f, --file <file>", "file with the event's JSON, - is standard input")
      .option("--idempotency-key <key>", "the same key and event have one effect")
      .addHelpText(...example(`sluice event ${name} build --data '{"number": 7}'`))
      .action(
        async (
          discriminator: string | undefined,
          options: { data?: string; file?: string; idempotencyKey?: string },
          command: Command,
        ) => {
          const context = contextOf(command);
          const answer = await context.client.call("EventService_ReceiveEvent", {
            params: { namespace: context.namespace, discriminator: discriminator ?? "" },
            query: name === "test" ? { dryRun: true } : {},
            body: await body(options),
            idempotencyKey: options.idempotencyKey,
          });
          if (name === "test") printObject(answer, "yaml");
          else say("event accepted");
        },
      );
  }
  event.command("list [id]").description("deliveries: what became of accepted events")
    .option("--state <state>", "queued, done or dead").option(
      "--limit <number>",
      "at most so many",
      wholeNumber("--limit"),
      50,
    ).addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice event list --state dead"))
    .action(
      async (
        id: string | undefined,
        options: OutputOptions & { state?: string; limit: number },
        command: Command,
      ) => {
        const context = contextOf(command);
        if (id !== undefined) {
          printObject(
            await context.client.call("EventService_GetEventDelivery", {
              params: { namespace: context.namespace, id },
            }),
            options.output === "json" ? "json" : "yaml",
          );
          return;
        }
        const answer = await context.client.call("EventService_ListEventDeliveries", {
          params: { namespace: context.namespace },
          query: { state: options.state, limit: options.limit },
        });
        const items = (answer["items"] ?? []) as JsonObject[];
        if (options.output === "json" || options.output === "yaml") {
          return printObject(items, options.output);
        }
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
      },
    );
  event.command("replay [ids...]").description("put dead letters back into the queue")
    .option("--all", "every dead letter of the namespace").option(
      "--discriminator <text>",
      "with --all: only events sent to it",
    )
    .addHelpText(...example("sluice event replay --all"))
    .action(
      async (
        ids: string[],
        options: { all?: boolean; discriminator?: string },
        command: Command,
      ) => {
        const context = contextOf(command);
        if (ids.length === 0 && !options.all) throw new UsageError("Name deliveries, or --all");
        if (ids.length === 0) {
          const answer = await context.client.call("EventService_ReplayEventDeliveries", {
            params: { namespace: context.namespace },
            body: { discriminator: options.discriminator },
          });
          print(`${answer["replayed"] ?? 0} replayed`);
          return;
        }
        for (const id of ids) {
          await context.client.call("EventService_ReplayEventDelivery", {
            params: { namespace: context.namespace, id },
          });
          print(`${id} replayed`);
        }
      },
    );
}
