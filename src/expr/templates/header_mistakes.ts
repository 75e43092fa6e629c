/** What an expression of an event binding asks of headers that is never so. */
import { childrenOf, type Node, stringOf } from "../language/ast.ts";
import { parseExpr } from "../language/parse.ts";
import { ExprCompileError } from "../values/error.ts";

/** Each wrong use of `metadata`, once. None when the expression cannot be read, which has an error of its own. */
export function headerMistakes(source: string): string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    const name = headerOf(node);
    if (name !== undefined && !/^(?:x|ce)-[^A-Z]*$/.test(name)) {
      found.push(
        `${
          shown(name)
        } is never there: names of headers are in lower case and begin with x-, those of a CloudEvent with ce-`,
      );
    }
    if (node.kind === "binary" && /^[!=]=$/.test(node.operator)) {
      noteComparison(node.left, node.right);
      noteComparison(node.right, node.left);
    }
    for (const child of childrenOf(node)) visit(child);
  };
  const noteComparison = (header: Node, value: Node): void => {
    const name = headerOf(header);
    const text = stringOf(value);
    if (name === undefined || text === undefined) return;
    found.push(
      `${shown(name)} is a list and never equals a text: compare it with [${JSON.stringify(text)}]`,
    );
  };
  try {
    visit(parseExpr(source));
  } catch (error) {
    if (!(error instanceof ExprCompileError)) throw error;
  }
  return [...new Set(found)];
}

/** The header that a node reads: `metadata["x-name"]`, `metadata?.name`. */
function headerOf(node: Node): string | undefined {
  if (node.kind === "chain") return headerOf(node.body);
  if (node.kind !== "member" || node.object.kind !== "name") return undefined;
  return node.object.name === "metadata" ? stringOf(node.property) : undefined;
}

function shown(name: string): string {
  return `metadata[${JSON.stringify(name)}]`;
}
