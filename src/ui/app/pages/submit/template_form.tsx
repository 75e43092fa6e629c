/** A form made from the parameters of a stored template. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { WorkflowTemplate } from "../../../../spec/manifest.ts";
import { api, type Trouble, troubleOf } from "../../data/api.ts";
import { notify } from "../../data/notices.ts";
import { navigate, setQuery } from "../../data/router.ts";
import { Loading, TroubleBox } from "../../parts/basics.tsx";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";

/** Templates that the choice shows. */
const MOST = 500;

export function TemplateForm(
  { namespace, chosen }: { namespace: string; chosen: string },
): JSX.Element {
  const [templates, setTemplates] = useState<WorkflowTemplate[] | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const load = async () => {
    setTrouble(undefined);
    try {
      const { items } = await api.call("WorkflowTemplateService_ListWorkflowTemplates", {
        params: { namespace },
        query: { "listOptions.limit": MOST },
      });
      setTemplates(items ?? []);
    } catch (error) {
      setTrouble(troubleOf(error));
    }
  };
  useEffect(() => void load(), [namespace]);
  if (trouble !== undefined) return <TroubleBox trouble={trouble} again={() => void load()} />;
  if (templates === undefined) return <Loading />;
  const { submit } = TEXTS;
  if (templates.length === 0) return <p class="notice-line">{submit.noTemplates}</p>;
  const template = templates.find(({ metadata }) => metadata.name === chosen);
  return (
    <>
      <label class="field">
        <span>{submit.template}</span>
        <select
          value={chosen}
          onChange={({ currentTarget }) => setQuery({ template: currentTarget.value })}
        >
          <option value="">{submit.choose}</option>
          {templates.map(({ metadata: { name = "" } }) => (
            <option key={name} value={name}>{name}</option>
          ))}
        </select>
      </label>
      {template !== undefined && (
        <ParameterForm key={chosen} namespace={namespace} template={template} />
      )}
    </>
  );
}

function ParameterForm(
  { namespace, template }: { namespace: string; template: WorkflowTemplate },
): JSX.Element {
  const parameters = template.spec.arguments?.parameters ?? [];
  const [values, setValues] = useState<Record<string, string>>({});
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const { submit } = TEXTS;
  const send = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const made = await api.callMinimal("WorkflowService_SubmitWorkflow", {
        params: { namespace },
        body: {
          resourceKind: "WorkflowTemplate",
          resourceName: template.metadata.name,
          submitOptions: {
            parameters: Object.entries(values).map(([name, value]) => `${name}=${value}`),
          },
        },
      });
      const { name = "" } = made.metadata;
      notify(submit.made(name));
      navigate(workflowPath(namespace, name));
    } catch (error) {
      setRefusal(troubleOf(error).message);
      setBusy(false);
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <h2>{submit.parameters}</h2>
      {parameters.length === 0 && <p class="faint">{submit.noParameters}</p>}
      {parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={values[parameter.name]}
          set={(value) => setValues({ ...values, [parameter.name]: value })}
        />
      ))}
      {refusal !== undefined && (
        <div role="alert">
          <p>{submit.failed}</p>
          <p class="server-words">{refusal}</p>
        </div>
      )}
      <p class="buttons">
        <button type="submit" class="main" disabled={isBusy}>{submit.do}</button>
      </p>
    </form>
  );
}

type Parameter = NonNullable<
  NonNullable<WorkflowTemplate["spec"]["arguments"]>["parameters"]
>[number];

/** A field as the parameter describes itself: its choices, its default, and whether it must be filled in. */
function ParameterField(
  { parameter, value, set }: {
    parameter: Parameter;
    value: string | undefined;
    set: (value: string) => void;
  },
): JSX.Element {
  const { name, description, enum: choices } = parameter;
  const given = parameter.value ?? parameter.default;
  const isRequired = given === undefined && parameter.valueFrom === undefined;
  const help = `help-${name}`;
  const shown = value ?? String(given ?? "");
  return (
    <label class="field">
      <span>
        {name}
        {isRequired && <span class="required" title={TEXTS.submit.required}>*</span>}
      </span>
      {choices === undefined
        ? (
          <input
            name={name}
            value={shown}
            required={isRequired}
            aria-describedby={help}
            onInput={({ currentTarget }) => set(currentTarget.value)}
          />
        )
        : (
          <select
            name={name}
            value={shown}
            required={isRequired}
            aria-describedby={help}
            onChange={({ currentTarget }) => set(currentTarget.value)}
          >
            {given === undefined && <option value="" />}
            {choices.map(String).map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        )}
      {description !== undefined && <span id={help} class="faint">{description}</span>}
    </label>
  );
}
