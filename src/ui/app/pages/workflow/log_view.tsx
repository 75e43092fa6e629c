/** What the steps have written: lines as they come, to search and to download. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogLine } from "../../../../client/answer.ts";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { type Trouble, troubleOf } from "../../data/api.ts";
import { allLines, logLines, podOf } from "../../data/logs.ts";
import { notify } from "../../data/notices.ts";
import { fieldsOf, matches } from "../../model/log_line.ts";
import { hasEnded, lookOfWorkflow } from "../../model/phases.ts";
import { nodesOf, titleOf } from "../../model/tree.ts";
import { Empty } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";

/** Lines that are kept; the download has all of them. */
const MOST = 5_000;
/** Lines that came together are shown together after this time, ms. */
const PAUSE_MS = 100;

export function LogView(
  { workflow, node }: { workflow: Workflow; node?: NodeStatus },
): JSX.Element {
  const podName = node === undefined ? undefined : podOf(workflow, node);
  const { lines, trouble, isFollowed, isOver, isLost } = useLines(workflow, podName);
  const [search, setSearch] = useState("");
  const titles = useTitles(workflow);
  const [hasFields, setFields] = useState(false);
  const shown = search.trim() === ""
    ? lines
    : lines.filter(({ content = "" }) => matches(content, search));
  const { logs } = TEXTS;
  return (
    <div class="logs">
      <div class="tools">
        <label class="field inline">
          <span>{logs.search}</span>
          <input
            type="search"
            value={search}
            placeholder={TEXTS.logFields.hint}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={hasFields}
            onChange={({ currentTarget }) => setFields(currentTarget.checked)}
          />
          {TEXTS.logFields.show}
        </label>
        <span class="faint" role="status">
          {logs.count(shown.length, lines.length)}
          {isOver ? "" : ` · ${isLost ? logs.lost : logs.following}`}
        </span>
        <button
          type="button"
          class="quiet"
          disabled={lines.length === 0}
          onClick={() => void download(workflow, podName).catch(notifyOf)}
        >
          {logs.download}
        </button>
      </div>
      {trouble !== undefined && <p class="server-words" role="alert">{trouble}</p>}
      {lines.length === 0 && trouble === undefined
        ? <Empty title={isOver ? (node ? logs.noneOfStep : logs.none) : logs.noneYet} />
        : (
          <Lines
            lines={shown}
            hasFields={hasFields}
            isFollowed={isFollowed}
            podTitle={podName === undefined ? (pod) => titles.get(pod) ?? pod : undefined}
          />
        )}
    </div>
  );
}

/** What to call the step of each pod. */
function useTitles(workflow: Workflow): ReadonlyMap<string, string> {
  return useMemo(
    () =>
      new Map(Object.values(nodesOf(workflow)).map((one) => [podOf(workflow, one), titleOf(one)])),
    [workflow],
  );
}

function Lines(
  { lines, hasFields, isFollowed, podTitle }: {
    lines: readonly LogLine[];
    hasFields: boolean;
    /** They came, or come, as the steps write them; others are read from their beginning. */
    isFollowed: boolean;
    /** What to call the step of a line; absent: all lines are of one step. */
    podTitle: ((pod: string) => string) | undefined;
  },
): JSX.Element {
  const { box, onScroll } = useEndInView(lines, isFollowed);
  return (
    <pre class="lines" ref={box} onScroll={onScroll} tabIndex={0} aria-label={TEXTS.logs.title}>
      {lines.map(({ content = "", podName = "" }, index) => (
        <div key={index}>
          {podTitle !== undefined && <span class="pod">{podTitle(podName)}</span>}
          {hasFields ? <Fields line={content} /> : content}
        </div>
      ))}
    </pre>
  );
}

/** So near to its end a box counts as scrolled to it, px. */
const NEAR_END = 40;

/** Keeps the end of a box in view while it grows, unless somebody has scrolled up. */
function useEndInView(lines: readonly LogLine[], isFollowed: boolean) {
  const box = useRef<HTMLPreElement>(null);
  // Noted when somebody scrolls: afterwards new lines may have moved the end away by any length.
  const isAtEnd = useRef(true);
  /** How far it was scrolled when that was last seen. */
  const seen = useRef(0);
  useLayoutEffect(() => {
    const lines = box.current;
    if (!isFollowed || lines === null) return;
    const { scrollHeight, scrollTop, clientHeight } = lines;
    // The browser tells of a scroll with the next picture; lines that come before that must not undo it.
    if (scrollTop < Math.min(seen.current, scrollHeight - clientHeight) - 1) {
      isAtEnd.current = false;
    }
    if (isAtEnd.current) lines.scrollTop = scrollHeight;
    seen.current = lines.scrollTop;
  }, [lines]);
  const onScroll = () => {
    if (box.current === null) return;
    const { scrollHeight, scrollTop, clientHeight } = box.current;
    seen.current = scrollTop;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
  };
  return { box, onScroll };
}

function useLines(workflow: Workflow, podName: string | undefined) {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [trouble, setTrouble] = useState<string | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const [isLost, setLost] = useState(false);
  const { uid } = workflow.metadata;
  const ended = hasEnded(lookOfWorkflow(workflow));
  const isFollowed = useRef(!ended);
  useEffect(() => {
    isFollowed.current = !ended;
    const stop = new AbortController();
    setLines([]);
    setTrouble(undefined);
    setOver(false);
    setLost(false);
    let pending: LogLine[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      const some = pending;
      pending = [];
      setLines((kept) => [...kept, ...some].slice(-MOST));
    };
    const { signal } = stop;
    const tell = (found: Trouble | undefined) => {
      setLost(found !== undefined);
      setTrouble(found?.kind === "unreachable" ? undefined : found?.message);
    };
    const read = async () => {
      const follow = !ended;
      for await (const line of allLines(workflow, { podName, follow }, { signal, tell })) {
        pending.push(line);
        timer ??= setTimeout(flush, PAUSE_MS);
      }
    };
    read().catch((error) => {
      if (!signal.aborted) setTrouble(troubleOf(error).message);
    }).finally(() => {
      if (!signal.aborted) setOver(true);
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [uid, podName]);
  return { lines, trouble, isFollowed: isFollowed.current, isOver, isLost };
}

/** A line by its members, if it has some. */
function Fields({ line }: { line: string }): JSX.Element {
  const found = fieldsOf(line);
  if (found === undefined) return <>{line}</>;
  return (
    <>
      {found.message} {found.fields.map(([name, value]) => (
        <span key={name} class="log-field">
          <span class="faint">{name}=</span>
          {value}
        </span>
      ))}
    </>
  );
}

/** More lines are not downloaded, so that the browser keeps its memory; the command line has them all. */
const MOST_DOWNLOADED = 500_000;

/** Asks for all lines: the view keeps only the last ones. */
async function download(workflow: Workflow, podName: string | undefined): Promise<void> {
  const parts: string[] = [];
  const stop = new AbortController();
  for await (const { content, podName: pod } of logLines(workflow, { podName }, stop.signal)) {
    if (parts.length >= MOST_DOWNLOADED) {
      parts.push(TEXTS.logFields.cut(MOST_DOWNLOADED));
      break;
    }
    parts.push(`${pod ?? ""} ${content ?? ""}\n`);
  }
  stop.abort();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/plain" }));
  link.download = `${podName ?? workflow.metadata.name ?? "workflow"}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

function notifyOf(error: unknown): void {
  notify(troubleOf(error).message, { isError: true });
}
