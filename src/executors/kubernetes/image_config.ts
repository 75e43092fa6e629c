/**
 * What an image starts by itself, from its registry: a wrapped container needs a command, and where the manifest names
 * none, it is the image's own entrypoint. Speaks the distribution API with Basic or Bearer authentication.
 */
import process from "node:process";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Clock } from "../../platform/clock.ts";
import { readBounded, TooLarge } from "./bounded_body.ts";

/** What an image runs. */
export interface ImageCommand {
  entrypoint: string[];
  cmd: string[];
}

/** Login for registries by host, as in a `.dockerconfigjson`: base64 of `user:password`. */
export type RegistryLogins = Record<string, string>;

/** The registry could not answer, perhaps only for now: it is away, at fault, or asked too often. */
export class RegistryTrouble extends Error {
  override readonly name = "RegistryTrouble";
}

/** An image's name, taken apart. */
export interface ImageName {
  /** Host of the registry's API, with a port where one is given. */
  registry: string;
  repository: string;
  /** Tag or digest. */
  reference: string;
}

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** A tag may point elsewhere later. */
const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 500;
const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Takes an image's name apart as container programs do. */
export function parseImageName(image: string): ImageName {
  const [withTag = "", digest] = image.split("@");
  const slash = withTag.indexOf("/");
  const first = slash < 0 ? "" : withTag.slice(0, slash);
  const isHost = first === "localhost" || /[.:]/.test(first);
  const rest = isHost ? withTag.slice(slash + 1) : withTag;
  const colon = rest.lastIndexOf(":");
  const path = colon < 0 ? rest : rest.slice(0, colon);
  const reference = digest ?? (colon < 0 ? "latest" : rest.slice(colon + 1));
  if (isHost && first !== "docker.io") return { registry: first, repository: path, reference };
  const repository = path.includes("/") ? path : `library/${path}`;
  return { registry: "registry-1.docker.io", repository, reference };
}

/** Reads image configurations and keeps them for a while. */
export class ImageConfigs {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { until: number; command: ImageCommand }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What an image runs. @throws {Error} with the registry's words @throws {RegistryTrouble} when it can't answer */
  async commandOf(image: string, logins: RegistryLogins): Promise<ImageCommand> {
    const name = parseImageName(image);
    const login = loginFor(name.registry, logins);
    const key = `${login ?? ""} ${image}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > this.#clock.monotonic()) return kept.command;
    const command = await readCommand(new Registry(name, login));
    this.#kept.delete(key);
    this.#kept.set(key, { command, until: this.#clock.monotonic() + KEPT_MS });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return command;
  }
}

function loginFor(registry: string, logins: RegistryLogins): string | undefined {
  const names = registry === "registry-1.docker.io"
    ? ["https://index.docker.io/v1/", "index.docker.io", "docker.io"]
    : [registry, `https://${registry}`, `https://${registry}/`, `http://${registry}`];
  return names.map((name) => logins[name]).find((login) => login !== undefined);
}

/** Logins of a `.dockerconfigjson`. */
export function loginsOf(config: Json): RegistryLogins {
  const auths = isJsonObject(config) && isJsonObject(config["auths"]) ? config["auths"] : {};
  return Object.fromEntries(
    Object.entries(auths).flatMap(([host, entry]) => {
      if (!isJsonObject(entry)) return [];
      const { auth, username = "", password = "" } = entry;
      const login = typeof auth === "string"
        ? auth
        : Buffer.from(`${String(username)}:${String(password)}`).toString("base64");
      return [[host, login]];
    }),
  );
}

/** One repository of a registry. */
class Registry {
  readonly name: ImageName;
  readonly #login: string | undefined;
  #authorization: string | undefined;

  constructor(name: ImageName, login: string | undefined) {
    this.name = name;
    this.#login = login;
  }

  /** @throws {Error} when the registry doesn't give it */
  async get(kind: "manifests" | "blobs", reference: string): Promise<JsonObject> {
    const { registry, repository } = this.name;
    const scheme = /^(localhost|127\.\d+\.\d+\.\d+)(:\d+)?$/.test(registry) ? "http" : "https";
    const url = `${scheme}://${registry}/v2/${repository}/${kind}/${reference}`;
    let response = await this.#send(url);
    if (response.status === 401 && this.#authorization === undefined) {
      await response.body?.cancel();
      this.#authorization = await this.#authorize(response.headers.get("www-authenticate") ?? "");
      response = await this.#send(url);
    }
    if (!response.ok) return await refuse(registry, response);
    return await readJson(registry, response);
  }

  #send(url: string): Promise<Response> {
    const headers: Record<string, string> = { accept: MANIFESTS };
    if (this.#authorization !== undefined) headers["authorization"] = this.#authorization;
    return ask(url, headers);
  }

  /** The header that a challenge asks for. */
  async #authorize(challenge: string): Promise<string> {
    const basic = this.#login === undefined ? undefined : `Basic ${this.#login}`;
    if (/^basic/i.test(challenge)) {
      if (basic === undefined) throw new Error(`${this.name.registry} requires a login`);
      return basic;
    }
    const facts = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
    );
    const realm = facts.get("realm") ?? "";
    if (!URL.canParse(realm)) throw new Error(`${this.name.registry} requires a login`);
    const url = new URL(realm);
    const service = facts.get("service");
    if (service !== undefined) url.searchParams.set("service", service);
    url.searchParams.set("scope", `repository:${this.name.repository}:pull`);
    const response = await ask(url.href, basic === undefined ? {} : { authorization: basic });
    if (!response.ok) return await refuse(url.host, response);
    const { token, access_token: access } = await readJson(url.host, response);
    return `Bearer ${String(token ?? access ?? "")}`;
  }
}

/** @throws {RegistryTrouble} without an answer @throws {Error} when there is no such host */
async function ask(url: string, headers: Record<string, string>): Promise<Response> {
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    // What went wrong is in the cause, as a rule.
    const reason = errorText(error instanceof Error ? error.cause ?? error : error);
    const message = `${new URL(url).host}: ${reason}`;
    throw /ENOTFOUND|failed to lookup|no such host/i.test(reason)
      ? new Error(message)
      : new RegistryTrouble(message);
  }
}

async function refuse(host: string, { status, body }: Response): Promise<never> {
  await body?.cancel();
  const message = `${host} answered ${status}`;
  throw status === 429 || status >= 500 ? new RegistryTrouble(message) : new Error(message);
}

/** @throws {RegistryTrouble} when the answer breaks off @throws {Error} when it is too long or no object */
async function readJson(host: string, response: Response): Promise<JsonObject> {
  const bytes = await readBounded(response, MAX_ANSWER_BYTES, `the answer of ${host}`).catch(
    (error) => {
      throw error instanceof TooLarge ? error : new RegistryTrouble(`${host}: ${errorText(error)}`);
    },
  );
  const value = JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
  if (!isJsonObject(value)) throw new Error("the registry's answer is not an object");
  return value;
}

async function readCommand(registry: Registry): Promise<ImageCommand> {
  let manifest = await registry.get("manifests", registry.name.reference);
  const { manifests } = manifest;
  if (Array.isArray(manifests)) {
    // The start of an image is the same on all machines, as good as always.
    const own = process.arch === "arm64" ? "arm64" : "amd64";
    const linux = manifests.filter(isJsonObject).filter(({ platform }) =>
      isJsonObject(platform) && platform["os"] === "linux"
    );
    const chosen = linux.find(({ platform }) =>
      isJsonObject(platform) && platform["architecture"] === own
    ) ?? linux[0];
    if (chosen === undefined) throw new Error("the image has no variant for Linux");
    manifest = await registry.get("manifests", String(chosen["digest"]));
  }
  const { config } = manifest;
  const digest = isJsonObject(config) ? String(config["digest"]) : "";
  const { config: settings } = await registry.get("blobs", digest);
  const { Entrypoint, Cmd } = isJsonObject(settings) ? settings : {};
  return { entrypoint: words(Entrypoint), cmd: words(Cmd) };
}

function words(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
