/** What every command needs: the connection, the namespace, and errors for wrong use. */
import process from "node:process";
import { type Command, Option } from "commander";
import { defined } from "../base/defined.ts";
import { type Client, createClient } from "../client/client.ts";
import { ClientError } from "../client/transport.ts";
import { apiVersionOf, STANDARD_NAMING } from "../spec/naming.ts";
import { say } from "./output.ts";

/** Options of the program, which all commands have. */
export interface GlobalOptions {
  namespace: string;
  server?: string;
  argoServer?: string;
  argoBaseHref?: string;
  secure?: boolean;
  token?: string;
  header?: string[];
}

export interface Context {
  client: Client;
  namespace: string;
  now: () => number;
}

/** Wrong use of the command line: exit status 2. */
export class UsageError extends Error {}

type Environment = Record<string, string | undefined>;

/**
 * Adds the options of the program. If Sluice's own variable is not set, the reference's is read. An empty one is not set,
 * as for the server.
 */
export function addGlobalOptions(program: Command, env: Environment): Command {
  const namespace = env["SLUICE_NAMESPACE"] || env["ARGO_NAMESPACE"] || "default";
  return program
    .option(
      "-n, --namespace <name>",
      "namespace (SLUICE_NAMESPACE, ARGO_NAMESPACE)",
      // Only -A chooses all namespaces.
      (given) => given || namespace,
      namespace,
    )
    .option(
      "-s, --server <address>",
      "http://HOST:PORT or HOST:PORT (SLUICE_SERVER, ARGO_SERVER; otherwise http://127.0.0.1:2746)",
    )
    .addOption(new Option("--argo-server <address>", "same as --server").hideHelp())
    .option("-e, --secure", "use TLS if the address does not say (ARGO_SECURE)")
    .addOption(new Option("--no-secure", "no TLS if the address does not say").hideHelp())
    .option("--argo-base-href <path>", "path in front of the API (ARGO_BASE_HREF)")
    .addOption(
      new Option("--argo-http1", "accepted, without effect: it is always HTTP/1.1").hideHelp(),
    )
    .addOption(
      new Option("--token <token>", "sent as Authorization (SLUICE_TOKEN, ARGO_TOKEN)")
        // Help shows the text, never the token.
        .default(env["SLUICE_TOKEN"] || env["ARGO_TOKEN"], "the variable's value"),
    )
    .option("-H, --header <name:value>", "extra header", collect)
    .addOption(new Option("-v, --verbose", "accepted, without effect").hideHelp())
    .addOption(new Option("--gloglevel <level>", "accepted, without effect").hideHelp())
    .addOption(new Option("--loglevel <level>", "accepted, without effect").hideHelp())
    .addOption(new Option("--log-format <format>", "accepted, without effect").hideHelp());
}

/** The server's URL, without a slash at the end. */
export function serverUrl(options: GlobalOptions, env: Environment): string {
  const given = options.server ?? options.argoServer ?? (env["SLUICE_SERVER"] || undefined);
  const argoServer = env["ARGO_SERVER"] || undefined;
  // A blank or a line end comes with what was read from a file.
  const address = (given ?? argoServer ?? "http://127.0.0.1:2746").trim();
  // With the reference's variables, its default holds too: TLS, unless they say otherwise.
  const isSecure = options.secure ??
    (env["ARGO_SECURE"] ? env["ARGO_SECURE"] !== "false" : given === undefined);
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(address)
    ? address
    : `${isSecure ? "https" : "http"}://${address}`;
  const path = (options.argoBaseHref ?? env["ARGO_BASE_HREF"] ?? "").replace(/^\/+|\/+$/g, "");
  return `${url.replace(/\/+$/, "")}${path === "" ? "" : `/${path}`}`;
}

/** Builds the context from the options of a command and of the program. */
export function contextOf(command: Command): Context {
  return contextFrom(command.optsWithGlobals<GlobalOptions>());
}

/** Builds the context. @throws {UsageError} when an option can't be understood */
export function contextFrom(options: GlobalOptions): Context {
  const headers = Object.fromEntries((options.header ?? []).map((text) => {
    const at = text.indexOf(":");
    if (at < 1) {
      throw new UsageError(`Header ${JSON.stringify(text)} does not have the form NAME:VALUE`);
    }
    return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  }));
  const server = serverUrl(options, process.env);
  // Behind a ? or a # the path of each request would be no part of the path.
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol) || /[?#]/.test(server)) {
    throw new UsageError(
      `The server's address is ${JSON.stringify(server)}, expected http://HOST:PORT or HOST:PORT`,
    );
  }
  if (options.namespace.includes("/")) {
    throw new UsageError(`A namespace has no slash, received ${JSON.stringify(options.namespace)}`);
  }
  const told = new Set<string>();
  const client = createClient({
    server,
    headers,
    // Each once, however many pages lack it.
    onWarning: (text) => {
      if (!told.has(text)) say(`Warning: ${text}`);
      told.add(text);
    },
    ...defined({ token: options.token }),
  });
  return { client, namespace: options.namespace, now: () => Date.now() };
}

/** `apiVersion` of the manifests that a command prints, by the server's `--api-group`. Each command asks once at most. */
export async function manifestVersion({ client }: Context): Promise<string> {
  let version = versions.get(client);
  if (version === undefined) {
    // What is printed may tell of a change: it must not be lost because this cannot be told.
    version = client.call("InfoService_GetInfo", {}).catch(() => ({})).then((info) => {
      const { apiGroup } = info as { apiGroup?: unknown };
      return apiVersionOf(typeof apiGroup === "string" ? { apiGroup } : STANDARD_NAMING);
    });
    versions.set(client, version);
  }
  return await version;
}

const versions = new WeakMap<Client, Promise<string>>();

/** Prefix of the labels and annotations that the server sets (its `--label-prefix`), as the server says. */
export async function labelPrefix({ client }: Context): Promise<string> {
  const info = await client.call("InfoService_GetInfo", {});
  const { labelPrefix } = info;
  return typeof labelPrefix === "string" ? labelPrefix : STANDARD_NAMING.labelPrefix;
}

/** Tells whether the server answered that something does not exist. */
export function isNotFound(error: unknown): error is ClientError {
  return error instanceof ClientError && error.status === 404;
}

/** Splits `name=value` on the first `=`. */
export function pairs(texts: string[] | undefined, what: string): Map<string, string> {
  return new Map((texts ?? []).map((text) => {
    const at = text.indexOf("=");
    if (at < 1) {
      throw new UsageError(
        `Expected ${what} of the form NAME=VALUE, received ${JSON.stringify(text)}`,
      );
    }
    return [text.slice(0, at), text.slice(at + 1)];
  }));
}

/** Collects the values of a repeatable option. */
export function collect(value: string, all: string[] | undefined): string[] {
  return [...(all ?? []), value];
}

/** Reads a whole number. @throws {UsageError} */
export function wholeNumber(option: string): (text: string) => number {
  return (text) => {
    if (!/^-?\d{1,15}$/.test(text)) {
      throw new UsageError(`${option} takes a whole number, received ${JSON.stringify(text)}`);
    }
    return Number(text);
  };
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3600_000, d: 86_400_000 } as const;

/** Reads a length of time such as `90`, `30s`, `1h30m`, `2d` as milliseconds; a bare number is seconds. @throws {UsageError} */
export function lengthOfTime(option: string): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text)) return Number(text) * 1000;
    if (!/^(\d+[smhd])+$/.test(text)) {
      throw new UsageError(
        `${option} takes a length of time such as 30s, 10m, 3h or 2d, received ${
          JSON.stringify(text)
        }`,
      );
    }
    return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS],
      0,
    );
  };
}

/** Ends the help of a command with examples. */
export function example(...lines: string[]): [position: "after", text: string] {
  return ["after", `\nExample${lines.length > 1 ? "s" : ""}:\n  ${lines.join("\n  ")}`];
}
