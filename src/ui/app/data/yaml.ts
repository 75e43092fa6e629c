/** Reads and writes YAML. What does so is loaded when the first text is needed. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { YAML_OPTIONS } from "../../../spec/yaml/options.ts";

/** Texts that YAML 1.1 reads as something else (`yes`, `0755`) are quoted: manifests are read as YAML 1.1. */
export const YAML_FORM = { lineWidth: 0, version: "1.1" } as const;

/** A value as YAML; undefined until the writer is loaded. If it cannot be, as JSON, which is YAML too. */
export function useYaml(value: unknown): string | undefined {
  const [write, setWrite] = useState<((one: unknown) => string) | undefined>(undefined);
  useEffect(() => {
    void import("yaml").then(
      ({ stringify }) => setWrite(() => (one: unknown) => stringify(one, YAML_FORM)),
      () => setWrite(() => (one: unknown) => JSON.stringify(one, null, 2)),
    );
  }, []);
  return useMemo(
    // What is undefined is not there.
    () => write?.(JSON.parse(JSON.stringify(value))),
    [value, write],
  );
}

/** @throws {Error} with the line of what is no YAML */
export async function readYaml<Value>(text: string): Promise<Value> {
  const { yamlValue } = await import("../../../spec/yaml/documents.ts");
  return yamlValue(text, YAML_OPTIONS) as Value;
}
