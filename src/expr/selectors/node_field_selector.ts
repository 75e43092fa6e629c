/**
 * Node field selectors: which nodes of a workflow resume, stop, set and retry act on. Beside the terms of a field selector there
 * is `FIELD in (VALUE,VALUE)`, which names several nodes at once. In these values `\)` stands for `)`, and blanks around them do
 * not count. Field selectors of Kubernetes have no such term and refuse it, so it changes no selector that means something there.
 */
import { invalid } from "../../base/problem.ts";
import { type FieldTerm, holds, parseFieldSelector, termEnd } from "./field_selector.ts";
import { checkSelectorLength, checkTermCount } from "./limits.ts";

/** The members of a node that selectors can name. */
export interface SelectableNode {
  id: string;
  name: string;
  displayName?: string;
  phase?: string;
  templateName?: string | undefined;
  templateRef?: { name?: string; template?: string } | undefined;
  inputs?: { parameters?: readonly { name: string; value?: string }[] } | undefined;
}

/** One of several values. */
export interface SetTerm {
  field: string;
  operator: "in";
  values: ReadonlySet<string>;
}

export type NodeTerm = FieldTerm | SetTerm;

const SET_BEGIN = /([^=!,()\\\s]+)\s+in\s*\(/y;

/**
 * Reads a node field selector; empty terms are skipped.
 * @throws {Problem} InvalidArgument as `parseFieldSelector`, when the values of `in` do not end, and when all terms are empty:
 * that would select every node
 */
export function parseNodeFieldSelector(text: string): NodeTerm[] {
  checkSelectorLength("node field selector", text);
  const terms = text.includes("(") ? termsWithSets(text) : parseFieldSelector(text);
  checkTermCount("node field selector", terms.length);
  if (terms.length === 0 && text !== "") {
    throw invalid(
      `invalid selector: '${text}' has only empty terms; write FIELD=VALUE, or no selector at all`,
    );
  }
  return terms;
}

function termsWithSets(text: string): NodeTerm[] {
  const sets: SetTerm[] = [];
  const others: string[] = [];
  for (let at = 0; at <= text.length;) {
    SET_BEGIN.lastIndex = at;
    const begin = SET_BEGIN.exec(text);
    if (begin === null) {
      const end = termEnd(text, at);
      others.push(text.slice(at, end));
      at = end + 1;
    } else {
      const end = setEnd(text, SET_BEGIN.lastIndex);
      sets.push(setTerm(begin[1] ?? "", text.slice(SET_BEGIN.lastIndex, end)));
      at = end + 2;
    }
  }
  return [...parseFieldSelector(others.join(",")), ...sets];
}

/** Where the `)` of a set term stands. @throws {Problem} InvalidArgument when there is none, or more follows than the next term */
function setEnd(text: string, from: number): number {
  const end = termEnd(text, from, ")");
  if (end >= text.length || !["", ","].includes(text.charAt(end + 1))) {
    throw invalid(
      `invalid selector: '${text}'; write FIELD in (VALUE,VALUE), and \\) for a ) in a value`,
    );
  }
  return end;
}

function setTerm(field: string, list: string): SetTerm {
  const values = new Set<string>();
  for (let at = 0; at <= list.length;) {
    const end = termEnd(list, at);
    values.add(list.slice(at, end).trim().replace(/\\([\\,=)])/g, "$1"));
    at = end + 1;
  }
  return { field, operator: "in", values };
}

const INPUT = "inputs.parameters.";
const VALUE = ".value";

/**
 * Tells whether a node is selected. Terms come from `parseNodeFieldSelector`. An input parameter that the node lacks, and a
 * field that no node has, equal nothing, not even empty text: whoever fills in an id that is empty must not select every node.
 */
export function matchesNode(terms: readonly NodeTerm[], node: SelectableNode): boolean {
  return terms.every((term) => {
    const text = nodeField(node, term.field);
    if (text === undefined) return term.operator === "!=";
    return term.operator === "in" ? term.values.has(text) : holds(term, text);
  });
}

/** The first field of a selector that no node has. */
export function unknownNodeField(terms: readonly NodeTerm[]): string | undefined {
  return terms.find(({ field }) => !NODE_FIELDS.has(field) && !isInputValue(field))?.field;
}

/** What selectors can name, for messages. */
export const NODE_FIELD_NAMES =
  "displayName, templateName, phase, name, id, templateRef.name, templateRef.template and inputs.parameters.NAME.value";

const NODE_FIELDS: ReadonlySet<string> = new Set(NODE_FIELD_NAMES.split(/, | and /));

function isInputValue(field: string): boolean {
  return field.startsWith(INPUT) && field.endsWith(VALUE) &&
    field.length > INPUT.length + VALUE.length;
}

/** Undefined for what the node cannot have; a member of every node that is absent counts as empty. */
function nodeField(node: SelectableNode, field: string): string | undefined {
  switch (field) {
    case "id":
      return node.id;
    case "name":
      return node.name;
    case "displayName":
      return node.displayName ?? "";
    case "phase":
      return node.phase ?? "";
    case "templateName":
      return (node.templateRef === undefined ? node.templateName : node.templateRef.template) ?? "";
    case "templateRef.name":
      return node.templateRef?.name ?? "";
    case "templateRef.template":
      return node.templateRef?.template ?? "";
    default: {
      const parameters = node.inputs?.parameters;
      if (parameters === undefined || !isInputValue(field)) return undefined;
      const name = field.slice(INPUT.length, -VALUE.length);
      const found = parameters.findLast((parameter) => parameter.name === name);
      return found === undefined ? undefined : found.value ?? "";
    }
  }
}
