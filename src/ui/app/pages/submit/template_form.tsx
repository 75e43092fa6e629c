/** A form made from the parameters of a stored template. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Parameter, WorkflowTemplate } from "../../../../spec/manifest.ts";
import { api, type Trouble, troubleOf } from "../../data/api.ts";
import { setQuery } from "../../data/router.ts";
import { readTemplate } from "../../data/templates.ts";
import { Loading, TroubleBox } from "../../parts/basics.tsx";
import { ValueField } from "../../parts/value_field.tsx";
import { TEXTS } from "../../texts.ts";
import { SubmitForm } from "./submit_form.tsx";

/** Templates that the choice shows. */
const MOST = 500;

export function TemplateForm(
  { namespace, chosen, isAsked, isCluster }: {
    namespace: string;
    chosen: string;
    /** The visitor wants a template; otherwise a manifest will do if there is no template. */
    isAsked: boolean;
    /** The choice is among the templates of the whole cluster. */
    isCluster: boolean;
  },
): JSX.Element {
  const [templates, setTemplates] = useState<WorkflowTemplate[] | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  // Somebody may choose templates while they are loaded.
  const isAskedNow = useRef(isAsked);
  isAskedNow.current = isAsked;
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
      if (!isAskedNow.current && (items ?? []).length === 0) {
        return setQuery({ from: "manifest" }, { isReplacing: true });
      }
      setTemplates(await withChosen(items ?? [], isCluster ? "" : namespace, chosen));
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
        <span>{TEXTS.templates.one}</span>
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

/** With the template that the address names, which may come after those that were read. */
async function withChosen(
  templates: WorkflowTemplate[],
  namespace: string,
  name: string,
): Promise<WorkflowTemplate[]> {
  if (name === "" || templates.length < MOST) return templates;
  if (templates.some(({ metadata }) => metadata.name === name)) return templates;
  try {
    return [...templates, await readTemplate({ namespace, name })];
  } catch (error) {
    // One that is not there any more: another can be chosen.
    if (troubleOf(error).kind === "missing") return templates;
    throw error;
  }
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
      create={(idempotencyKey) =>
        api.callMinimal("WorkflowService_SubmitWorkflow", { ...input({}), idempotencyKey })}
      dryRun={() => api.call("WorkflowService_SubmitWorkflow", input({ serverDryRun: true }))}
    >
      <h2>{submit.parameters}</h2>
      {parameters.length === 0 && <p class="faint">{submit.noParameters}</p>}
      {parameters.map((parameter) => (
        <ValueField
          key={parameter.name}
          name={parameter.name}
          description={parameter.description}
          choices={parameter.enum?.map(String)}
          value={values[parameter.name] ?? String(parameter.value ?? parameter.default ?? "")}
          isRequired={isRequired(parameter)}
          set={(value) => setValues({ ...values, [parameter.name]: value })}
        />
      ))}
    </SubmitForm>
  );
}

/** Nothing but the visitor has a value for it. */
function isRequired({ value, default: preset, valueFrom }: Parameter): boolean {
  return (value ?? preset) === undefined && valueFrom === undefined;
}

/** A template of the whole cluster has no namespace. */
function kindOf({ metadata }: WorkflowTemplate): string {
  return metadata.namespace === undefined ? "ClusterWorkflowTemplate" : "WorkflowTemplate";
}
