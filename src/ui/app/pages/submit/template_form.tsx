/** A form made from the parameters of a stored template. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { WorkflowTemplate } from "../../../../spec/manifest.ts";
import { api, type Trouble, troubleOf } from "../../data/api.ts";
import { setQuery } from "../../data/router.ts";
import { Loading, TroubleBox } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";
import { SubmitForm } from "./submit_form.tsx";

/** Templates that the choice shows. */
const MOST = 500;

export function TemplateForm(
  { namespace, chosen, isCluster }: {
    namespace: string;
    chosen: string;
    /** The choice is among the templates of the whole cluster. */
    isCluster: boolean;
  },
): JSX.Element {
  const [templates, setTemplates] = useState<WorkflowTemplate[] | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const load = async () => {
    setTrouble(undefined);
    try {
      const query = { "listOptions.limit": MOST };
      const { items } = await (isCluster
        ? api.call("ClusterWorkflowTemplateService_ListClusterWorkflowTemplates", { query })
        : api.call("WorkflowTemplateService_ListWorkflowTemplates", {
          params: { namespace },
          query,
        }));
      setTemplates(items ?? []);
    } catch (error) {
      setTrouble(troubleOf(error));
    }
  };
  useEffect(() => void load(), [namespace, isCluster]);
  if (trouble !== undefined) return <TroubleBox trouble={trouble} again={() => void load()} />;
  if (templates === undefined) return <Loading />;
  const { submit } = TEXTS;
  if (templates.length === 0) return <NoTemplates isCluster={isCluster} />;
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

/** Whoever has no template to choose can still submit a manifest. */
function NoTemplates({ isCluster }: { isCluster: boolean }): JSX.Element {
  const { submit, templates } = TEXTS;
  return (
    <>
      <p class="notice-line">{isCluster ? templates.noClusterTemplates : submit.noTemplates}</p>
      <p class="buttons">
        <button type="button" class="main" onClick={() => setQuery({ from: "manifest" })}>
          {submit.useManifest}
        </button>
      </p>
    </>
  );
}

function ParameterForm(
  { namespace, template }: { namespace: string; template: WorkflowTemplate },
): JSX.Element {
  const parameters = template.spec.arguments?.parameters ?? [];
  const [values, setValues] = useState<Record<string, string>>({});
  const { submit } = TEXTS;
  const given = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  const input = (options: { serverDryRun?: boolean }) => ({
    params: { namespace },
    body: {
      resourceKind: kindOf(template),
      resourceName: template.metadata.name,
      submitOptions: { parameters: given, ...options },
    },
  });
  return (
    <SubmitForm
      namespace={namespace}
      about={given.join("\n")}
      create={() => api.callMinimal("WorkflowService_SubmitWorkflow", input({}))}
      dryRun={() => api.call("WorkflowService_SubmitWorkflow", input({ serverDryRun: true }))}
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
    </SubmitForm>
  );
}

/** A template of the whole cluster has no namespace. */
function kindOf({ metadata }: WorkflowTemplate): string {
  return metadata.namespace === undefined ? "ClusterWorkflowTemplate" : "WorkflowTemplate";
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
