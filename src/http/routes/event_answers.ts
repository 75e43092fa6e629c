/** What routes about events answer, as their callers read it: times are texts. */
import type {
  ActivityReport as Report,
  BindingActivity as Activity,
  BindingDeed as Deed,
} from "../../service/events/binding_activity.ts";

export type { ConditionPart } from "../../expr/templates/explain.ts";
export type { BindingVerdict, ExplainedEvent } from "../../service/events/explained_event.ts";

export interface BindingDeed extends Omit<Deed, "receivedAt"> {
  receivedAt: string;
}

export interface BindingActivity extends Omit<Activity, "lastMatch" | "lastError"> {
  lastMatch?: BindingDeed;
  lastError?: BindingDeed;
}

export interface ActivityReport extends Omit<Report, "bindings" | "since"> {
  bindings: BindingActivity[];
  since?: string;
}
