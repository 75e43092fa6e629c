/** `sluice callback`: URLs with which another system ends the wait of a step. */
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

/** Registers the command. */
export function addCallbackCommand(program: Command): void {
  program.command("callback <name>")
    .description("make URLs with which another system resumes or stops a waiting step")
    .requiredOption(
      "--node-field-selector <terms>",
      "the steps, by name or displayName; also of steps that will wait",
    )
    .option("--expires <duration>", "how long the URLs are good, such as 24h")
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
      for (const item of itemsOf(answer)) {
        print(`${item.name} (until ${item.expiresAt})`);
        for (const verb of ["resume", "stop", "heartbeat"] as const) {
          print(`  ${verb.padEnd(9)} ${item[verb]}`);
        }
      }
    });
}

function itemsOf({ items }: JsonObject): CallbackItem[] {
  return (items ?? []) as unknown as CallbackItem[];
}
