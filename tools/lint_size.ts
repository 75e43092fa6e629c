/**
 * Deno lint plugin that keeps files and functions small enough to read in one go. Tables and Lua scripts, which are
 * read row by row, are named below. Canary: `tools/lint_size.test.ts`.
 */

/** Most lines of a file under `src`. */
const MAX_FILE_LINES = 400;
/** Most lines of a function under `src`. */
const MAX_FUNCTION_LINES = 60;

/** Tables and Lua scripts: they may be longer. */
const TABLES = new Set([
  // Generated from the declared routes.
  "src/client/operations.ts",
  "src/platform/config.ts",
  "src/spec/manifest.ts",
  "src/spec/support.ts",
  "src/store/redis/scripts.ts",
  "src/store/redis/events/scripts.ts",
  "src/ui/app/texts.ts",
]);

/** Path from `src` on; undefined for tests and for everything outside `src`. */
function sourcePath(file: string): string | undefined {
  const path = /\/(src\/.*)$/.exec(file.replaceAll("\\", "/"))?.[1];
  return path === undefined || /\.test\.ts$/.test(path) || TABLES.has(path) ? undefined : path;
}

/** Why `file` must not have this many lines, or undefined. */
export function fileFault(file: string, lines: number): string | undefined {
  return sourcePath(file) !== undefined && lines > MAX_FILE_LINES
    ? `The file has ${lines} lines: split it, at most ${MAX_FILE_LINES} are allowed`
    : undefined;
}

/** Why a function must not have this many lines, or undefined. */
export function functionFault(file: string, lines: number): string | undefined {
  return sourcePath(file) !== undefined && lines > MAX_FUNCTION_LINES
    ? `The function has ${lines} lines: split it, at most ${MAX_FUNCTION_LINES} are allowed`
    : undefined;
}

interface SyntaxNode {
  range: [number, number];
}

interface RuleContext {
  filename: string;
  sourceCode: { text: string };
  report(finding: { range: [number, number]; message: string }): void;
}

/** Number of lines that a range of a text spans. */
function linesOf(text: string, [from, to]: [number, number]): number {
  let lines = 1;
  for (
    let at = text.indexOf("\n", from);
    at !== -1 && at < to - 1;
    at = text.indexOf("\n", at + 1)
  ) {
    lines++;
  }
  return lines;
}

type Visitor = Record<string, (node: SyntaxNode) => void>;

const plugin: { name: string; rules: Record<string, { create(context: RuleContext): Visitor }> } = {
  name: "size",
  rules: {
    file: {
      create: (context) => ({
        Program() {
          const { text } = context.sourceCode;
          const message = fileFault(context.filename, linesOf(text, [0, text.length]));
          if (message !== undefined) context.report({ range: [0, 1], message });
        },
      }),
    },
    function: {
      create(context) {
        const check = ({ range }: SyntaxNode) => {
          const message = functionFault(context.filename, linesOf(context.sourceCode.text, range));
          if (message !== undefined) context.report({ range: [range[0], range[0] + 1], message });
        };
        return {
          FunctionDeclaration: check,
          FunctionExpression: check,
          ArrowFunctionExpression: check,
        };
      },
    },
  },
};

// Intentionally a default export: Deno lint loads plugins so.
export default plugin;
