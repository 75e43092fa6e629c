/** What happened, as sentences, with what can be done about it. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { useNow } from "../../data/clock.ts";
import { tailOfLog } from "../../data/logs.ts";
import { useRights } from "../../data/rights.ts";
import { addressOf } from "../../data/root.ts";
import { hasLogs } from "../../model/archived.ts";
import type { Look } from "../../model/phases.ts";
import { mayReadLogs } from "../../model/rights.ts";
import { storyOf } from "../../model/story.ts";
import type { Sentence } from "../../model/story_parts.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { locksPath } from "../../paths.ts";
import { LongWords } from "../../parts/long_words.tsx";
import { TEXTS } from "../../texts.ts";
import { showStep } from "./show_step.ts";
import { WaitingActions } from "./waiting_actions.tsx";

const LOOKS: Record<Sentence["kind"], Look> = {
  failure: "Failed",
  wait: "Waiting",
  running: "Running",
  done: "Succeeded",
  note: "Omitted",
};

export function Story({ workflow }: { workflow: Workflow }): JSX.Element {
  const now = useNow();
  return (
    <section class="story" aria-labelledby="story-title">
      <h2 id="story-title">{TEXTS.story.title}</h2>
      <ol>
        {storyOf(workflow, now).map((sentence) => (
          <li key={`${sentence.kind} ${sentence.node?.id ?? sentence.text}`} class={sentence.kind}>
            <LookIcon look={LOOKS[sentence.kind]} />
            <div>
              <Words sentence={sentence} />
              {sentence.more.map((line) => <LongWords key={line} text={line} look="more" />)}
              {sentence.lock !== undefined && (
                <p>
                  <a href={addressOf(locksPath(sentence.lock))}>{TEXTS.story.holders}</a>
                </p>
              )}
              {sentence.hasLog && hasLogs(workflow) && sentence.node !== undefined && (
                <LogTail workflow={workflow} node={sentence.node} />
              )}
              {sentence.isCall && sentence.node !== undefined && (
                <WaitingActions workflow={workflow} node={sentence.node} />
              )}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Words({ sentence: { text, node } }: { sentence: Sentence }): JSX.Element {
  return (
    <p class="words">
      {text} {node !== undefined && (
        <button
          type="button"
          class="quiet small"
          onClick={() => showStep(node.id)}
        >
          {TEXTS.story.show}
        </button>
      )}
    </p>
  );
}

const LINES = 5;

/** The end of what a step has written. */
function LogTail({ workflow, node }: { workflow: Workflow; node: NodeStatus }): JSX.Element | null {
  const [lines, setLines] = useState<string[] | "read" | "unreadable">("read");
  const mayRead = mayReadLogs(useRights(workflow.metadata.namespace ?? ""));
  useEffect(() => {
    if (!mayRead) return;
    const stop = new AbortController();
    const tell = (trouble: unknown) => setLines(trouble === undefined ? "read" : "unreadable");
    void tailOfLog(workflow, node, LINES, { signal: stop.signal, tell })
      .then(setLines, () => stop.signal.aborted || setLines("unreadable"));
    return () => stop.abort();
  }, [node.id, mayRead]);
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [lines]);
  if (!mayRead || lines === "unreadable") return null;
  if (lines.length === 0) return <p class="more">{TEXTS.logs.noneOfStep}</p>;
  return (
    <figure class="log-tail">
      <figcaption>{TEXTS.story.lastLines}</figcaption>
      <pre ref={box} tabIndex={0}>{lines === "read" ? TEXTS.loading : lines.join("\n")}</pre>
    </figure>
  );
}
