/** `lint`: the server checks manifests, or with `--offline` this program does. */
import { type Command, Option } from "commander";
import type { JsonObject } from "../base/json.ts";
import { Problem } from "../base/problem.ts";
import { ClientError } from "../client/transport.ts";
import type { UnknownField } from "../spec/schema/decode.ts";
import { decodeAny } from "../spec/schema/decode_manifest.ts";
import { lintLines, lintManifests } from "../spec/lint.ts";
import { lintWarnings } from "../spec/lint_warnings.ts";
import type { Workflow } from "../spec/manifest.ts";
import { collect, type Context, contextOf, example, UsageError } from "./context.ts";
import {
  addStrict,
  expandFolders,
  type FoundManifest,
  isWorkflowTest,
  locatedObjectsIn,
  metadataOf,
  readSource,
  unknownFieldText,
  withoutFile,
  withPlace,
} from "./manifests.ts";
import { print, say } from "./output.ts";
import {
  bodyOf,
  isNoObject,
  leftOut,
  meantKind,
  namespaceOf,
  ownGroups,
  resourceOf,
  RESOURCES,
} from "./resources.ts";

/** A manifest, and its number in its file. */
type Piece = FoundManifest & { number: number };

export interface LintOptions {
  output?: "pretty" | "simple";
  strict: boolean;
}

/** The short names that Kubernetes has for kinds. */
const SHORT_KINDS: Record<string, string> = {
  wf: "workflows",
  wftmpl: "workflowtemplates",
  cwftmpl: "clusterworkflowtemplates",
  cronwf: "cronworkflows",
};

/** Kinds that `--kinds` takes, by the words for them. `all` means every one of them. */
const KINDS: Record<string, string> = {
  workflows: "Workflow",
  workflowtemplates: RESOURCES.template.kind,
  clusterworkflowtemplates: RESOURCES["cluster-template"].kind,
  cronworkflows: RESOURCES.cron.kind,
  workfloweventbindings: RESOURCES.binding.kind,
  subscriptions: RESOURCES.subscription.kind,
};

/** Adds the options that every `lint` has. */
export function addLintOptions(command: Command): Command {
  command.addOption(
    new Option("-o, --output <format>", "pretty, or simple: one line for each error")
      .choices(["pretty", "simple"]).default("pretty"),
  );
  return addStrict(command)
    .addOption(
      new Option("--no-color", "accepted, without effect: there are no colours").hideHelp(),
    );
}

/** Checks the manifests in files and folders and prints what is wrong. @returns the exit status */
export async function lintFiles(
  context: Context,
  names: string[],
  options: LintOptions & { kinds: readonly string[]; offline?: boolean },
): Promise<number> {
  const faults = new Map<string, string[]>();
  const fault = (file: string, text: string) => faults.set(file, [...faults.get(file) ?? [], text]);
  const pieces: Piece[] = [];
  for (const file of await expandFolders(names)) {
    const text = await readSource(file);
    try {
      for (const [at, { object, lineOf }] of [...locatedObjectsIn(text, file)].entries()) {
        if (isWorkflowTest(object)) say(`${file}: a workflow test, which "sluice test" reads`);
        else pieces.push({ file, object, lineOf, number: at + 1 });
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      fault(file, withoutFile(error, file));
    }
  }
  const chosen = pieces.filter(({ object }) => options.kinds.includes(kindOf(object)));
  const groups = ownGroups(pieces.map(({ object }) => object));
  for (const piece of pieces) {
    const meant = meantKind(piece.object, groups);
    if (meant !== undefined) {
      fault(piece.file, `in ${label(piece)}: unknown kind: did you mean ${meant}?`);
    }
  }
  if (chosen.length === 0 && faults.size === 0) {
    print("✖ found nothing to lint in the specified paths, failing...");
    const others = new Set(pieces.map(({ object }) => kindOf(object)));
    if (others.size > 0) {
      say(`found ${[...others].join(", ")}; this checks ${options.kinds.join(", ")}`);
    }
    return 1;
  }
  for (const { file, object } of pieces) {
    const text = leftOut(object, groups);
    if (text !== undefined) say(`${file}: ${text}`);
  }
  const verdicts = options.offline
    ? ownVerdicts(pieces, options)
    : await serverVerdicts(context, chosen);
  for (const { file, text } of verdicts) fault(file, text);
  if (options.strict) {
    for (const piece of chosen) {
      for (const text of unknownTexts(piece, faults.get(piece.file))) fault(piece.file, text);
    }
  }
  for (const piece of chosen) {
    const at = `${piece.file}: warning: in ${label(piece)}`;
    for (const text of warningsOf(piece.object)) say(`${at}: ${text}`);
  }
  report(faults, options.output ?? "pretty");
  return faults.size === 0 ? 0 : 1;
}

function report(faults: ReadonlyMap<string, string[]>, format: "pretty" | "simple"): void {
  let count = 0;
  for (const [file, texts] of faults) {
    count += texts.length;
    if (format === "pretty") print(`${file}:`);
    for (const text of texts) print(format === "pretty" ? `   ✖ ${text}` : `${file}: ${text}`);
    if (format === "pretty") print("\n");
  }
  if (format === "simple") return;
  print(count === 0 ? "✔ no linting errors found!" : `✖ ${count} linting errors found!`);
}

/** The kind of an object; a workflow needs to name none. */
function kindOf(object: JsonObject): string {
  return isNoObject(object) ? "no kind" : String(object["kind"] ?? "Workflow");
}

function nameOf({ object, number }: Piece): string {
  const { name, generateName } = metadataOf(object);
  return String(name || generateName || `object #${number}`);
}

function label(piece: Piece): string {
  return `${JSON.stringify(nameOf(piece))} (${piece.object["kind"] ?? "Workflow"})`;
}

/** What is valid but has no effect. Unreadable manifests are left to the verdict. */
function warningsOf(object: JsonObject): string[] {
  try {
    return lintWarnings(decodeAny({ kind: "Workflow", ...object }));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [];
  }
}

/** One line for each member that the schema does not know, unless it is told already. */
function unknownTexts(piece: Piece, told: readonly string[] = []): string[] {
  return unknownFields(piece.object)
    .filter(({ path }) => !told.some((text) => text.includes(JSON.stringify(path))))
    .map((field) => `in ${label(piece)}: unknown field ${unknownFieldText(field)}`);
}

/** Members that the schema does not know. Unreadable manifests are left to the verdict. */
function unknownFields(object: JsonObject): UnknownField[] {
  const unknown: UnknownField[] = [];
  try {
    decodeAny({ kind: "Workflow", ...object }, { onUnknown: (field) => unknown.push(field) });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  return unknown;
}

function ownVerdicts(
  pieces: readonly Piece[],
  { kinds, strict }: { kinds: readonly string[]; strict: boolean },
): { file: string; text: string }[] {
  const objects = pieces.map(({ object }) => ({ kind: "Workflow", ...object }));
  const results = lintManifests(objects, undefined, strict);
  return results.flatMap((result, index) => {
    const piece = pieces[index];
    if (piece === undefined || !kinds.includes(kindOf(piece.object))) return [];
    const texts = result.kind === undefined
      ? result.errors.map((text) => `in ${label(piece)}: ${text}`)
      : lintLines({ ...result, name: nameOf(piece) });
    return texts.map((text) => ({
      file: piece.file,
      text: withPlace(text, piece.object, piece.lineOf),
    }));
  });
}

async function serverVerdicts(
  context: Context,
  pieces: readonly Piece[],
): Promise<{ file: string; text: string }[]> {
  const found: { file: string; text: string }[] = [];
  for (const piece of pieces) {
    const { file, object, lineOf } = piece;
    const namespace = namespaceOf(object, context);
    const resource = resourceOf(object["kind"]);
    const params = { namespace };
    try {
      if (resource === undefined) {
        await context.client.call("WorkflowService_LintWorkflow", {
          params,
          body: { namespace, workflow: object as unknown as Workflow },
        });
      } else {
        await context.client.call(resource.lint, {
          params,
          body: bodyOf(resource, namespace, object),
        });
      }
    } catch (error) {
      // Other errors, such as trouble with the connection or the credentials, end the command.
      const isVerdict = error instanceof ClientError &&
        [400, 404, 409, 422, 500].includes(error.status);
      if (!isVerdict) throw error;
      const text = `in ${label(piece)}: ${withPlace(error.message, object, lineOf)}`;
      found.push({ file, text });
    }
  }
  return found;
}

/** Registers `lint`. `exit` receives the exit status of a command that ran. */
export function addLintCommand(program: Command, exit: (status: number) => void): void {
  addLintOptions(
    program.command("lint <files...>").description(
      "check manifests in files and folders without storing them; exit status 1 if one is wrong",
    ),
  )
    .option(
      "--kinds <kinds>",
      `all, or some of ${Object.keys(KINDS).join(",")} (default: all)`,
      collect,
    )
    .option("--offline", "do not ask a server: look for templates among the given files")
    .addHelpText(...example("sluice lint examples", "sluice lint --offline -o simple wf.yaml"))
    .action(
      async (
        files: string[],
        options: LintOptions & { kinds?: string[]; offline?: boolean },
        command: Command,
      ) => {
        const words = (options.kinds ?? ["all"]).join(",").split(",");
        const kinds = (words.includes("all") ? Object.keys(KINDS) : words).map((word) => {
          const kind = KINDS[SHORT_KINDS[word] ?? word];
          if (kind === undefined) {
            throw new UsageError(
              `--kinds does not know ${JSON.stringify(word)}: all, ${
                Object.keys(KINDS).join(", ")
              }`,
            );
          }
          return kind;
        });
        exit(await lintFiles(contextOf(command), files, { ...options, kinds }));
      },
    );
}
