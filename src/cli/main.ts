#!/usr/bin/env -S npx -y deno@2.9.6 run -A
/** The command line `sluice`. Data goes to stdout, everything else to stderr. Exit status: 0 done, 1 failed, 2 wrong use. */
import process from "node:process";
import { Command, CommanderError } from "commander";
import { errorText } from "../base/error_text.ts";
import { Problem } from "../base/problem.ts";
import { ClientError } from "../client/transport.ts";
import { addArchiveCommands } from "./archive_commands.ts";
import { addCompletionCommand } from "./completion_command.ts";
import { addGlobalOptions, UsageError } from "./context.ts";
import { addControlCommands } from "./control_commands.ts";
import { addEventCommands } from "./event_commands.ts";
import { addLintCommand } from "./lint_command.ts";
import { endWithReader, say } from "./output.ts";
import { addResourceCommands } from "./resource_commands.ts";
import { addSubmitCommand } from "./submit_command.ts";
import { addTestCommand } from "./test_command.ts";
import { addToolCommands } from "./tool_commands.ts";
import { addWorkflowCommands } from "./workflow_commands.ts";

/** Builds the table of commands. `exit` receives the exit status of a command that ran to its end. */
export function buildProgram(exit: (status: number) => void): Command {
  const program = new Command("sluice")
    .description("Durable workflows: submit, suspend, resume, stop, retry; events that start them")
    .showHelpAfterError("(add --help for the options)")
    .exitOverride();
  addGlobalOptions(program, process.env);
  addSubmitCommand(program, exit);
  addWorkflowCommands(program, exit);
  addControlCommands(program, exit);
  addResourceCommands(program, exit);
  addArchiveCommands(program, exit);
  addEventCommands(program);
  addLintCommand(program, exit);
  addTestCommand(program, exit);
  addToolCommands(program, exit);
  addCompletionCommand(program);
  return program;
}

/** Writes `--x=true` and `--x=false` of options without a value as `--x` and `--no-x`. */
export function plainFlags(program: Command, argv: readonly string[]): string[] {
  const all = [program, ...program.commands.flatMap((one) => [one, ...one.commands])]
    .flatMap(({ options }) => options);
  return argv.flatMap((word) => {
    const found = /^--([a-z0-9-]+)=(true|false)$/.exec(word);
    if (found === null) return [word];
    const [, name = "", value] = found;
    const named = all.filter(({ long }) => long === `--${name}` || long === `--no-${name}`);
    if (named.length === 0 || named.some(({ required, optional }) => required || optional)) {
      return [word];
    }
    const long = value === "true" ? `--${name}` : `--no-${name}`;
    // There is no such option because it is the default.
    return named.some((option) => option.long === long) ? [long] : [];
  });
}

/** Runs one command line. @returns the exit status */
export async function run(argv: string[]): Promise<number> {
  let status = 0;
  const program = buildProgram((value) => (status = value));
  try {
    await program.parseAsync(plainFlags(program, argv), { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    say(`Error: ${errorText(error)}`);
    if (error instanceof ClientError && error.status === 0) {
      say("Is the server running? (--server or SLUICE_SERVER names another)");
    }
    if (error instanceof UsageError) return 2;
    const isExpected = error instanceof ClientError || error instanceof Problem;
    if (!isExpected && process.env["SLUICE_DEBUG"] !== undefined) {
      say(String((error as Error).stack));
    }
    return 1;
  }
}

if (import.meta.main) {
  endWithReader();
  process.exitCode = await run(process.argv.slice(2));
}
