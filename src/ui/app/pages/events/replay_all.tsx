/** Replays all dead letters that the filters select, with its progress. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Replay } from "../../data/replay.ts";
import { useStore } from "../../data/use_store.ts";
import type { DeliveryFilters } from "../../model/deliveries.ts";
import { TroubleBox } from "../../parts/basics.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TEXTS } from "../../texts.ts";

export function ReplayAll(
  { filters, hasSome, onDone }: {
    filters: DeliveryFilters;
    /** Whether the filters may select any. */
    hasSome: boolean;
    onDone: () => void;
  },
): JSX.Element | null {
  const replay = useMemo(() => new Replay(), []);
  const { phase, refs, done, isFull, trouble } = useStore(replay.store, (context) => context);
  const texts = TEXTS.events.replay;
  if (phase === "running") {
    return (
      <div class="progress-line" role="status">
        <progress value={done} max={refs.length} aria-label={texts.progress(done, refs.length)} />
        <span>{isFull ? texts.full : texts.progress(done, refs.length)}</span>
        <button type="button" onClick={() => replay.stop()}>{texts.stop}</button>
      </div>
    );
  }
  if (phase === "idle" && trouble === undefined && !hasSome) return null;
  const count = () => void replay.count(filters);
  return (
    <>
      <p class="buttons">
        <button type="button" disabled={phase === "counting"} onClick={count}>
          {phase === "counting" ? texts.counting : texts.all}
        </button>
      </p>
      {trouble !== undefined && <TroubleBox trouble={trouble} again={count} />}
      {phase === "asking" && (
        <Dialog
          title={texts.title(refs.length)}
          onClose={() => replay.cancel()}
        >
          <p>{refs.length === 0 ? texts.nothing : texts.what}</p>
          <p class="buttons">
            {refs.length > 0 && (
              <button
                type="button"
                class="main"
                onClick={() => void replay.run().then(onDone)}
              >
                {texts.do}
              </button>
            )}
            <button type="button" onClick={() => replay.cancel()}>{TEXTS.cancel}</button>
          </p>
        </Dialog>
      )}
    </>
  );
}
