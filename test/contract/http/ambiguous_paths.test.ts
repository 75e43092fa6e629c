/** No name of a namespace or an object leads to another route or page than its own, not even the words of other paths. */
import { expect, test } from "vitest";
import { ROUTES } from "../../../src/http/routes/all.ts";
import { bindingPath, eventPath, PAGES, placeOf, workflowPath } from "../../../src/ui/app/paths.ts";

const PATHS = [
  ...ROUTES.map(({ method, path }) => ({ method: method as string, path })),
  ...PAGES.map(({ path }) => ({ method: "GET", path: path.replaceAll(/:(\w+)/g, "{$1}") })),
];
const isParam = (part: string) => part.startsWith("{");
const WORDS = [
  ...new Set(
    PATHS.flatMap(({ path }) => path.split("/")).filter((one) => one !== "" && !isParam(one)),
  ),
];

function matches(pattern: string, path: string): boolean {
  const [parts, given] = [pattern.split("/"), path.split("/")];
  // The last parameter takes the rest of the path if it is called so.
  const isRest = parts.at(-1) === "{path}";
  if (isRest ? given.length < parts.length : given.length !== parts.length) return false;
  return parts.every((part, at) => isParam(part) || part === given[at]);
}

test("no two paths of routes and pages can be the same", () => {
  const clashes = new Set<string>();
  for (const { method, path } of PATHS) {
    const others = PATHS.filter((one) => one.method === method && one.path !== path);
    for (const param of path.match(/\{\w+\}/g) ?? []) {
      for (const word of WORDS) {
        const filled = path.replace(param, word).replaceAll(/\{\w+\}/g, "x");
        for (const other of others.filter((one) => matches(one.path, filled))) {
          clashes.add(`${method} ${filled}: ${path} and ${other.path}`);
        }
      }
    }
  }
  expect([...clashes]).toEqual([]);
});

test.each(WORDS)(
  "a namespace, a workflow, an event and a binding named %s have their pages",
  (word) => {
    expect(placeOf(eventPath(word, word))).toEqual({
      key: "event",
      params: { namespace: word, id: word },
    });
    for (const [key, path] of [["binding", bindingPath], ["workflow", workflowPath]] as const) {
      expect(placeOf(path(word, word))).toEqual({ key, params: { namespace: word, name: word } });
    }
  },
);
