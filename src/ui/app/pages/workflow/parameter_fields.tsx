/** Fields for the parameters of a workflow that runs again. */
import type { JSX } from "preact";
import type { Parameter, Workflow } from "../../../../spec/manifest.ts";

type Values = Record<string, string>;

/** Those that were changed, as the API takes them. */
export function parameterTexts(values: Values): { parameters?: string[] } {
  const parameters = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return parameters.length > 0 ? { parameters } : {};
}

/** The workflow's own, and those of its template that it did not override. */
function parametersOf({ spec, status }: Workflow): readonly Parameter[] {
  const own = spec.arguments?.parameters ?? [];
  const names = new Set(own.map(({ name }) => name));
  const others = status?.storedWorkflowTemplateSpec?.arguments?.parameters ?? [];
  return [...own, ...others.filter(({ name }) => !names.has(name))];
}

export function ParameterFields(
  { workflow, values, setValues }: {
    workflow: Workflow;
    values: Values;
    setValues: (values: Values) => void;
  },
): JSX.Element {
  const given = parametersOf(workflow);
  return (
    <>
      {given.map(({ name, value, description }) => (
        <label key={name} class="field">
          <span>{name}</span>
          <input
            value={values[name] ?? String(value ?? "")}
            title={description}
            onInput={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
          />
        </label>
      ))}
    </>
  );
}
