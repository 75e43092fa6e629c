#!/usr/bin/env -S npx -y deno@2.9.6 run -A
/** The command line `sluice`. Data goes to stdout, the rest to stderr; exit status 0 done, 1 failed, 2 wrong use. */
import process from "node:process";
import { Command, CommanderError } from "commander";
import { ClientError } from "../client/transport.ts";
import { collect, UsageError } from "./context.ts";
import { addResourceCommands } from "./resource_commands.ts";
import { addTestCommand } from "./test_command.ts";
import { addToolCommands } from "./tool_commands.ts";
import { addWorkflowCommands } from "./workflow_commands.ts";
import { say } from "./output.ts";

/** Builds the command table. `exit` receives the exit status of a command that ran to its end. */
export function buildProgram(exit: (status: number) => void): Command {
  const program = new Command("sluice")
    .description("Durable workflows: submit, suspend, resume, stop, retry; events that start them")
    .option("-n, --namespace <name>", "namespace", process.env["SLUICE_NAMESPACE"] ?? "default")
    .option(
      "-s, --server <url>",
      "server to talk to",
      process.env["SLUICE_SERVER"] ?? "http://127.0.0.1:2746",
    )
    .option(
      "--token <token>",
      "sent as Authorization (or SLUICE_TOKEN)",
      process.env["SLUICE_TOKEN"],
    )
    .option("-H, --header <name:value>", "extra header", collect)
    .showHelpAfterError("(add --help for the options)")
    .exitOverride();
  addWorkflowCommands(program, exit);
  addResourceCommands(program);
  addToolCommands(program, exit);
  addTestCommand(program, exit);
  return program;
}

/** Runs one command line; resolves with the exit status. */
export async function run(argv: string[]): Promise<number> {
  let status = 0;
  try {
    await buildProgram((value) => (status = value)).parseAsync(argv, { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    say(`sluice: ${error instanceof Error ? error.message : String(error)}`);
    if (error instanceof ClientError && error.status === 0) {
      say("Is the server running? (--server or SLUICE_SERVER names another)");
    }
    if (error instanceof UsageError) return 2;
    if (!(error instanceof ClientError) && process.env["SLUICE_DEBUG"] !== undefined) {
      say(String((error as Error).stack));
    }
    return 1;
  }
}

if (import.meta.main) process.exitCode = await run(process.argv.slice(2));
