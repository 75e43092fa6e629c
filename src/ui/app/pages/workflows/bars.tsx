/** When the workflows of the list were made, and what became of them. */
import type { JSX } from "preact";
import { PHASE_CHOICES, wordOf } from "../../model/phases.ts";
import type { Bar, BarChart } from "../../model/rows.ts";
import { absoluteText, axisText } from "../../model/times.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";

const HEIGHT = 36;
const WIDTH = 600;
/** Fewer bars say nothing that the counts do not. */
const FEWEST = 4;

export function Bars({ chart, areWaits }: { chart: BarChart; areWaits: boolean }): JSX.Element {
  const { bars, counts, total, examined, isVague = false } = chart;
  const highest = Math.max(1, ...bars.map((bar) => bar.total));
  const first = bars[0];
  const last = bars.at(-1);
  return (
    <figure class="bars">
      <figcaption>
        {examined === undefined
          ? <span class="faint">{TEXTS.bars.all(total)}</span>
          : (
            <span class="faint" title={TEXTS.bars.partWhy}>
              {TEXTS.bars.part(examined, areWaits)}
            </span>
          )}
        {PHASE_CHOICES.filter((look) => (counts[look] ?? 0) > 0).map((look) => (
          <span
            key={look}
            class={`phase look-${look}`}
            title={look === "Running" ? TEXTS.bars.runningWhat : undefined}
          >
            <LookIcon look={look} />
            {examined === undefined ? "" : TEXTS.bars.atLeast}
            {(counts[look] ?? 0).toLocaleString("en")}{" "}
            {look === "Running" && isVague ? TEXTS.bars.runningOrWaiting : wordOf(look)}
          </span>
        ))}
      </figcaption>
      {first !== undefined && last !== undefined && bars.length > FEWEST && (
        <>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {bars.map((bar, index) => (
              <Stack key={bar.from} bar={bar} index={index} of={bars.length} highest={highest} />
            ))}
          </svg>
          <div class="axis faint">
            <time title={absoluteText(first.from)}>{axisText(first.from)}</time>
            <time title={absoluteText(last.to)}>{axisText(last.to)}</time>
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
      {PHASE_CHOICES.map((phase) => {
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
