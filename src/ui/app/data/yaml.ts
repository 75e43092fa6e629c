/** Writes YAML. What writes it is loaded when the first text is needed. */
import { useEffect, useMemo, useState } from "preact/hooks";

/** A value as YAML; undefined until the writer is loaded. */
export function useYaml(value: unknown): string | undefined {
  const [write, setWrite] = useState<((one: unknown) => string) | undefined>(undefined);
  useEffect(() => {
    void import("yaml").then(({ stringify }) =>
      setWrite(() => (one: unknown) => stringify(one, { lineWidth: 0 }))
    );
  }, []);
  return useMemo(
    // What is undefined is not there.
    () => write?.(JSON.parse(JSON.stringify(value))),
    [value, write],
  );
}
