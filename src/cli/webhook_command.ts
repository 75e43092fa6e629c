/** Deliveries to subscribers: list and replay those that were given up. */
import type { Command } from "commander";
import type { JsonObject } from "../base/json.ts";
import { contextOf, example, UsageError, wholeNumber } from "./context.ts";
import {
  cellText,
  outputOption,
  type OutputOptions,
  print,
  printObject,
  printTable,
} from "./output.ts";

/** Registers `webhook`. */
export function addWebhookCommand(program: Command): void {
  const webhook = program.command("webhook").description(
    "dead letters of subscriptions: list, replay",
  );
  addList(webhook);
  addReplay(webhook);
}

interface ListOptions extends OutputOptions {
  limit: number;
}

function addList(webhook: Command): void {
  webhook.command("list <subscription>").description("deliveries that were given up, newest first")
    .option("--limit <number>", "most to list", wholeNumber("--limit"), 50)
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice webhook list failures"))
    .action(async (name: string, { limit, output }: ListOptions, command: Command) => {
      const { client, namespace } = contextOf(command);
      const answer = await client.call("SubscriptionService_ListDeadLetters", {
        params: { namespace, name },
        query: { limit },
      });
      const items = (answer["items"] ?? []) as JsonObject[];
      if (output === "json" || output === "yaml") return printObject(items, output);
      printTable(
        ["ID", "CHANGE", "WORKFLOW", "DEAD SINCE", "ATTEMPTS", "REASON"],
        items.map((item) => [
          String(item["id"]),
          String(item["change"]),
          workflowOf(item),
          String(item["deadSince"]),
          String(item["attempts"]),
          cellText(String(item["reason"])),
        ]),
      );
    });
}

function workflowOf({ data }: JsonObject): string {
  const { workflow } = data as { workflow?: { name?: string } };
  return cellText(workflow?.name ?? "");
}

interface ReplayOptions {
  all?: boolean;
}

function addReplay(webhook: Command): void {
  webhook.command("replay <subscription> [ids...]").description("deliver dead letters again")
    .option("--all", "every dead letter of the subscription")
    .addHelpText(...example("sluice webhook replay failures --all"))
    .action(async (name: string, ids: string[], options: ReplayOptions, command: Command) => {
      if (ids.length === 0 && options.all !== true) {
        throw new UsageError("Name dead letters, or use --all");
      }
      const { client, namespace } = contextOf(command);
      const answer = await client.call("SubscriptionService_ReplayDeadLetters", {
        params: { namespace, name },
        body: { ids: ids.length === 0 ? undefined : ids },
      });
      print(`${answer["replayed"] ?? 0} replayed`);
    });
}
