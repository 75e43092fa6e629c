/** What somebody tries stays over a reload, and comes along from the page of an event. */
import { keepText, keptText } from "../../data/kept.ts";
import { headerLines } from "../../model/deliveries.ts";
import { EXAMPLES } from "../edit/examples.ts";

const STORED = "sluice-playground";

/** The fields as they were written. */
export interface Draft {
  discriminator: string;
  payload: string;
  headers: string;
  manifest: string;
}

const EXAMPLE: Draft = {
  discriminator: "build",
  payload: '{\n  "action": "done",\n  "message": "build 7"\n}',
  headers: "",
  manifest: EXAMPLES.WorkflowEventBinding,
};

export function readDraft(): Draft {
  try {
    return { ...EXAMPLE, ...JSON.parse(keptText("visit", STORED) ?? "{}") };
  } catch {
    return EXAMPLE;
  }
}

export function writeDraft(draft: Draft): void {
  keepText("visit", STORED, JSON.stringify(draft));
}

/** Takes over the event of a delivery. */
export function keepDraft(
  { metadata, ...event }: {
    discriminator: string;
    payload: string;
    metadata: Record<string, string[]>;
  },
): void {
  writeDraft({ ...readDraft(), ...event, headers: headerLines(metadata) });
}
