/** The command line `sluice`. Data goes to stdout, everything else to stderr. Exit status: 0 done, 1 failed, 2 wrong use. */
import process from "node:process";
import { Command, CommanderError } from "commander";
import { errorText } from "../base/error_text.ts";
import { Problem } from "../base/problem.ts";
import { VERSION } from "../base/version.ts";
import { ClientError } from "../client/transport.ts";
import { addGlobalOptions, UsageError } from "./context.ts";
import { say, terminalText } from "./output.ts";

/** Registers commands. `exit` receives the exit status of a command that ran to its end. */
type AddCommands = (program: Command, exit: (status: number) => void) => void;

/**
 * Which module registers which commands, in the order of the help: only the module of the command that is run is loaded,
 * because loading all of them takes longer than most commands.
 */
export const MODULES: readonly (readonly [words: string, load: () => Promise<AddCommands>])[] = [
  ["submit", async () => (await import("./submit_command.ts")).addSubmitCommand],
  [
    "list ls get wait watch logs cp",
    async () => (await import("./workflow_commands.ts")).addWorkflowCommands,
  ],
  ["open", async () => (await import("./open_command.ts")).addOpenCommand],
  [
    "suspend resume stop terminate retry resubmit node delete",
    async () => (await import("./control_commands.ts")).addControlCommands,
  ],
  [
    "callback callback-keys",
    async () => (await import("./callback_command.ts")).addCallbackCommand,
  ],
  [
    "template cluster-template cron binding subscription apply",
    async () => (await import("./resource_commands.ts")).addResourceCommands,
  ],
  ["webhook", async () => (await import("./webhook_command.ts")).addWebhookCommand],
  ["archive", async () => (await import("./archive_commands.ts")).addArchiveCommands],
  ["event", async () => (await import("./event_commands.ts")).addEventCommands],
  ["lint", async () => (await import("./lint_command.ts")).addLintCommand],
  ["test", async () => (await import("./test_command.ts")).addTestCommand],
  ["migrate", async () => (await import("./migrate/command.ts")).addMigrateCommand],
  ["doctor", async () => (await import("./doctor_command.ts")).addDoctorCommand],
  ["store", async () => (await import("./store_commands.ts")).addStoreCommands],
  ["version server", async () => (await import("./server_commands.ts")).addServerCommands],
  [
    "auth token sync convert expr",
    async () => (await import("./tool_commands.ts")).addToolCommands,
  ],
  [
    "completion __complete",
    async () => (await import("./completion_command.ts")).addCompletionCommand,
  ],
];

/** The heading of commands that are about the command line itself. */
const OTHER_COMMANDS = "This program:";

/** Words that need the whole table: what they say is about all commands. */
const ABOUT_ALL = ["help", "completion", "__complete"];

function emptyProgram(): Command {
  const program = new Command("sluice")
    .description("Durable workflows: submit, suspend, resume, stop, retry; events that start them")
    .version(VERSION, "--version", "the version of this program")
    .showHelpAfterError("(add --help for the options)")
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, "Error:")) })
    .exitOverride()
    .commandsGroup(OTHER_COMMANDS)
    .helpCommand("help [command]", "the help of a command")
    .addHelpText(
      "afterAll",
      ({ command }) =>
        command.parent === null
          ? ""
          : "\nEvery command also takes -n, -s, --token and the other options of `sluice --help`.",
    )
    .hook("preAction", (_program, command) => refuseStrangeNames(command));
  return addGlobalOptions(program, process.env);
}

/**
 * An empty name is a variable of a script that has no value. Its request would go to the address of the list. One with a slash,
 * as kubectl takes it, or with the colon that stands behind it in a log line, would go to no address.
 * @throws {UsageError}
 */
function refuseStrangeNames({ registeredArguments, processedArgs }: Command): void {
  for (const [index, argument] of registeredArguments.entries()) {
    if (!/^names?$/.test(argument.name())) continue;
    const given: unknown[] = [processedArgs[index]].flat();
    if (given.includes("")) throw new UsageError("A name is empty");
    for (const name of given) {
      if (typeof name !== "string") continue;
      const received = `received ${JSON.stringify(name)}`;
      if (name.includes("/")) {
        throw new UsageError(`A name has no slash, ${received} (-n names the namespace)`);
      }
      if (name.includes(":")) throw new UsageError(`A name has no colon, ${received}`);
    }
  }
}

/** Builds the table of commands. @param word only the module of this command is loaded, if there is one */
export async function buildProgram(
  exit: (status: number) => void,
  word?: string,
): Promise<Command> {
  const program = emptyProgram();
  const isOne = word !== undefined && !ABOUT_ALL.includes(word);
  const chosen = isOne ? MODULES.filter(([words]) => words.split(" ").includes(word)) : [];
  const loads = (chosen.length > 0 ? chosen : MODULES).map(([, load]) => load());
  for (const add of await Promise.all(loads)) add(program, exit);
  if (chosen.length === 0) (await import("./seldom_needed.ts")).groupCommands(program);
  return program;
}

/** Runs one command line; without any word, the server with its embedded store. @returns the exit status */
export async function run(argv: string[]): Promise<number> {
  let status = 0;
  const words = argv.length === 0 ? ["server"] : argv;
  try {
    const { operands } = emptyProgram().parseOptions([...words]);
    const program = await buildProgram((value) => (status = value), operands[0]);
    const isPlain = !words.some((word) => /=(true|false)$|^(-h|(--)?help)$|^-[a-z]=/i.test(word));
    const given = isPlain
      ? words
      : (await import("./seldom_needed.ts")).plainWords(program, words, operands);
    await program.parseAsync(given, { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) {
      const { adviceAbout } = await import("./seldom_needed.ts");
      const advice = adviceAbout(error.message);
      if (advice !== undefined) say(advice);
      return error.exitCode === 0 ? 0 : 2;
    }
    say(`Error: ${terminalText(errorText(error))}`);
    if (error instanceof ClientError) {
      const { adviceOn } = await import("./seldom_needed.ts");
      const advice = adviceOn(error);
      if (advice !== undefined) say(advice);
    }
    if (error instanceof UsageError) return 2;
    const isExpected = error instanceof ClientError || error instanceof Problem;
    if (!isExpected && process.env["SLUICE_DEBUG"] !== undefined) {
      say(String((error as Error).stack));
    }
    return 1;
  }
}
