/** One workflow as the archive has it, in the views of a live one. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Workflow } from "../../../spec/manifest.ts";
import { api, once, refusalOf } from "../data/api.ts";
import { notify } from "../data/notices.ts";
import { usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { navigate } from "../data/router.ts";
import { allows, type Verb } from "../model/actions.ts";
import { isOnlyArchived } from "../model/archived.ts";
import { mayActOnArchived } from "../model/rights.ts";
import { LoadState, TroubleBox } from "../parts/basics.tsx";
import { Boundary } from "../parts/boundary.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { type PageProps, workflowPath } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { Head, Views } from "./workflow.tsx";
import { Story } from "./workflow/story.tsx";

/** It does not change; it may be deleted. */
const EVERY_MS = 60_000;
const ARCHIVED_VERBS = ["retry", "resubmit", "delete"] as const satisfies readonly Verb[];
type ArchivedVerb = typeof ARCHIVED_VERBS[number];

export function ArchivedPage({ params, query }: PageProps): JSX.Element {
  const { name = "", uid = "" } = params;
  const { value, trouble, reload } = usePolled(
    uid,
    EVERY_MS,
    (signal) =>
      api.call("ArchivedWorkflowService_GetArchivedWorkflow", {
        params: { uid },
        query: { exactTimes: true },
        signal,
      }),
  );
  if (value === undefined) {
    return (
      <div class="page">
        <h1 class="wide-name">{name}</h1>
        <LoadState trouble={trouble} isLoaded={false} again={() => void reload()} />
      </div>
    );
  }
  const { namespace = "" } = value.metadata;
  return (
    <div class="page">
      <p class="notice-line">
        {TEXTS.archive.note}{" "}
        {!isOnlyArchived(value) && (
          <a href={addressOf(workflowPath(namespace, name))}>{TEXTS.archive.live}</a>
        )}
      </p>
      {trouble !== undefined && <TroubleBox trouble={trouble} again={() => void reload()} />}
      <Head workflow={value}>
        <Actions workflow={value} />
      </Head>
      <Boundary about={uid}>
        <Story workflow={value} />
      </Boundary>
      <Views workflow={value} query={query} />
    </div>
  );
}

/** Does it; resolves with the page that shows what became of it, undefined when it was refused. */
async function act(verb: ArchivedVerb, { metadata }: Workflow): Promise<string | undefined> {
  const { uid = "", namespace = "", name = "" } = metadata;
  const params = { uid };
  const texts = TEXTS.actions[verb];
  try {
    switch (verb) {
      case "retry": {
        await api.callMinimal("ArchivedWorkflowService_RetryArchivedWorkflow", {
          params,
          body: { namespace, name },
        });
        notify(TEXTS.archive.retried(name));
        return workflowPath(namespace, name);
      }
      case "resubmit": {
        const made = await once(
          `${verb} ${uid}`,
          (idempotencyKey) =>
            api.callMinimal("ArchivedWorkflowService_ResubmitArchivedWorkflow", {
              params,
              body: { namespace, name },
              idempotencyKey,
            }),
        );
        const path = workflowPath(namespace, made.metadata.name ?? "");
        notify(TEXTS.actions.resubmit.done(name), {
          link: { path, text: made.metadata.name ?? "" },
        });
        return path;
      }
      case "delete":
        await api.call("ArchivedWorkflowService_DeleteArchivedWorkflow", { params });
        notify(TEXTS.actions.delete.done(name));
        return "/archive";
    }
  } catch (error) {
    notify(texts.failed(name), { isError: true, details: [refusalOf(error)] });
    return undefined;
  }
}

function Actions({ workflow }: { workflow: Workflow }): JSX.Element {
  const { namespace = "", name = "" } = workflow.metadata;
  const rights = useRights(namespace, name);
  const verbs = ARCHIVED_VERBS.filter((verb) =>
    allows(workflow, verb) && mayActOnArchived(rights, verb, isOnlyArchived(workflow))
  );
  const [asked, setAsked] = useState<ArchivedVerb | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const run = async (verb: ArchivedVerb) => {
    setBusy(true);
    const path = await act(verb, workflow);
    setBusy(false);
    if (path !== undefined) navigate(path);
  };
  return (
    <div class="actions" role="toolbar" aria-label={TEXTS.workflow.actions}>
      {verbs.map((verb) => (
        <button
          key={verb}
          type="button"
          disabled={isBusy}
          onClick={() => setAsked(verb)}
        >
          {TEXTS.actions[verb].do}
        </button>
      ))}
      {asked !== undefined && (
        <Confirm
          title={TEXTS.actions.askOne(TEXTS.actions[asked].do, name)}
          what={asked === "delete" ? TEXTS.archive.removeWhat : TEXTS.actions[asked].what}
          action={TEXTS.actions[asked].do}
          isDanger={asked === "delete"}
          onYes={() => void run(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  );
}
