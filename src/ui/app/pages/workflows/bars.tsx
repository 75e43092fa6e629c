/** When the workflows of the list were made, and what became of them. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { phaseOf, wordOf, WORKFLOW_PHASES } from "../../model/phases.ts";
import { type Bar, barsOf, type Row } from "../../model/rows.ts";
import { absoluteText } from "../../model/times.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";

const MOST_BARS = 60;
const HEIGHT = 36;
const WIDTH = 600;

export function Bars(
  { rows, isPart }: { rows: readonly Row[]; isPart: boolean },
): JSX.Element {
  const bars = useMemo(() => barsOf(rows, MOST_BARS), [rows]);
  const highest = Math.max(1, ...bars.map(({ total }) => total));
  const counts = WORKFLOW_PHASES.map((phase) => ({
    phase,
    count: rows.filter(({ workflow }) => phaseOf(workflow) === phase).length,
  })).filter(({ count }) => count > 0);
  const first = bars[0];
  const last = bars.at(-1);
  return (
    <figure class="bars">
      <figcaption>
        <span class="faint">
          {isPart ? TEXTS.bars.part(rows.length) : TEXTS.bars.all(rows.length)}
        </span>
        {counts.map(({ phase, count }) => (
          <span key={phase} class={`phase look-${phase}`}>
            <LookIcon look={phase} />
            {count} {wordOf(phase)}
          </span>
        ))}
      </figcaption>
      {first !== undefined && last !== undefined && bars.length > 4 && (
        <>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {bars.map((bar, index) => (
              <Stack key={bar.from} bar={bar} index={index} of={bars.length} highest={highest} />
            ))}
          </svg>
          <div class="axis faint">
            <span>{absoluteText(first.from)}</span>
            <span>{absoluteText(last.to)}</span>
          </div>
        </>
      )}
    </figure>
  );
}

function Stack(
  { bar, index, of, highest }: { bar: Bar; index: number; of: number; highest: number },
): JSX.Element {
  const width = WIDTH / of;
  let top = HEIGHT;
  return (
    <g>
      {WORKFLOW_PHASES.map((phase) => {
        const height = (bar.counts[phase] ?? 0) / highest * HEIGHT;
        if (height === 0) return null;
        top -= height;
        return (
          <rect
            key={phase}
            class={`fill-${phase}`}
            x={index * width}
            y={top}
            width={Math.max(1, width - 2)}
            height={height}
          />
        );
      })}
    </g>
  );
}
