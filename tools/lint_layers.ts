/**
 * Deno lint plugin that keeps the layers apart: who may import whom, which npm packages a folder may use, and that the
 * pure folders use no clock, no randomness and no I/O. The tables below are the architecture; `docs/architecture.md`
 * shows them. Canary: `tools/lint_layers.test.ts` feeds bad modules and expects every rule to fire.
 */

/** Folder under `src` → folders that it may import from, besides itself; "(types)" allows only `import type`. */
export const LAYERS: Record<string, readonly string[]> = {
  base: [],
  expr: ["base"],
  spec: ["base", "expr"],
  engine: ["base", "expr", "spec"],
  simulation: ["base", "expr", "spec", "engine"],
  events: ["base", "expr", "spec"],
  platform: ["base"],
  processes: ["base", "platform"],
  store: ["base", "expr", "spec", "engine (types)", "platform"],
  archive: ["base", "expr", "spec", "platform"],
  artifacts: ["base", "spec", "platform"],
  kubernetes: ["base", "spec", "store (types)", "platform"],
  executors: ["base", "expr", "spec", "engine (types)", "artifacts", "kubernetes", "platform"],
  auth: ["base", "spec"],
  actors: ["base", "spec", "engine", "events", "store", "executors (types)", "platform"],
  service: [
    "base",
    "expr",
    "spec",
    "engine",
    "events",
    "store",
    "executors (types)",
    "artifacts (types)",
    "archive",
    "actors",
    "auth",
    "kubernetes",
    "platform",
  ],
  http: [
    "base",
    "expr",
    "spec",
    "engine (types)",
    "service",
    "auth",
    "actors (types)",
    "store (types)",
    "platform",
  ],
  client: ["base", "spec (types)"],
  ui: ["base", "spec", "client", "auth (types)", "http", "platform (types)"],
  cli: [
    "auth",
    "base",
    "expr",
    "spec",
    "engine",
    "service",
    "simulation",
    "client",
    "platform",
    "events",
    "kubernetes",
  ],
  wiring: [
    "base",
    "expr",
    "spec (types)",
    "store",
    "executors",
    "artifacts",
    "archive",
    "actors",
    "auth",
    "service",
    "http",
    "ui",
    "kubernetes",
    "platform",
    "processes (types)",
  ],
};

/**
 * Folder under `src` → its rooms → rooms of the same folder that each may import from, besides itself. "." stands for
 * the files in the folder itself.
 */
export const ROOMS: Record<string, Record<string, readonly string[]>> = {
  expr: {
    values: [],
    jsonpath: ["values"],
    functions: ["values", "jsonpath"],
    language: ["values", "functions"],
    templates: ["values", "functions", "language"],
    when: ["values"],
    selectors: ["values"],
  },
  spec: {
    ".": ["schema", "validation", "yaml"],
    schema: ["."],
    validation: [".", "schema", "yaml"],
    yaml: [],
  },
  engine: {
    ".": ["cleanup", "life", "locks", "nodes", "orders", "scope", "shutdown", "stored"],
    life: [".", "stored"],
    scope: ["."],
    cleanup: [".", "scope"],
    locks: ["."],
    nodes: [".", "cleanup", "locks", "scope", "shutdown"],
    orders: [".", "life", "nodes", "scope"],
    shutdown: [".", "nodes", "scope"],
    stored: ["."],
  },
  platform: {
    ".": ["traces"],
    files: ["."],
    process: ["."],
    sqlite: ["."],
    traces: ["."],
  },
  store: {
    ".": ["memory", "redis", "sqlite"],
    memory: ["."],
    redis: ["."],
    sqlite: ["."],
  },
  archive: {
    ".": [],
    postgres: ["."],
    sqlite: ["."],
  },
  executors: {
    ".": ["http", "kubernetes", "local", "resource"],
    http: ["."],
    kubernetes: ["."],
    local: ["."],
    resource: [".", "kubernetes"],
  },
  actors: {
    ".": ["replicas", "shard", "webhooks", "workflow"],
    replicas: [".", "shard"],
    shard: [".", "webhooks"],
    webhooks: ["."],
    workflow: ["."],
  },
  service: {
    ".": ["callbacks", "cluster", "events", "history", "manifests", "workflows"],
    manifests: ["."],
    history: ["."],
    workflows: [".", "history", "manifests"],
    artifacts: [".", "manifests", "workflows"],
    cluster: [".", "manifests", "workflows"],
    callbacks: [".", "history", "workflows"],
    cron: [".", "manifests", "workflows"],
    logs: [".", "artifacts", "workflows"],
    stores: [],
    events: [".", "manifests", "workflows"],
  },
  http: {
    ".": [],
    routes: ["."],
  },
  ui: {
    ".": ["app"],
    app: [],
  },
  cli: {
    ".": ["migrate"],
    migrate: ["."],
  },
};

/** npm packages each pure folder may use. Other folders may use any dependency. */
export const PURE: Record<string, readonly string[]> = {
  base: [],
  expr: ["@noble/hashes", "jsep", "re2js", "semver"],
  spec: ["@noble/hashes", "yaml"],
  engine: [],
  simulation: [],
  events: [],
};

const PURE_GLOBALS = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "fetch",
  "crypto",
  "process",
  "Deno",
  "console",
  "performance",
]);

function folderOf(file: string): string | undefined {
  const match = /\/src\/([^/]+)\//.exec(file.replaceAll("\\", "/"));
  return match?.[1];
}

/** The room of a file, by its path below its folder: "." for the folder itself. */
function roomOf(file: string): string {
  return /\/src\/[^/]+\/([^/]+)\//.exec(file.replaceAll("\\", "/"))?.[1] ?? ".";
}

/** Reason why one room of a folder must not import from another, or undefined. */
function roomFault(folder: string, from: string, to: string): string | undefined {
  const allowed = ROOMS[folder]?.[from];
  if (allowed === undefined && from !== ".") {
    return `Room src/${folder}/${from} is not in the table of rooms in tools/lint_layers.ts`;
  }
  if (from === to || allowed === undefined || allowed.includes(to)) return undefined;
  return `${folder}/${from} must not import ${folder}/${to}: it may import ${
    allowed.join(", ") || "no other room"
  }`;
}

function isTest(file: string): boolean {
  return /\.(test|property\.test)\.ts$/.test(file);
}

/**
 * Reason why `file` must not import `source`, or undefined.
 *
 * @param isType only types are imported, by `import type`
 */
export function importFault(file: string, source: string, isType = false): string | undefined {
  const folder = folderOf(file);
  if (folder === undefined || isTest(file)) return undefined;
  const allowed = LAYERS[folder];
  if (allowed === undefined) {
    return `Folder src/${folder} is not in the layer table of tools/lint_layers.ts`;
  }
  if (source.startsWith(".")) {
    const here = file.replaceAll("\\", "/").replace(/\/[^/]*$/, "");
    const target = new URL(source, `file://${here}/`).pathname;
    const other = folderOf(target);
    if (other === undefined) {
      if (/\/src\/[^/]+\.ts$/.test(target)) {
        return `${folder} must not import ${source}: it is above every layer`;
      }
      return /\/(test|tools|bench)\//.test(target)
        ? `src must not import from ${source}`
        : undefined;
    }
    if (other === folder) return roomFault(folder, roomOf(file), roomOf(target));
    if (allowed.includes(other)) return undefined;
    if (allowed.includes(`${other} (types)`)) {
      return isType ? undefined : `${folder} may import only types from ${other}`;
    }
    return `${folder} must not import ${other}: it may import ${
      allowed.join(", ") || "nothing of ours"
    }`;
  }
  const pure = PURE[folder];
  if (pure === undefined) return undefined;
  if (pure.some((name) => source === name || source.startsWith(`${name}/`))) return undefined;
  return `${folder} is pure: it must not import "${source}"`;
}

/** Reason why a pure file must not use a global, or undefined. */
export function globalFault(file: string, name: string): string | undefined {
  const folder = folderOf(file);
  if (folder === undefined || isTest(file) || !(folder in PURE)) return undefined;
  return PURE_GLOBALS.has(name)
    ? `${folder} is pure: it must not use ${name}; let the caller pass what it gives`
    : undefined;
}

/** Reason why a pure file must not use `object.property`, or undefined. */
export function memberFault(file: string, object: string, property: string): string | undefined {
  const folder = folderOf(file);
  if (folder === undefined || isTest(file) || !(folder in PURE)) return undefined;
  const name = `${object}.${property}`;
  if (name !== "Date.now" && name !== "Math.random") return undefined;
  return `${folder} is pure: it must not use ${name}; time and randomness come in with the call`;
}

/** The part of a syntax node that the rules look at. */
interface SyntaxNode {
  type: string;
  name?: string;
  value?: unknown;
  source?: SyntaxNode | null;
  importKind?: string;
  exportKind?: string;
  callee?: SyntaxNode;
  object?: SyntaxNode;
  property?: SyntaxNode;
  arguments?: SyntaxNode[];
}

interface RuleContext {
  filename: string;
  report(finding: { node: SyntaxNode; message: string }): void;
}

type Visitor = Record<string, (node: SyntaxNode) => void>;

const plugin: { name: string; rules: Record<string, { create(context: RuleContext): Visitor }> } = {
  name: "layers",
  rules: {
    imports: {
      create(context) {
        const check = (node: SyntaxNode) => {
          const source = node.source?.value;
          const isType = node.importKind === "type" || node.exportKind === "type";
          const fault = typeof source === "string"
            ? importFault(context.filename, source, isType)
            : undefined;
          if (fault !== undefined) context.report({ node, message: fault });
        };
        return {
          ImportDeclaration: check,
          ExportNamedDeclaration: check,
          ExportAllDeclaration: check,
        };
      },
    },
    pure: {
      create(context) {
        const report = (node: SyntaxNode, fault: string | undefined) => {
          if (fault !== undefined) context.report({ node, message: fault });
        };
        return {
          CallExpression(node) {
            if (node.callee?.type === "Identifier") {
              report(node, globalFault(context.filename, node.callee.name ?? ""));
            }
          },
          NewExpression(node) {
            const clock = node.callee?.name === "Date" && node.arguments?.length === 0;
            if (clock) report(node, memberFault(context.filename, "Date", "now"));
          },
          MemberExpression(node) {
            if (node.object?.type !== "Identifier") return;
            const object = node.object.name ?? "";
            const property = node.property?.type === "Identifier" ? node.property.name ?? "" : "";
            report(
              node,
              memberFault(context.filename, object, property) ??
                globalFault(context.filename, object),
            );
          },
        };
      },
    },
  },
};

// Intentionally a default export: Deno lint loads plugins so.
export default plugin;
