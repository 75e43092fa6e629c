/** Parameters in the paths of routes. */
import { invalid, notFound } from "../base/problem.ts";
import { noSuchRoute } from "./problems.ts";

/** Paths in the router's notation. A parameter at the end may be empty, and `{path}` may hold slashes. */
export function routerPaths(path: string): string[] {
  const plain = path.replace(/\{path\}$/, ":path{.+}").replace(/\{(\w+)\}/g, ":$1");
  return path.endsWith("}") ? [plain, plain.slice(0, plain.lastIndexOf("/") + 1)] : [plain];
}

/**
 * Reads the parameters of a route's paths.
 * @throws {Problem} for a segment that the reference's router does not match (an escaped slash, a colon at the end), and
 * for a namespace that can't be one
 */
export function paramsReader(template: string): (path: string) => Record<string, string> {
  const names = template.split("/");
  const isApi = template.startsWith("/api/");
  const places = names.flatMap((name, index) =>
    name.startsWith("{") ? [{ name: name.slice(1, -1), index }] : []
  );
  const refuse = () => isApi ? noSuchRoute() : notFound("Not Found");
  return (path) => {
    const segments = path.split("/");
    const params: Record<string, string> = {};
    for (const { name, index } of places) {
      const read = (segment: string): string => {
        const value = segment.includes("%") ? decodeSegment(segment) : segment;
        if (value === undefined || value.includes("/")) throw refuse();
        if (isApi && index === names.length - 1 && value.includes(":")) throw refuse();
        return value;
      };
      const value = name === "path"
        ? segments.slice(index).map(read).join("/")
        : read(segments[index] ?? "");
      if (name === "namespace") checkNamespace(value);
      params[name] = value;
    }
    return params;
  };
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

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
