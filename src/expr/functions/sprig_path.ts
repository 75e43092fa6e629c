/** Path and URL functions of sprig. Paths have slashes on every system. */
import { fault } from "../values/error.ts";
import { goFunction } from "./go_call.ts";
import { cleanPath } from "../values/go_path.ts";
import { goKind } from "../values/go_reflect.ts";
import { formatUrl, parseUrl, type Url, userinfoOf } from "./go_url.ts";
import type { RunContext } from "../values/run_context.ts";
import type { GoFunction, ValueMap } from "../values/values.ts";
import { newMap, ownValue, setOwn } from "../values/values.ts";

function base(path: string): string {
  if (path === "") return ".";
  const trimmed = path.replace(/\/+$/, "");
  return trimmed === "" ? "/" : trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

function dir(path: string): string {
  return cleanPath(path.slice(0, path.lastIndexOf("/") + 1));
}

function extension(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".")) : "";
}

function urlParse(text: string): ValueMap {
  const url = parseUrl(text, (reason) => fault(`unable to parse url: ${reason}`));
  const map = newMap();
  setOwn(map, "scheme", url.scheme);
  setOwn(map, "host", url.host);
  setOwn(map, "hostname", url.host.replace(/:[0-9]*$/, "").replace(/^\[([^]*)\]$/, "$1"));
  setOwn(map, "path", url.path);
  setOwn(map, "query", url.query);
  setOwn(map, "opaque", url.opaque);
  setOwn(map, "fragment", url.fragment);
  setOwn(map, "userinfo", url.userinfo ?? "");
  return map;
}

function urlJoin(context: RunContext, parts: ValueMap): string {
  const text = (key: string): string => {
    const value = ownValue(parts, key);
    if (value === undefined) return "";
    if (typeof value === "string") context.step(value.length * 6);
    if (value === null) fault("runtime error: invalid memory address or nil pointer dereference");
    return typeof value === "string"
      ? value
      : fault(`unable to parse ${key} key, must be of type string, but ${goKind(value)} found`);
  };
  const url: Url = {
    scheme: text("scheme"),
    host: text("host"),
    path: text("path"),
    query: text("query"),
    opaque: text("opaque"),
    fragment: text("fragment"),
  };
  const userinfo = text("userinfo");
  if (userinfo !== "") {
    url.userinfo = userinfoOf(userinfo) ??
      fault("unable to parse userinfo in dict: net/url: invalid userinfo");
  }
  return formatUrl(url);
}

/** The path and URL functions, by name. */
export const PATH_FUNCTIONS: readonly GoFunction[] = [
  ...["base", "osBase"].map((name) => goFunction(name, ["string"], (_, path) => base(path))),
  ...["dir", "osDir"].map((name) => goFunction(name, ["string"], (_, path) => dir(path))),
  ...["clean", "osClean"].map((name) => goFunction(name, ["string"], (_, path) => cleanPath(path))),
  ...["ext", "osExt"].map((name) => goFunction(name, ["string"], (_, path) => extension(path))),
  ...["isAbs", "osIsAbs"].map((name) =>
    goFunction(name, ["string"], (_, path) => path.startsWith("/"))
  ),
  goFunction("urlParse", ["string"], (_, text) => urlParse(text)),
  goFunction("urlJoin", ["map[string]interface {}"], urlJoin),
];
