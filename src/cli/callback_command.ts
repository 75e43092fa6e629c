/** `sluice callback`: URLs with which another system ends the wait of a step. `sluice callback-keys`: what signs them. */
import type { Command } from "commander";
import type { JsonObject } from "../base/json.ts";
import { contextOf, example } from "./context.ts";
import { outputOption, type OutputOptions, print, printObject } from "./output.ts";

interface CallbackOptions extends OutputOptions {
  nodeFieldSelector: string;
  expires?: string;
}

/** What the server answers for each step. */
interface CallbackItem {
  name: string;
  expiresAt: string;
  resume: string;
  stop: string;
  heartbeat: string;
}

/** What the server answers for each key. */
interface KeyItem {
  id: string;
  signs: boolean;
  signsFrom?: string;
  acceptedUntil?: string;
}

/** Registers the commands. */
export function addCallbackCommand(program: Command): void {
  program.command("callback <name>")
    .description("make URLs with which another system resumes or stops a waiting step")
    .requiredOption(
      "--node-field-selector <terms>",
      "which steps, by name or displayName; a step with a callback need not wait yet",
    )
    .option("--expires <duration>", "how long the URLs are valid, such as 24h")
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice callback my-wf --node-field-selector displayName=approve"))
    .action(async (name: string, options: CallbackOptions, command: Command) => {
      const { client, namespace } = contextOf(command);
      const { nodeFieldSelector, expires, output } = options;
      const answer = await client.call("WorkflowService_MakeCallbacks", {
        params: { namespace, name },
        body: { nodeFieldSelector, expires },
      });
      if (output === "json" || output === "yaml") return printObject(answer, output);
      for (const item of itemsOf<CallbackItem>(answer)) {
        print(`${item.name} (until ${item.expiresAt})`);
        for (const verb of ["resume", "stop", "heartbeat"] as const) {
          print(`  ${verb.padEnd(9)} ${item[verb]}`);
        }
      }
    });
  addKeyCommands(program);
}

/** Registers `callback-keys`. */
function addKeyCommands(program: Command): void {
  const keys = program.command("callback-keys").description("keys that sign callback URLs");
  keys.command("list").description("which keys are accepted, and which one signs")
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice callback-keys list"))
    .action(async ({ output }: OutputOptions, command: Command) => {
      const { client } = contextOf(command);
      const answer = await client.call("CallbackKeyService_ListCallbackKeys", {});
      show(answer as JsonObject, output);
    });
  keys.command("rotate").description("make a new key, which signs from a few seconds later on")
    .option(
      "--accept-earlier <duration>",
      "how long URLs of earlier keys stay valid, such as 48h, or 0s if a key has leaked (default: until they have expired)",
    )
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice callback-keys rotate --accept-earlier 48h"))
    .action(async (options: OutputOptions & { acceptEarlier?: string }, command: Command) => {
      const { acceptEarlier, output } = options;
      const { client } = contextOf(command);
      const answer = await client.call("CallbackKeyService_RotateCallbackKeys", {
        body: { acceptEarlier },
      });
      show(answer as JsonObject, output);
    });
}

function show(answer: JsonObject, output: OutputOptions["output"]): void {
  if (output === "json" || output === "yaml") return printObject(answer, output);
  for (const { id, signs, signsFrom, acceptedUntil } of itemsOf<KeyItem>(answer)) {
    const what = signs ? "signs" : acceptedUntil === undefined ? `signs from ${signsFrom}` : "";
    const until = acceptedUntil === undefined ? "" : `accepted until ${acceptedUntil}`;
    print([id, what, until].filter((text) => text !== "").join("  "));
  }
}

function itemsOf<T>({ items }: JsonObject): T[] {
  return (items ?? []) as unknown as T[];
}
