/** Fields for the parameters of a workflow that runs again. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Parameter, Workflow } from "../../../../spec/manifest.ts";
import { readTemplate } from "../../data/templates.ts";
import { Loading } from "../../parts/basics.tsx";
import { ValueField } from "../../parts/value_field.tsx";
import { TEXTS } from "../../texts.ts";

type Values = Record<string, string>;

/** Those that were changed, as the API takes them. */
export function parameterTexts(values: Values): { parameters?: string[] } {
  const parameters = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return parameters.length > 0 ? { parameters } : {};
}

/** The workflow's own, and those of its template that it did not override. What has a value here has no description. */
function parametersOf({ spec, status }: Workflow): readonly Parameter[] {
  const own = spec.arguments?.parameters ?? [];
  const names = new Set(own.map(({ name }) => name));
  const others = status?.storedWorkflowTemplateSpec?.arguments?.parameters ?? [];
  return [...own, ...others.filter(({ name }) => !names.has(name))];
}

/** The parameters as the workflow's template describes them now; undefined: not known yet. */
function useDescribed({ metadata, spec }: Workflow): readonly Parameter[] | undefined {
  const { name, clusterScope = false } = spec.workflowTemplateRef ?? {};
  const { namespace = "" } = metadata;
  const [found, setFound] = useState<readonly Parameter[] | undefined>(name ? undefined : []);
  useEffect(() => {
    if (!name) return;
    const stop = new AbortController();
    const { signal } = stop;
    const read = async () => {
      const place = { namespace: clusterScope ? "" : namespace, name };
      const template = await readTemplate(place, signal);
      setFound(template.spec.arguments?.parameters ?? []);
    };
    // Whoever may not read it, or comes when it is deleted, fills in plain fields.
    read().catch(() => !signal.aborted && setFound([]));
    return () => stop.abort();
  }, [namespace, name, clusterScope]);
  return found;
}

interface ParameterFieldsProps {
  workflow: Workflow;
  /** Who gets the values. */
  hint: string;
  values: Values;
  setValues: (values: Values) => void;
}

export function ParameterFields(
  { workflow, hint, values, setValues }: ParameterFieldsProps,
): JSX.Element | null {
  const described = useDescribed(workflow);
  if (described === undefined) return <Loading />;
  const given = parametersOf(workflow).map((one) => ({
    ...described.find(({ name }) => name === one.name),
    ...one,
  }));
  if (given.length === 0) return null;
  return (
    <>
      <div>
        <h3>{TEXTS.submit.parameters}</h3>
        <p class="faint">{hint}</p>
      </div>
      {given.map(({ name, value, description, enum: choices }) => (
        <ValueField
          key={name}
          name={name}
          description={description}
          choices={choices?.map(String)}
          value={values[name] ?? String(value ?? "")}
          set={(text) => setValues({ ...values, [name]: text })}
        />
      ))}
    </>
  );
}
