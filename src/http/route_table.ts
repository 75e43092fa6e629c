/** Finds the declared route of a request, and the parameters in its path. */
import { invalid, notFound } from "../base/problem.ts";
import { noSuchRoute } from "./problems.ts";

/** Paths in the notation of Hono's router. A parameter at the end may be empty, and `{path}` may hold slashes. */
export function routerPaths(path: string): string[] {
  const plain = path.replace(/\{path\}$/, ":path{.+}").replace(/\{(\w+)\}/g, ":$1");
  return path.endsWith("}") ? [plain, plain.slice(0, plain.lastIndexOf("/") + 1)] : [plain];
}

/** Where a path may go on after some of its segments. */
interface Place<T> {
  words: Map<string, Place<T>>;
  /** After a parameter. */
  param: Place<T> | undefined;
  /** Routes that end here, by method. */
  ends: Map<string, T>;
  /** Routes that take whatever follows, by method. */
  rests: Map<string, T>;
}

function newPlace<T>(): Place<T> {
  return { words: new Map(), param: undefined, ends: new Map(), rests: new Map() };
}

/** Declared routes by method and path. No two paths can be the same, whatever stands for their parameters. */
export class RouteTable<T> {
  readonly #root: Place<T> = newPlace();
  readonly #methods = new Set<string>();

  /** @param path with parameters in braces */
  add(method: string, path: string, route: T): void {
    this.#methods.add(method);
    let place = this.#root;
    for (const word of path.slice(1).split("/")) {
      if (word === "{path}") {
        place.rests.set(method, route);
        return;
      }
      if (word.startsWith("{")) place = place.param ??= newPlace();
      else {
        let next = place.words.get(word);
        if (next === undefined) place.words.set(word, next = newPlace());
        place = next;
      }
    }
    place.ends.set(method, route);
  }

  /** The route of a clean path, as `rawTarget` gives it; undefined when there is none. */
  find(method: string, path: string): T | undefined {
    return findBelow(this.#root, method, path, 1);
  }

  /** The methods that a path has routes for. */
  methodsOf(path: string): string[] {
    return [...this.#methods].filter((method) => this.find(method, path) !== undefined);
  }
}

/** @param from where the next segment begins */
function findBelow<T>(place: Place<T>, method: string, path: string, from: number): T | undefined {
  const end = endOf(path, from);
  const isLast = end === path.length;
  const word = path.slice(from, end);
  const named = place.words.get(word);
  const found = named &&
    (isLast ? named.ends.get(method) : findBelow(named, method, path, end + 1));
  if (found !== undefined) return found;
  const { param } = place;
  // Only at its end a path may have an empty segment.
  if (param !== undefined && (isLast || word !== "")) {
    const after = isLast ? param.ends.get(method) : findBelow(param, method, path, end + 1);
    if (after !== undefined) return after;
  }
  return place.rests.get(method);
}

/**
 * Reads the parameters of a route's paths.
 * @throws {Problem} for a segment that the reference's router does not match (an escaped slash, a colon at the end),
 * for one that can't be decoded or holds a NUL, and for a namespace that can't be one
 */
export function paramsReader(template: string): (path: string) => Record<string, string> {
  const names = template.split("/");
  const isApi = template.startsWith("/api/");
  const places = names.flatMap((name, index) =>
    name.startsWith("{") ? [{ name: name.slice(1, -1), index }] : []
  );
  const read = (segment: string, index: number): string => {
    const value = segment.includes("%") ? decodeSegment(segment) : segment;
    const isWrong = value.includes("/") ||
      (isApi && index === names.length - 1 && value.includes(":"));
    if (isWrong) throw isApi ? noSuchRoute() : notFound("Not Found");
    return value;
  };
  return (path) => {
    const params: Record<string, string> = {};
    let from = 0;
    let at = 0;
    for (const { name, index } of places) {
      for (; at < index && from <= path.length; at++) from = endOf(path, from) + 1;
      const value = name === "path"
        ? path.slice(from).split("/").map((segment) => read(segment, index)).join("/")
        : read(path.slice(from, endOf(path, from)), index);
      if (name === "namespace") checkNamespace(value);
      // SQLite as Deno has it gives a text back only up to there: an event would have another discriminator.
      if (value.includes("\0")) {
        throw invalid(`${JSON.stringify(value)} in the path holds a NUL, which no name has`);
      }
      params[name] = value;
    }
    return params;
  };
}

/** Where the segment ends that begins at a position. */
function endOf(path: string, from: number): number {
  const slash = path.indexOf("/", from);
  return slash < 0 ? path.length : slash;
}

/** Kubernetes allows what may be a label of a domain name. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Checked here for all routes, so that no other name gets into keys, logs or rules. @param name "" where the path has none */
function checkNamespace(name: string): void {
  if (name === "" || NAMESPACE.test(name)) return;
  throw invalid(
    `${
      JSON.stringify(name)
    } in the path can't be a namespace: that has 1 to 63 lower-case letters, digits and hyphens, ` +
      "and begins and ends with a letter or digit",
  );
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid(
      `${
        JSON.stringify(segment)
      } in the path can't be decoded: after each "%" come the two hexadecimal digits of a ` +
        'byte of UTF-8 text; a percent sign itself is "%25"',
    );
  }
}
