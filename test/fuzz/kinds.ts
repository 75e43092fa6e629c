/** The kinds of fuzzed input. Each is loaded only where it is used. */
import type { FuzzKind } from "./kind.ts";

const LOADERS: Record<string, () => Promise<unknown>> = {
  expression: async () => (await import("./kinds/expression.ts")).EXPRESSION,
  template: async () => (await import("./kinds/template.ts")).TEMPLATE,
  when: async () => (await import("./kinds/when.ts")).WHEN,
  jsonpath: async () => (await import("./kinds/jsonpath.ts")).JSONPATH,
  selector: async () => (await import("./kinds/selector.ts")).SELECTOR,
  manifest: async () => (await import("./kinds/manifest.ts")).MANIFEST,
  archive: async () => (await import("./kinds/archive.ts")).ARCHIVE,
  event: async () => (await import("./kinds/event.ts")).EVENT,
  http: async () => (await import("./kinds/http.ts")).HTTP,
  callback: async () => (await import("./kinds/callback.ts")).CALLBACK,
  record: async () => (await import("./kinds/record.ts")).RECORD,
  queue: async () => (await import("./kinds/queue.ts")).QUEUE,
};

/** Names of all kinds. */
export const KIND_NAMES: readonly string[] = Object.keys(LOADERS);

/** Loads a kind. @throws {RangeError} when there is none of this name */
export async function loadKind(name: string): Promise<FuzzKind<unknown>> {
  const load = Object.hasOwn(LOADERS, name) ? LOADERS[name] : undefined;
  if (load === undefined) {
    throw new RangeError(`There is no kind "${name}", only ${KIND_NAMES.join(", ")}`);
  }
  return await load() as FuzzKind<unknown>;
}
