/** The rest: version, info, events, completion, local tools. */
import { readFile, rename, writeFile } from "node:fs/promises";
import process from "node:process";
import type { Command } from "commander";
import { parse, stringify } from "yaml";
import { createToken, parseTokenFile } from "../auth/token_file.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import {
  contextOf,
  outputOption,
  type OutputOptions,
  pairs,
  readSource,
  UsageError,
} from "./context.ts";
import { print, printObject, printTable, say } from "./output.ts";

function addEvents(program: Command): void {
  const event = program.command("event").description("send, test, list and replay events");
  const body = async (options: { data?: string; file?: string }): Promise<JsonObject> => {
    const text = options.data ??
      (options.file === undefined ? undefined : await readSource(options.file));
    if (text === undefined) {
      throw new UsageError("Give the event's JSON with --data or --file (- is standard input)");
    }
    return JSON.parse(text);
  };
  for (
    const [name, description] of [["send", "post an event"], [
      "test",
      "say what an event would do, without doing it",
    ]] as const
  ) {
    event.command(`${name} [discriminator]`).description(description)
      .option("-d, --data <json>").option("-f, --file <file>").option("--idempotency-key <key>")
      .addOption(outputOption())
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
      "50",
    ).addOption(outputOption())
    .action(
      async (
        id: string | undefined,
        options: OutputOptions & { state?: string; limit: string },
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
          query: { state: options.state, limit: Number(options.limit) },
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
            String(item["discriminator"] ?? ""),
            String(item["receivedAt"] ?? ""),
            ((item["bindings"] ?? []) as JsonObject[]).map((b) =>
              `${b["binding"]}=${b["workflow"] ?? b["outcome"]}`
            ).join(" "),
          ]),
        );
      },
    );
  event.command("replay [ids...]").description("put dead letters back into the queue")
    .option("--all", "every dead letter of the namespace").option("--discriminator <text>")
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

/** Prints a new token on stdout; its entry goes into the file, which is replaced in one step, or to stderr. */
async function createTokenEntry(
  options: { subject: string; groups?: string; expires?: string; file?: string },
): Promise<void> {
  const days = options.expires === undefined ? undefined : Number(options.expires);
  if (days !== undefined && !(days > 0)) {
    throw new UsageError("--expires takes a number of days above 0");
  }
  const expiresAt = days === undefined ? undefined : Date.now() + days * 86_400_000;
  const made = createToken(options.subject, options.groups?.split(",") ?? [], expiresAt);
  if (options.file === undefined) {
    say(stringify({ tokens: [made.entry] }).trimEnd());
  } else {
    const old = await readFile(options.file, "utf8").catch((error: { code?: string }) => {
      if (error.code === "ENOENT") return "tokens: []";
      throw error;
    });
    parseTokenFile(old);
    const { tokens } = parse(old) as { tokens: unknown[] };
    const next = `${options.file}.new`;
    await writeFile(next, stringify({ tokens: [...tokens, made.entry] }), { mode: 0o600 });
    await rename(next, options.file);
    say(`added ${options.subject} to ${options.file}; the token is shown only now:`);
  }
  print(made.token);
}

/** Registers the remaining commands. */
export function addToolCommands(program: Command, exit: (status: number) => void): void {
  addEvents(program);
  program.command("version").description("version of this program and of the server").option(
    "--short",
  )
    .action(async (options: { short?: boolean }, command: Command) => {
      const { default: own } = await import("../../package.json", { with: { type: "json" } });
      print(`sluice: ${own.version}`);
      if (options.short) return;
      const answer = await contextOf(command).client.call("InfoService_GetVersion", {});
      print(`server: ${answer["version"]}`);
    });
  program.command("server").description(
    "run the service in the foreground; its options are those of `deno task start`",
  )
    .allowUnknownOption().helpOption(false).argument("[flags...]")
    .action(async () => {
      const at = process.argv.indexOf("server");
      // Intentionally a dynamic import: only this command needs the whole service.
      const { runServer } = await import("../main.ts");
      exit(await runServer(process.argv.slice(at + 1), process.env));
    });
  const auth = program.command("auth").description("credentials");
  auth.command("token").description("print the token in use").action(
    (_options: unknown, command: Command) => {
      const token = command.optsWithGlobals<{ token?: string }>().token;
      if (!token) throw new UsageError("No token: set SLUICE_TOKEN or give --token");
      print(token.includes(" ") ? token : `Bearer ${token}`);
    },
  );
  auth.command("whoami").action(async (_options: unknown, command: Command) => {
    printObject(await contextOf(command).client.call("InfoService_GetUserInfo", {}), "yaml");
  });
  const token = program.command("token").description("bearer tokens for --auth-mode client");
  token.command("create").description("make a token; only its hash goes into the file")
    .requiredOption("--subject <name>", "whose token it is; access rules name it")
    .option("--groups <a,b>", "groups for access rules").option(
      "--expires <days>",
      "days until it ends",
    )
    .option("--file <file>", "token file to add it to; otherwise the entry is printed")
    .action(
      async (options: { subject: string; groups?: string; expires?: string; file?: string }) => {
        await createTokenEntry(options);
      },
    );
  program.command("expr <expression>").description("evaluate an expression").option(
    "--env <file>",
    "JSON or YAML file of names",
  )
    .option(
      "--set <name=value>",
      "a name with a text",
      (v: string, all: string[] = []) => [...all, v],
    )
    .action(async (expression: string, options: { env?: string; set?: string[] }) => {
      const { evaluateForUser } = await import("../expr/evaluate_for_user.ts");
      const file: unknown = options.env === undefined ? {} : parse(await readSource(options.env));
      if (!isJsonObject(file)) {
        throw new UsageError(`${options.env} does not hold names and values`);
      }
      const result = evaluateForUser(expression, {
        ...file,
        ...Object.fromEntries(pairs(options.set, "a name")),
      });
      say(`(${result.type})`);
      print(result.text);
    });
  program.command("completion <shell>").description("completion script for bash, zsh or fish")
    .action((shell: string) => {
      const words = program.commands.map((command) => command.name()).join(" ");
      if (shell === "bash") print(`complete -W ${JSON.stringify(words)} sluice`);
      else if (shell === "zsh") print(`#compdef sluice\ncompadd ${words}`);
      else if (shell === "fish") print(`complete -c sluice -f -a ${JSON.stringify(words)}`);
      else throw new UsageError(`No completion for ${shell}: choose bash, zsh or fish`);
    });
}
