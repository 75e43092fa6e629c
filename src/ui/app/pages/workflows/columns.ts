/** Columns that the visitor adds: values of labels and parameters. */
import type { Workflow } from "../../../../spec/manifest.ts";
import type { ExtraField } from "../../model/rows.ts";

export interface Column {
  title: string;
  /** The member of a workflow that has it. */
  field: ExtraField;
  textOf(workflow: Workflow): string;
}

/** Reads `label:KEY,param:NAME`; whatever is neither is left out. */
export function columnsFrom(text: string): Column[] {
  return text.split(",").flatMap((part): Column[] => {
    const at = part.indexOf(":");
    const [kind, name] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (name === "") return [];
    if (kind === "label") {
      return [{
        title: name,
        field: "metadata.labels",
        textOf: ({ metadata }) => metadata.labels?.[name] ?? "",
      }];
    }
    if (kind !== "param") return [];
    return [{
      title: name,
      field: "spec.arguments",
      textOf: ({ spec }) =>
        String(spec?.arguments?.parameters?.find((one) => one.name === name)?.value ?? ""),
    }];
  });
}
