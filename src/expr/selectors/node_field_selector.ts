/** Node field selectors: which nodes of a workflow resume, stop, set and retry act on. */
import { invalid } from "../../base/problem.ts";
import { type FieldTerm, matchesFields, parseFieldSelector } from "./field_selector.ts";

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

/**
 * Reads a node field selector; empty terms are skipped.
 * @throws {Problem} InvalidArgument as `parseFieldSelector`, and when all terms are empty: that would select every node
 */
export function parseNodeFieldSelector(text: string): FieldTerm[] {
  const terms = parseFieldSelector(text);
  if (terms.length === 0 && text !== "") {
    throw invalid(
      `invalid selector: '${text}' has only empty terms; write FIELD=VALUE, or no selector at all`,
    );
  }
  return terms;
}

const INPUT = /^inputs\.parameters\.(.*)\.value$/s;

/**
 * Tells whether a node is selected. Terms come from `parseNodeFieldSelector`; a field that the node lacks, or that does
 * not exist at all, is empty.
 */
export function matchesNode(terms: readonly FieldTerm[], node: SelectableNode): boolean {
  return matchesFields(terms, (field) => nodeField(node, field));
}

function nodeField(node: SelectableNode, field: string): string | undefined {
  switch (field) {
    case "id":
      return node.id;
    case "name":
      return node.name;
    case "displayName":
      return node.displayName;
    case "phase":
      return node.phase;
    case "templateName":
      return node.templateRef === undefined ? node.templateName : node.templateRef.template;
    case "templateRef.name":
      return node.templateRef?.name;
    case "templateRef.template":
      return node.templateRef?.template;
    default: {
      const name = INPUT.exec(field)?.[1];
      return name === undefined
        ? undefined
        : node.inputs?.parameters?.findLast((parameter) => parameter.name === name)?.value;
    }
  }
}
