/** Other commands: credentials, sync limits, local tools. */
import { chmod, readFile, rename, stat, writeFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { inNewForm } from "../spec/older_forms.ts";
import { parse, stringify } from "yaml";
import { createToken, parseTokenFile } from "../auth/token_file.ts";
import { defined } from "../base/defined.ts";
import { errorText } from "../base/error_text.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { Problem } from "../base/problem.ts";
import { newCronStatus } from "../events/cron.ts";
import { decodeAny } from "../spec/schema/decode_manifest.ts";
import { normalForm } from "../spec/normal_form.ts";
import { KIND_SCHEMAS } from "../spec/schema/kinds.ts";
import { collect, contextOf, example, pairs, UsageError, wholeNumber } from "./context.ts";
import {
  cannotRead,
  expandFolders,
  firstLine,
  readManifestFiles,
  readValues,
} from "./manifests.ts";
import { outputOption, type OutputOptions, print, printObject, say, yamlText } from "./output.ts";

interface TokenOptions {
  subject: string;
  groups?: string;
  expires?: string;
  file?: string;
  replace?: boolean;
}

/** Prints a new token on stdout. Its entry goes to stderr, or into the file, which is replaced in one step. */
async function createTokenEntry(options: TokenOptions): Promise<void> {
  const days = options.expires === undefined ? undefined : Number(options.expires);
  if (days !== undefined && !(days > 0)) {
    throw new UsageError("--expires takes a number of days above 0");
  }
  const expiresAt = days === undefined ? undefined : Date.now() + days * 86_400_000;
  if (expiresAt !== undefined && Number.isNaN(new Date(expiresAt).getTime())) {
    throw new UsageError("--expires is beyond all dates; without it the token does not expire");
  }
  // A blank after a comma is no part of a name: a rule for the group would not match.
  const groups = (options.groups ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  const made = createToken(options.subject, groups, expiresAt);
  if (options.file === undefined) {
    say(stringify({ tokens: [made.entry] }).trimEnd());
  } else {
    const old = await readFile(options.file, "utf8").catch((error: { code?: string }) => {
      if (error.code === "ENOENT") return "tokens: []";
      throw cannotRead(options.file ?? "", error);
    });
    try {
      parseTokenFile(old);
    } catch (error) {
      throw new Error(`${options.file}: ${firstLine(error)}`, { cause: error });
    }
    const { tokens } = parse(old) as { tokens: { subject: string }[] };
    const kept = tokens.filter(({ subject }) => !options.replace || subject !== options.subject);
    await replaceFile(options.file, stringify({ tokens: [...kept, made.entry] }));
    say(`added ${options.subject} to ${options.file}; the token is shown only now:`);
  }
  print(made.token);
}

/** Rights of a new token file. */
const OWN_RIGHTS = 0o600;

/** A server that watches the file sees the old text or the new one, and may read the one if it might read the other. */
async function replaceFile(file: string, text: string): Promise<void> {
  const next = `${file}.new`;
  try {
    const rights = await stat(file).then(({ mode }) => mode & 0o777, () => OWN_RIGHTS);
    await writeFile(next, text, { mode: OWN_RIGHTS });
    await chmod(next, rights);
    await rename(next, file);
  } catch (error) {
    throw new Error(`Cannot write ${file}: ${errorText(error)}`);
  }
}

function addCredentials(program: Command): void {
  const auth = program.command("auth").description("the credentials in use");
  auth.command("token").description("print the token in use, as it is sent")
    .addHelpText(...example("sluice auth token"))
    .action((_options: unknown, command: Command) => {
      const token = command.optsWithGlobals<{ token?: string }>().token;
      if (!token) throw new UsageError("No token: set SLUICE_TOKEN or give --token");
      print(token.includes(" ") ? token : `Bearer ${token}`);
    });
  auth.command("whoami").description("who you are to the server")
    .addHelpText(...example("sluice auth whoami"))
    .action(async (_options: unknown, command: Command) => {
      const user = await contextOf(command).client.call("InfoService_GetUserInfo", {});
      printObject(user, "yaml");
      if (!user.subject) say("This server asks nobody who they are: everybody may do everything.");
    });
  const token = program.command("token").description("bearer tokens for --auth-mode client");
  token.command("create").description("make a token; only its hash goes into the file")
    .requiredOption("--subject <name>", "whose token it is; access rules use this name")
    .option("--groups <a,b>", "groups for access rules")
    .option("--expires <days>", "days until it expires")
    .option("--file <file>", "token file to add it to; without it the entry is printed")
    .option("--replace", "with --file: other tokens of this subject are no longer valid")
    .addHelpText(
      ...example("sluice token create --subject ci --groups builders --file tokens.yaml"),
    )
    .action(async (options: TokenOptions) => {
      if (options.subject.trim() === "") throw new UsageError("--subject is empty");
      await createTokenEntry(options);
    });
}

interface SyncOptions extends OutputOptions {
  type: string;
  cmName?: string;
  limit?: number;
}

/** Limits of semaphores, which the server keeps in a ConfigMap or in its own store. */
function addSync(program: Command): void {
  const sync = program.command("sync").description(
    "limits of semaphores: create, get, update, delete",
  );
  for (const verb of ["create", "get", "update", "delete"] as const) {
    const command = sync.command(`${verb} <key>`).description(`${verb} a limit`)
      .addOption(
        new Option("--type <type>", "where it is kept").choices(["configmap", "database"])
          .default("configmap"),
      )
      .option("--cm-name <name>", "ConfigMap that holds it, with --type configmap")
      .addOption(outputOption("json", "yaml"))
      .addHelpText(...example(
        `sluice sync ${verb} builds --cm-name limits${
          verb === "create" || verb === "update" ? " --limit 3" : ""
        }`,
      ));
    if (verb === "create" || verb === "update") {
      command.requiredOption("--limit <number>", "most holders at a time", wholeNumber("--limit"));
    }
    command.action(async (key: string, options: SyncOptions, self: Command) => {
      if (options.type === "configmap" && options.cmName === undefined) {
        throw new UsageError("Name the ConfigMap with --cm-name, or choose --type database");
      }
      const { client, namespace } = contextOf(self);
      const type = options.type === "database" ? 1 : 0;
      const { cmName, limit } = options;
      const params = { namespace, key };
      const query = { type: String(type), cmName };
      const body = { namespace, key, type, cmName, limit };
      switch (verb) {
        case "delete":
          await client.call("SyncService_DeleteSyncLimit", { params, query });
          print(`Limit '${key}' deleted`);
          return;
        case "create":
          return show(
            await client.call("SyncService_CreateSyncLimit", { params: { namespace }, body }),
            options,
          );
        case "update":
          return show(await client.call("SyncService_UpdateSyncLimit", { params, body }), options);
        case "get":
          return show(await client.call("SyncService_GetSyncLimit", { params, query }), options);
      }
    });
  }
}

function show(answer: Json, { output }: OutputOptions): void {
  printObject(answer, output === "json" ? "json" : "yaml");
}

/** The status of an object, with the members that it always has. */
function statusOf(kind: string, status: Json | undefined): JsonObject | undefined {
  const empty = kind === "Workflow"
    ? { startedAt: null, finishedAt: null }
    : kind === "CronWorkflow"
    ? newCronStatus() as unknown as JsonObject
    : undefined;
  return empty && { ...empty, ...(isJsonObject(status) ? status : {}) };
}

async function convert(files: string[], { output }: OutputOptions): Promise<void> {
  const inside = await expandFolders(files);
  if (inside.length === 0) {
    throw new UsageError(`${files.join(", ")}: no file .yaml, .yml or .json`);
  }
  for (const { file, object } of await readManifestFiles(inside, false)) {
    let whole: JsonObject;
    try {
      whole = converted(object);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw new Problem(error.code, `${file}: ${error.message}`, { cause: error });
    }
    if (output === "json") printObject(whole, "json");
    else print(`---\n${yamlText(whole)}`);
  }
}

/** Kinds that have older forms. */
const CONVERTED: ReadonlySet<Json | undefined> = new Set([
  "Workflow",
  "WorkflowTemplate",
  "ClusterWorkflowTemplate",
  "CronWorkflow",
]);

/** A manifest in its present form. Another object, as they often stand beside manifests, stays as it is. */
function converted(given: JsonObject): JsonObject {
  if (!CONVERTED.has(given["kind"])) return given;
  const { manifest: object } = inNewForm(given);
  const { kind, manifest } = decodeAny(object);
  const schema = KIND_SCHEMAS.get(kind);
  if (schema === undefined) throw new Error(`Cannot convert kind ${kind}`);
  const normal = normalForm(manifest, schema) as unknown as JsonObject;
  const status = statusOf(kind, normal["status"]);
  return {
    ...defined({ apiVersion: object["apiVersion"] }),
    kind,
    ...normal,
    ...defined({ status }),
  };
}

interface ExprOptions {
  env?: string;
  set?: string[];
}

async function evaluate(expression: string, options: ExprOptions): Promise<void> {
  const { evaluateForUser } = await import("../expr/templates/evaluate_for_user.ts");
  const file = options.env === undefined ? {} : await readValues(options.env);
  const env = { ...file, ...Object.fromEntries(pairs(options.set, "a name")) };
  const result = evaluateForUser(expression, env, { now: Date.now, random: Math.random });
  say(`(${result.type})`);
  print(result.text);
}

/** Registers the remaining commands. */
export function addToolCommands(program: Command): void {
  addCredentials(program);
  addSync(program);
  program.command("convert <files...>").description(
    "write manifests with old forms of fields replaced by the new ones",
  )
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice convert old.yaml > new.yaml"))
    .action(async (files: string[], options: OutputOptions) => await convert(files, options));
  program.command("expr <expression>").description("evaluate an expression")
    .option("--env <file>", "JSON or YAML file with names and values")
    .option("--set <name=value>", "a name and its text; may be repeated", collect)
    .addHelpText(...example("sluice expr 'filter(1..9, # % 2 == 0)'"))
    .action(async (expression: string, options: ExprOptions) =>
      await evaluate(expression, options)
    );
}
