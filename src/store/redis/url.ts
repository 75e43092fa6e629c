/**
 * Addresses of a Redis store:
 *
 *   redis://[user:password@]host[:6379][/database][?prefix=sluice:]
 *   redis+sentinel://[user:password@]host[:26379],host,…/master[/database][?sentinelUser=…&sentinelPassword=…]
 *   redis+cluster://[user:password@]host[:6379],host,…
 *
 * with `rediss` in place of `redis` for TLS (`?ca=FILE` trusts the authority in that file). User and password are
 * percent-encoded. `?layout=2` keeps the texts of a new store whole, for whoever reads them in Redis.
 */
import { IN_A_PASSWORD } from "../../base/database_url.ts";
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import { NEW_LAYOUTS } from "./terms.ts";

export interface RedisNode {
  host: string;
  port: number;
}

export interface RedisAddress {
  topology: "single" | "sentinel" | "cluster";
  isTls: boolean;
  nodes: RedisNode[];
  /** Name of the master that the sentinels watch. */
  master?: string;
  database: number;
  username?: string;
  password?: string;
  sentinelUsername?: string;
  sentinelPassword?: string;
  /** File with the certificate of the authority to trust, for TLS. */
  caFile?: string;
  /** Prefix of all keys. @default {"sluice:"} */
  prefix: string;
  /** Layout of the store if it is new. @default {3} */
  layout: number;
}

const FORM =
  /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;

/**
 * Reads the address of a store.
 * @throws {Problem} InvalidArgument that never shows the password
 */
export function parseRedisUrl(url: string): RedisAddress {
  const found = FORM.exec(url);
  if (found === null) {
    throw invalid(
      "Invalid Redis URL: expected redis://HOST[:PORT][/DATABASE], redis+sentinel://HOST,HOST/MASTER or redis+cluster://HOST,HOST",
    );
  }
  const [, scheme, kind, credentials = "", hosts = "", path = "", search = ""] = found;
  const topology = kind === "sentinel" || kind === "cluster" ? kind : "single";
  checkEncoded(hosts + path, search);
  const parts = path.split("/");
  const master = topology === "sentinel" ? parts.shift() : undefined;
  if (topology === "sentinel" && !master) {
    throw invalid(
      "Invalid Redis URL: name the master after the sentinels: redis+sentinel://HOST,HOST/MASTER",
    );
  }
  const database = parts[0] === undefined || parts[0] === "" ? 0 : Number(parts[0]);
  const isValidPath = parts.length < 2 && Number.isInteger(database) && database >= 0 &&
    (topology !== "cluster" || database === 0);
  if (!isValidPath) {
    throw invalid(`Invalid Redis URL: /${path} is not a database number (a cluster has none)`);
  }
  const nodes = hosts.split(",").map((host) => parseNode(host, topology));
  if (topology === "single" && nodes.length > 1) {
    throw invalid("Invalid Redis URL: several hosts need redis+sentinel:// or redis+cluster://");
  }
  const [username, password] = parseCredentials(credentials);
  const query = parametersOf(search);
  const sentinelUsername = query.get("sentinelUser");
  const sentinelPassword = query.get("sentinelPassword");
  const caFile = query.get("ca");
  return {
    topology,
    isTls: scheme === "rediss",
    nodes,
    database,
    prefix: query.get("prefix") ?? "sluice:",
    layout: parseLayout(query.get("layout")),
    ...defined({ master, username, password }),
    ...(sentinelUsername !== null && { sentinelUsername }),
    ...(sentinelPassword !== null && { sentinelPassword }),
    ...(caFile !== null && { caFile }),
  };
}

/** Signs in a password that mean something in an address make a part of it a host, a path or a parameter. */
function checkEncoded(place: string, search: string): void {
  const isMeant = PARAMETERS.some((name) => search.startsWith(`${name}=`));
  if (!place.includes("@") && (isMeant || !search.includes("@"))) return;
  throw invalid(`Invalid Redis URL: ${IN_A_PASSWORD}`);
}

const PARAMETERS = ["prefix", "layout", "ca", "sentinelUser", "sentinelPassword"];

/** With a misspelt prefix the server would work on another store. */
function parametersOf(search: string): URLSearchParams {
  const query = new URLSearchParams(search);
  const stranger = [...query.keys()].find((name) => !PARAMETERS.includes(name));
  if (stranger === undefined) return query;
  throw invalid(
    `Invalid Redis URL: it takes no parameter ${JSON.stringify(stranger)}, but ${
      PARAMETERS.join(", ")
    }`,
  );
}

function parseLayout(text: string | null): number {
  const layout = NEW_LAYOUTS.find((one) => text === null || text === String(one));
  if (layout !== undefined) return layout;
  throw invalid(
    `Invalid Redis URL: layout is ${text}, expected one of ${NEW_LAYOUTS.join(", ")}`,
  );
}

function parseNode(text: string, topology: RedisAddress["topology"]): RedisNode {
  const found = /^(\[[^\]]+\]|[^:]+)(?::([0-9]{1,5}))?$/.exec(text);
  const port = Number(found?.[2] ?? (topology === "sentinel" ? 26379 : 6379));
  const host = found?.[1];
  if (host === undefined || port > 65535) {
    throw invalid(`Invalid Redis URL: ${JSON.stringify(text)} is not HOST[:PORT]`);
  }
  return { host: host.replace(/^\[|\]$/g, ""), port };
}

/** `user:password`, `:password` or `password`. */
function parseCredentials(
  text: string,
): [username: string | undefined, password: string | undefined] {
  if (text === "") return [undefined, undefined];
  try {
    const at = text.indexOf(":");
    const password = decodeURIComponent(text.slice(at + 1));
    const username = decodeURIComponent(text.slice(0, Math.max(0, at)));
    return [username === "" ? undefined : username, password];
  } catch {
    throw invalid("Invalid Redis URL: user and password must be percent-encoded");
  }
}
