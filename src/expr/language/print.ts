/** Writes a syntax tree as source. Parsing that source gives the same tree again. */

import { type Node, stringOf } from "./ast.ts";
import { floatText } from "../values/go_text.ts";
import type { Value } from "../values/values.ts";

/** Writes an expression, with parentheses around every operation. */
export function printExpr(node: Node): string {
  switch (node.kind) {
    case "literal":
      return printValue(node.value);
    case "name":
      return node.name;
    case "pointer":
      return `#${node.name}`;
    case "unary":
      return `${node.operator === "not" ? "not " : node.operator}${operand(node.operand)}`;
    case "binary":
      return `${operand(node.left)} ${node.operator} ${operand(node.right)}`;
    case "chain":
      return printExpr(node.body);
    case "member":
    case "slice":
    case "call":
      return printLink(node);
    case "builtin":
      return `${node.name}(${node.args.map(argument).join(", ")})`;
    case "predicate":
      return `{${printExpr(node.body)}}`;
    case "conditional":
      return `${operand(node.test)} ? ${operand(node.yes)} : ${operand(node.no)}`;
    case "let":
      return `let ${node.name} = ${operand(node.value)}; ${printExpr(node.body)}`;
    case "sequence":
      return node.parts.map(operand).join("; ");
    case "array":
      return `[${node.items.map(operand).join(", ")}]`;
    case "map":
      return `{${
        node.pairs.map(({ key, value }) => `${printKey(key)}: ${operand(value)}`).join(", ")
      }}`;
  }
}

function printLink(node: Node & { kind: "member" | "slice" | "call" }): string {
  if (node.kind === "call") return `${linked(node.callee)}(${node.args.map(argument).join(", ")})`;
  if (node.kind === "slice") {
    const bounds = [node.from, node.to].map((bound) => bound === undefined ? "" : operand(bound));
    return `${linked(node.object)}[${bounds.join(":")}]`;
  }
  const name = stringOf(node.property);
  const object = linked(node.object);
  const mark = node.isOptional ? "?." : "";
  // A dot would continue a chain that parentheses have ended.
  if (name !== undefined && isWord(name) && node.object.kind !== "chain") {
    return `${object}${node.isOptional ? "?." : "."}${name}`;
  }
  return `${object}${mark}[${operand(node.property)}]`;
}

function isWord(name: string): boolean {
  return /^[\p{L}_$][\p{L}\p{Nd}_$]*$/u.test(name);
}

/** Tells whether links can follow a node without parentheses. */
const LINKABLE = new Set<Node["kind"]>([
  ...["name", "pointer", "chain", "member", "slice", "call", "builtin", "array", "map"] as const,
]);

function linked(node: Node): string {
  const isText = node.kind === "literal" &&
    (typeof node.value === "string" || Array.isArray(node.value));
  return LINKABLE.has(node.kind) || isText ? printExpr(node) : `(${printExpr(node)})`;
}

function operand(node: Node): string {
  const isSimple = LINKABLE.has(node.kind) || node.kind === "literal";
  return isSimple ? printExpr(node) : `(${printExpr(node)})`;
}

function argument(node: Node): string {
  return node.kind === "predicate" ? printExpr(node) : operand(node);
}

function printKey(key: Node): string {
  const name = stringOf(key);
  return name === undefined ? `(${printExpr(key)})` : printValue(name);
}

function printValue(value: Value): string {
  if (value === null) return "nil";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return printFloat(value);
  if (value instanceof Uint8Array) return printBytes(value);
  if (Array.isArray(value)) return `[${value.map(printValue).join(", ")}]`;
  return String(value);
}

/** A float keeps a point or an exponent, so that it stays a float. */
function printFloat(value: number): string {
  const text = floatText(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function printBytes(bytes: Uint8Array): string {
  const escaped = Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`);
  return `b"${escaped.join("")}"`;
}
