/** What somebody tries stays over a reload, and comes along from the page of an event. */
import { keepText, keptText } from "../../data/kept.ts";
import { headerLines } from "../../model/deliveries.ts";

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
  payload: '{\n  "action": "done",\n  "number": 7\n}',
  headers: "",
  manifest: `metadata:
  name: on-build
spec:
  event:
    selector: discriminator == "build" && payload.action == "done"
  submit:
    workflowTemplateRef:
      name: my-template
    arguments:
      parameters:
        - name: number
          valueFrom:
            event: payload.number
`,
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
