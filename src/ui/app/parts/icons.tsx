/** Small pictures. They stand beside words and say nothing alone. */
import type { JSX } from "preact";
import type { Look } from "../model/phases.ts";

/** Paths on a field of 16 by 16. */
export const LOOK_PATHS: Readonly<Record<Look, string>> = {
  Pending: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 3v3.2l2.2 1.3",
  Running: "M8 2.2A5.8 5.8 0 1 1 2.2 8",
  Waiting: "M4 2h8M4 14h8M5 2v2.5L8 8l3-3.5V2M5 14v-2.5L8 8l3 3.5V14",
  Suspended: "M5.5 3v10M10.5 3v10",
  Succeeded: "m3 8.5 3.3 3.3L13 4.8",
  Failed: "m4 4 8 8M12 4l-8 8",
  Error: "M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2m0 1.7v.4",
  Skipped: "m4 4 4 4-4 4M8 4l4 4-4 4",
  Omitted: "M3 8h10",
};

export function LookIcon({ look }: { look: Look }): JSX.Element {
  return (
    <svg class={`icon look-${look}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={LOOK_PATHS[look]} />
    </svg>
  );
}

/** A check box in a drawing, 14 by 14; the shape around it says whether it is ticked to those who cannot see it. */
export function TickBox(
  { x, y, isChosen }: { x: number; y: number; isChosen: boolean },
): JSX.Element {
  return (
    <g class={isChosen ? "tick-box ticked" : "tick-box"} transform={`translate(${x} ${y})`}>
      <rect width={14} height={14} rx={3} />
      {isChosen && <path d="m3 7.4 2.9 2.9L11.2 4" />}
    </g>
  );
}

/** Paths of the other pictures. */
const OTHERS = {
  copy: "M5.5 5.5h8v8h-8zM2.5 10.5v-8h8",
  close: "m4 4 8 8M12 4l-8 8",
  open: "m6 4 4 4-4 4",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Zm3.4 7.9 3.3 3.3",
} as const;

export function Icon({ name }: { name: keyof typeof OTHERS }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={OTHERS[name]} />
    </svg>
  );
}
