/** Outputs that whoever resumes a waiting step supplies. */
import type { NodeStatus } from "../../../spec/manifest.ts";

export interface SuppliedOutput {
  name: string;
  /** What it has so far, or its default; empty: neither. */
  value: string;
  /** The values that it may have; empty: any. */
  choices: string[];
  /** What the step says about it. */
  description?: string;
}

export function suppliedOutputs({ inputs, outputs }: NodeStatus): SuppliedOutput[] {
  return (outputs?.parameters ?? [])
    .filter(({ valueFrom }) => valueFrom?.supplied !== undefined)
    .map(({ name, value, valueFrom, ...output }) => {
      const input = inputs?.parameters?.find((one) => one.name === name);
      const description = output.description ?? input?.description;
      return {
        ...(description !== undefined && { description }),
        name,
        value: String(value ?? input?.value ?? valueFrom?.default ?? ""),
        choices: (input?.enum ?? []).map(String),
      };
    });
}
