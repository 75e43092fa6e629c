/**
 * Deno lint plugin that keeps the layers apart: who may import whom, which npm packages a folder may use, and that the
 * pure folders touch no clock, no randomness and no I/O. The tables below are the architecture; `docs/architecture.md`
 * explains them. Canary: `tools/lint_layers.test.ts` feeds bad modules and expects every rule to fire.
 */

/** Folder under `src` → folders it may import from, besides its own. */
export const LAYERS: Record<string, readonly string[]> = {
  base: [],
  expr: ["base"],
  spec: ["base", "expr"],
  engine: ["base", "expr", "spec"],
  simulation: ["base", "expr", "spec", "engine"],
  events: ["base", "expr", "spec"],
  platform: ["base"],
  store: ["base", "expr", "spec", "engine", "platform"],
  artifacts: ["base", "spec", "platform"],
  kubernetes: ["base", "spec", "store", "platform"],
  executors: ["base", "expr", "spec", "engine", "artifacts", "kubernetes", "platform"],
  auth: ["base", "expr", "spec", "platform"],
  actors: [
    "base",
    "expr",
    "spec",
    "engine",
    "events",
    "store",
    "executors",
    "artifacts",
    "platform",
  ],
  service: [
    "base",
    "expr",
    "spec",
    "engine",
    "events",
    "store",
    "executors",
    "artifacts",
    "actors",
    "auth",
    "kubernetes",
    "platform",
  ],
  http: ["base", "expr", "spec", "engine", "service", "auth", "actors", "store", "platform"],
  client: ["base", "spec"],
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
  ],
};

/** npm packages each pure folder may use. Other folders may use any dependency. */
export const PURE: Record<string, readonly string[]> = {
  base: [],
  expr: ["jsep", "re2js", "semver"],
  spec: ["yaml"],
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

function isTest(file: string): boolean {
  return /\.(test|property\.test)\.ts$/.test(file);
}

/** Reason why `file` must not import `source`, or undefined. */
export function importFault(file: string, source: string): string | undefined {
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
    if (other === folder || allowed.includes(other)) return undefined;
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
          const fault = typeof source === "string"
            ? importFault(context.filename, source)
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
