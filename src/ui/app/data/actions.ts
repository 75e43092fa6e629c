/** Carries out what the visitor asks for, and says what became of it. */
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import type { Verb } from "../model/actions.ts";
import { titleOf } from "../model/tree.ts";
import { workflowPath } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { api, once, refusalOf } from "./api.ts";
import { notify } from "./notices.ts";

export interface ActionOptions {
  /** Of a stop: why. */
  message?: string;
  /** Only these nodes. */
  nodeFieldSelector?: string;
  restartSuccessful?: boolean;
  /** `NAME=VALUE`; override those of the workflow. */
  parameters?: string[];
}

export interface Ref {
  namespace: string;
  name: string;
}

export function refOf({ metadata }: Workflow): Ref {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}

/** Calls the API; resolves with the name of the workflow that was changed or made. */
async function call(verb: Verb, ref: Ref, options: ActionOptions): Promise<string> {
  const params = { namespace: ref.namespace, name: ref.name };
  const { message, nodeFieldSelector, restartSuccessful, parameters } = options;
  switch (verb) {
    case "suspend":
      await api.callMinimal("WorkflowService_SuspendWorkflow", { params, body: {} });
      return ref.name;
    case "resume":
      await api.callMinimal("WorkflowService_ResumeWorkflow", {
        params,
        body: { nodeFieldSelector },
      });
      return ref.name;
    case "stop":
      await api.callMinimal("WorkflowService_StopWorkflow", {
        params,
        body: { message, nodeFieldSelector },
      });
      return ref.name;
    case "terminate":
      await api.callMinimal("WorkflowService_TerminateWorkflow", { params, body: {} });
      return ref.name;
    case "retry":
      await api.callMinimal("WorkflowService_RetryWorkflow", {
        params,
        body: { nodeFieldSelector, restartSuccessful, parameters },
      });
      return ref.name;
    case "resubmit": {
      const about = JSON.stringify([verb, params, parameters]);
      const made = await once(
        about,
        (idempotencyKey) =>
          api.callMinimal("WorkflowService_ResubmitWorkflow", {
            params,
            body: { parameters },
            idempotencyKey,
          }),
      );
      return made.metadata.name ?? ref.name;
    }
    case "delete":
      await api.call("WorkflowService_DeleteWorkflow", { params });
      return ref.name;
  }
}

/** What a retry would run again. */
export interface RetryPlan {
  count: number;
  /** The first of them. */
  nodes: { id: string; displayName: string }[];
}

/** @throws {ClientError} what the retry would be refused with */
export async function planOfRetry(
  workflow: Workflow,
  { nodeFieldSelector, restartSuccessful, parameters }: ActionOptions,
  signal: AbortSignal,
): Promise<RetryPlan> {
  const { namespace, name } = refOf(workflow);
  const plan = await api.call("WorkflowService_PlanRetry", {
    params: { namespace, name },
    body: { nodeFieldSelector, restartSuccessful, parameters },
    signal,
  });
  return plan as unknown as RetryPlan;
}

/** URLs that end the wait of one step, for whoever has them. */
export interface CallbackUrls {
  resume: string;
  stop: string;
  expiresAt: string;
}

/** Resolves to undefined when the server makes none, which the visitor is told. */
export async function makeCallbackUrls(
  { namespace, name }: Ref,
  node: NodeStatus,
): Promise<CallbackUrls | undefined> {
  try {
    const made = await api.call("WorkflowService_MakeCallbacks", {
      params: { namespace, name },
      body: { nodeFieldSelector: `id=${node.id}` },
    });
    const [urls] = made["items"] as unknown as CallbackUrls[];
    return urls;
  } catch (error) {
    notify(TEXTS.wait.noUrls(titleOf(node)), {
      isError: true,
      details: [refusalOf(error)],
    });
    return undefined;
  }
}

/** Does it to one workflow; resolves to the name of the workflow that was changed or made, undefined when it was refused. */
export async function act(
  verb: Verb,
  ref: Ref,
  options: ActionOptions = {},
): Promise<string | undefined> {
  try {
    const name = await call(verb, ref, options);
    notify(TEXTS.actions[verb].done(ref.name), {
      link: name === ref.name ? undefined : { path: workflowPath(ref.namespace, name), text: name },
    });
    return name;
  } catch (error) {
    notify(TEXTS.actions[verb].failed(ref.name), {
      isError: true,
      details: [refusalOf(error)],
    });
    return undefined;
  }
}

/** Calls that run at a time. */
const AT_ONCE = 4;
/** Refusals that are told one by one. */
const MOST_TOLD = 10;

/** Does it to many workflows, and tells how many were refused and why. */
export async function actOnMany(verb: Verb, refs: readonly Ref[]) {
  const rest = [...refs];
  const refusals: string[] = [];
  const work = async () => {
    for (let ref = rest.shift(); ref !== undefined; ref = rest.shift()) {
      try {
        await call(verb, ref, {});
      } catch (error) {
        refusals.push(`${ref.name}: ${refusalOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const done = refs.length - refusals.length;
  notify(TEXTS.actions[verb].many(done, refusals.length), {
    isError: refusals.length > 0,
    details: refusals.length > MOST_TOLD
      ? [...refusals.slice(0, MOST_TOLD), TEXTS.list.moreRefused(refusals.length - MOST_TOLD)]
      : refusals,
  });
}

/** Makes a waiting step fail. */
export async function failStep(ref: Ref, node: NodeStatus, message: string): Promise<void> {
  const title = titleOf(node);
  try {
    await call("stop", ref, { nodeFieldSelector: `id=${node.id}`, message });
    notify(TEXTS.wait.failed(title, ref.name));
  } catch (error) {
    notify(TEXTS.wait.notFailed(title, ref.name), { isError: true, details: [refusalOf(error)] });
  }
}

/** Gives a waiting step its outputs, if it takes any, and lets it go on. */
export async function answerStep(
  ref: Ref,
  node: NodeStatus,
  values: Record<string, string>,
): Promise<void> {
  const title = titleOf(node);
  const params = { namespace: ref.namespace, name: ref.name };
  const nodeFieldSelector = `id=${node.id}`;
  try {
    if (Object.keys(values).length > 0) {
      const outputParameters = JSON.stringify(values);
      await api.callMinimal("WorkflowService_SetWorkflow", {
        params,
        body: { nodeFieldSelector, outputParameters },
      });
    }
    await api.callMinimal("WorkflowService_ResumeWorkflow", {
      params,
      body: { nodeFieldSelector },
    });
    notify(TEXTS.wait.resumed(title, ref.name));
  } catch (error) {
    notify(TEXTS.wait.notResumed(title, ref.name), { isError: true, details: [refusalOf(error)] });
  }
}
