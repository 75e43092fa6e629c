/** What the list and the page of a cron workflow both show and do. */
import { toString as describeFields } from "cronstrue";
import type { JSX } from "preact";
import type { CronWorkflow } from "../../../../spec/manifest.ts";
import { api, refusalOf } from "../../data/api.ts";
import { notify } from "../../data/notices.ts";
import { type CronState, scheduleWords, stateOf } from "../../model/crons.ts";
import type { Look } from "../../model/phases.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";

export interface CronRef {
  namespace: string;
  name: string;
}

const LOOKS: Record<CronState, Look> = {
  on: "Succeeded",
  off: "Suspended",
  stopped: "Omitted",
  wrong: "Error",
};

export function StateBadge({ cron }: { cron: CronWorkflow }): JSX.Element {
  const state = stateOf(cron);
  return (
    <span class={`phase look-${LOOKS[state]}`}>
      <LookIcon look={LOOKS[state]} />
      {TEXTS.crons.states[state]}
    </span>
  );
}

const AT_SET_TIMES = /^(@|[\d,]+\s+[\d,]+\s)/;

/** Each schedule in words, with how it is written. */
export function Schedules({ cron: { spec } }: { cron: CronWorkflow }): JSX.Element {
  return (
    <ul class="schedules">
      {(spec?.schedules ?? []).map((text) => {
        const words = scheduleWords(text, spec.timezone, (fields) =>
          describeFields(fields, {
            use24HourTimeFormat: true,
            // "Every minute, every hour, every day" says no more than its beginning.
            verbose: AT_SET_TIMES.test(fields),
          }));
        return (
          <li key={text}>
            {words !== text && <span>{words}</span>} <code>{text}</code>
          </li>
        );
      })}
    </ul>
  );
}

export type CronVerb = "switchOff" | "switchOn" | "runNow" | "remove";

/** Does it, and says what became of it; true when it was done. */
export async function actOnCron(verb: CronVerb, { namespace, name }: CronRef): Promise<boolean> {
  const params = { namespace, name };
  const { crons } = TEXTS;
  try {
    switch (verb) {
      case "switchOff":
        await api.call("CronWorkflowService_SuspendCronWorkflow", { params, body: params });
        notify(crons.off(name));
        break;
      case "switchOn":
        await api.call("CronWorkflowService_ResumeCronWorkflow", { params, body: params });
        notify(crons.on(name));
        break;
      case "runNow": {
        const made = await api.callMinimal("WorkflowService_SubmitWorkflow", {
          params: { namespace },
          body: { resourceKind: "CronWorkflow", resourceName: name },
        });
        const child = made.metadata.name ?? "";
        notify(crons.ran(name), {
          link: { path: workflowPath(namespace, child), text: child },
        });
        break;
      }
      case "remove":
        await api.call("CronWorkflowService_DeleteCronWorkflow", { params });
        notify(crons.removed(name));
        break;
    }
    return true;
  } catch (error) {
    notify(crons.failed(name), { isError: true, details: [refusalOf(error)] });
    return false;
  }
}
