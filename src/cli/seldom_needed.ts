/**
 * What few command lines need, so it is loaded only for those: the headings of the whole help, flags in another form, the copying
 * of artifacts, and what is said beside a refusal, of options of the `argo` client that have no meaning here, and of a server.
 */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import type { ClientError } from "../client/transport.ts";
import {
  NODE_FIELD_NAMES,
  parseNodeFieldSelector,
  unknownNodeField,
} from "../expr/selectors/node_field_selector.ts";
import type { NodePhase } from "../spec/manifest.ts";
import { type Context, isNotFound, UsageError } from "./context.ts";
import { print, say, terminalText } from "./output.ts";

/** Under which heading the help lists a command. Those that are not here are about the command line itself. */
const GROUPS: Readonly<Record<string, string>> = {
  "Workflows:": "submit list get wait watch logs cp open suspend resume stop terminate retry " +
    "resubmit node delete archive",
  "Stored manifests:": "template cluster-template cron binding subscription apply",
  "Events, callbacks and webhooks:": "event callback callback-keys webhook",
  "Writing manifests:": "lint test convert expr",
  "Running a server:": "server doctor store migrate sync token",
};

/** Puts the commands of a program under their headings. */
export function groupCommands(program: Command): void {
  for (const [heading, words] of Object.entries(GROUPS)) {
    const names = words.split(" ");
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(heading);
    }
  }
}

/** A command line as the parser takes it. @param operands its words before the first option of a command */
export function plainWords(
  program: Command,
  words: readonly string[],
  operands: readonly string[],
): string[] {
  return aboutTopic(program, plainFlags(program, words), operands);
}

const HELP: ReadonlySet<string> = new Set(["help", "--help", "-h"]);

/**
 * Words that ask for the help of a command. The parser shows the help of what it knows if a word after that is no command, as in
 * `help submt` and `event nope --help`: without the question it refuses that word, and names the nearest ones.
 */
function aboutTopic(
  program: Command,
  words: string[],
  operands: readonly string[],
): string[] {
  if (!words.some((word) => HELP.has(word))) return words;
  const path: string[] = [];
  let at = program;
  for (const word of operands) {
    if (word === "help") continue;
    if (at.commands.length === 0) break;
    path.push(word);
    const next = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) return path;
    at = next;
  }
  // The parser's own `help` takes one word.
  return operands[0] === "help" && path.length > 1 ? [...path, "--help"] : words;
}

/**
 * Writes `--x=true` and `--x=false` of options without a value as `--x` and `--no-x`, and `-o=json` as `-o json`: to `argo` and kubectl
 * both mean the same.
 */
export function plainFlags(program: Command, argv: readonly string[]): string[] {
  const all = [program, ...program.commands.flatMap((one) => [one, ...one.commands])]
    .flatMap(({ options }) => options);
  return argv.flatMap((word) => {
    const [, short = "", given = ""] = /^(-[a-z])=(.*)$/is.exec(word) ?? [];
    const meant = short === "" ? [] : all.filter((option) => option.short === short);
    if (meant.some(({ required, optional }) => required || optional)) return [short, given];
    if (meant.length > 0 && /^(true|false)$/.test(given)) return given === "true" ? [short] : [];
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

const CLUSTER = [
  ...["as", "as-group", "as-uid", "client-certificate", "client-key", "cluster", "context"],
  ...["disable-compression", "kubeconfig", "password", "proxy-url", "request-timeout"],
  ...["user", "username"],
];
const CERTIFICATE = [
  ...["-k", "--insecure-skip-verify", "--insecure-skip-tls-verify"],
  ...["--certificate-authority", "--tls-server-name"],
];

/** How a certificate comes to be accepted. */
const CERTIFICATE_ADVICE =
  "NODE_EXTRA_CA_CERTS=FILE (with Deno: DENO_CERT=FILE) names the authority that signed the server's certificate";

const ADVICE: ReadonlyMap<string, string> = new Map([
  ...CLUSTER.map((name): [string, string] => [
    `--${name}`,
    "This is for a client of a cluster. sluice asks a server: see --server, --token and --namespace",
  ]),
  ...CERTIFICATE.map((option): [string, string] => [
    option,
    `Certificates are always checked. ${CERTIFICATE_ADVICE}`,
  ]),
  ["--argo-root-path", "--argo-base-href names the path in front of the API"],
  ["--instanceid", "There are no instance ids: a server runs every workflow that it has"],
  ["--priority", "A copy has the priority of its workflow"],
  ["--format", "The time is written as RFC 3339"],
]);

/** What to do instead of an option that the reference's client has, and this one has not. @param refusal of the command line */
export function adviceAbout(refusal: string): string | undefined {
  const option = /unknown option '(-{1,2}[a-z0-9-]+)/.exec(refusal)?.[1];
  return option === undefined ? undefined : ADVICE.get(option);
}

const UNAUTHORIZED = 401;
const NOT_IMPLEMENTED = 501;

/** What may help against a refusal, or against a server that can't be reached. */
export function adviceOn(error: ClientError): string | undefined {
  const { status, message } = error;
  if (status === 0) {
    if (isPlainServer(message)) {
      return "Does the server speak plain HTTP? Then set ARGO_SECURE=false, or write http:// before its address";
    }
    if (isPerhapsTls(message)) {
      return "Is the server running? If it speaks TLS, write https:// before its address";
    }
    return /certificate/.test(message)
      ? CERTIFICATE_ADVICE
      : "Is the server running? (--server or SLUICE_SERVER names another)";
  }
  if (isOtherPath(error)) {
    return "There is no API at this address: is a path in front of it right? (--argo-base-href)";
  }
  if (status === NOT_IMPLEMENTED && message === "Not Implemented") {
    return "The server does not know this request: the address has no /api/v1, and the server may be older than this program (`sluice version`)";
  }
  if (/^Resource kind .* is not supported for submitting$/.test(message)) {
    return "--from takes workflowtemplate/NAME, clusterworkflowtemplate/NAME or cronwf/NAME";
  }
  return status === UNAUTHORIZED
    ? "SLUICE_TOKEN or --token says who you are; `sluice auth token` shows what is sent"
    : undefined;
}

/** Tells whether a path was asked for that is none of the API's: every refusal of the API names what is missing. */
function isOtherPath({ status, message }: ClientError): boolean {
  return status === 404 && (message === "Not Found" || message.includes(" answers 404 "));
}

/** Tells whether TLS was answered with something else, in the words of Deno and of Node. */
function isPlainServer(message: string): boolean {
  return /https:.*(InvalidContentType|wrong version number|packet length too long)/s.test(message);
}

/** What Deno and Node say when a server that expects TLS closes the connection, or answers with a record of TLS. */
const LIKE_TLS =
  /connection closed before|other side closed|connection reset|ECONNRESET|invalid HTTP version|HTTP\/1.1 protocol|Expected HTTP/i;

/** Tells whether a server may have expected TLS. One that dies while it is asked looks the same. */
function isPerhapsTls(message: string): boolean {
  return message.includes(" http:") && LIKE_TLS.test(message);
}

const NODE_PHASES: Readonly<Record<NodePhase, true>> = {
  Pending: true,
  Running: true,
  Succeeded: true,
  Skipped: true,
  Failed: true,
  Error: true,
  Omitted: true,
};

/** Checks which nodes are to be shown: another word, or a field that no node has, would show none. @throws {UsageError} */
export function requireNodeLook(
  { status: text, nodeFieldSelector = "" }: { status?: string; nodeFieldSelector?: string },
): void {
  const unknown = unknownNodeField(parseNodeFieldSelector(nodeFieldSelector));
  if (unknown !== undefined) {
    throw new UsageError(
      `--node-field-selector: no node has a field '${unknown}': the fields are ${NODE_FIELD_NAMES}`,
    );
  }
  if (!text || Object.hasOwn(NODE_PHASES, text)) return;
  throw new UsageError(
    `--status takes one of ${Object.keys(NODE_PHASES).join(", ")}, received ${
      JSON.stringify(text)
    }`,
  );
}

/** Which artifacts `cp` copies, and where to. */
export interface CopyOptions {
  nodeId?: string;
  nodeName?: string;
  templateName?: string;
  artifactName?: string;
  path: string;
}

/** Copies output artifacts into files and prints their names. @throws {Error} at the end if some could not be copied */
export async function copyArtifacts(
  context: Context,
  name: string,
  folder: string,
  options: CopyOptions,
): Promise<void> {
  const workflow = await context.client.call("WorkflowService_GetWorkflow", {
    params: { namespace: context.namespace, name },
  });
  const workflowName = workflow.metadata.name ?? name;
  let count = 0;
  let left = 0;
  for (const node of Object.values(workflow.status?.nodes ?? {})) {
    if (
      options.nodeName !== undefined && node.displayName !== options.nodeName &&
      node.name !== options.nodeName
    ) continue;
    if (options.nodeId !== undefined && node.id !== options.nodeId) continue;
    const template = node.templateRef?.template ?? node.templateName;
    if (options.templateName !== undefined && template !== options.templateName) continue;
    for (const artifact of node.outputs?.artifacts ?? []) {
      if (options.artifactName !== undefined && artifact.name !== options.artifactName) continue;
      const pieces = context.client.download("ArtifactService_GetOutputArtifact", {
        params: {
          namespace: context.namespace,
          name: workflowName,
          nodeId: node.id,
          artifactName: artifact.name,
        },
      });
      const values: Record<string, string> = {
        namespace: context.namespace,
        workflowName,
        nodeId: node.id,
        templateName: template ?? "",
        artifactName: artifact.name,
      };
      const place = options.path.replace(/\{(\w+)\}/g, (tag, key: string) => values[key] ?? tag);
      count++;
      try {
        const file = await save(pieces, folder, place, artifact);
        print(`Created ${JSON.stringify(file)}`);
      } catch (error) {
        // One that is a folder, or gone, says nothing about the others.
        if (!isNotFound(error)) throw error;
        left++;
        say(`Not copied: ${terminalText(error.message)} (node ${terminalText(node.id)})`);
      }
    }
  }
  if (count === 0) throw new Error(`workflow ${workflowName} has no such artifacts`);
  if (left > 0) throw new Error(`${left} of ${count} artifacts were not copied`);
}

/**
 * A path below a folder. @param names as the server gives them
 * @throws {Error} when they lead out of the folder: whoever wrote them would choose which file is replaced
 */
function below(folder: string, ...names: string[]): string {
  const path = join(folder, ...names);
  if (!relative(folder, path).split(sep).includes("..")) return path;
  throw new Error(`${JSON.stringify(names.join("/"))} would be outside of ${folder}: not copied`);
}

/** Writes an artifact as it arrives, and gives the name of its file. A part of one is under no name that is looked for. */
async function save(
  pieces: AsyncIterable<Uint8Array>,
  folder: string,
  place: string,
  artifact: { name: string },
): Promise<string> {
  const inside = below(folder, place);
  const part = join(inside, `.${artifact.name.replaceAll("/", "_")}.${process.pid}.part`);
  await mkdir(inside, { recursive: true });
  let start: Uint8Array | undefined;
  try {
    const opened = await open(part, "w");
    try {
      for await (const piece of pieces) {
        start ??= piece;
        await opened.writeFile(piece);
      }
    } finally {
      await opened.close();
    }
    const own = fileName(artifact.name, artifact, start ?? new Uint8Array());
    const file = below(folder, place, own);
    await mkdir(dirname(file), { recursive: true });
    await rename(part, file);
    return file;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** The last part of an artifact's key, or its name. */
function fileName(name: string, artifact: object, bytes: Uint8Array): string {
  const key = Object.values(artifact).map((one: unknown) =>
    typeof one === "object" && one !== null && "key" in one ? String(one.key) : undefined
  ).find((one) => one !== undefined);
  const isArchive = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return key?.split("/").at(-1) || (isArchive ? `${name}.tgz` : name);
}
