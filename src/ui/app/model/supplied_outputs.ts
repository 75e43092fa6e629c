/** Outputs that whoever resumes a waiting step supplies. */
import type { NodeStatus } from "../../../spec/manifest.ts";

export interface SuppliedOutput {
  name: string;
  /** What it has so far, or its default; empty: neither. */
  value: string;
  /** The values that it may have; empty: any. */
  choices: string[];
}

export function suppliedOutputs({ inputs, outputs }: NodeStatus): SuppliedOutput[] {
  return (outputs?.parameters ?? [])
    .filter(({ valueFrom }) => valueFrom?.supplied !== undefined)
    .map(({ name, value, valueFrom }) => {
      const input = inputs?.parameters?.find((one) => one.name === name);
      return {
        name,
        value: String(value ?? input?.value ?? valueFrom?.default ?? ""),
        choices: (input?.enum ?? []).map(String),
      };
    });
}
