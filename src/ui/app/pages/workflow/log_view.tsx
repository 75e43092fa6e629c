/** What the steps have written: lines as they come, to search and to download. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogLine } from "../../../../client/answer.ts";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { troubleOf } from "../../data/api.ts";
import { logLines, podOf } from "../../data/logs.ts";
import { hasEnded, lookOfWorkflow } from "../../model/phases.ts";
import { nodesOf, titleOf } from "../../model/tree.ts";
import { Empty } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";

/** Lines that are kept; older ones are in the download. */
const MOST = 5_000;
/** Lines that came together are shown together after this time, ms. */
const PAUSE_MS = 100;

export function LogView(
  { workflow, node }: { workflow: Workflow; node?: NodeStatus },
): JSX.Element {
  const podName = node === undefined ? undefined : podOf(workflow, node);
  const { lines, trouble, isOver } = useLines(workflow, podName);
  const [search, setSearch] = useState("");
  const titles = useMemo(
    () =>
      new Map(Object.values(nodesOf(workflow)).map((one) => [podOf(workflow, one), titleOf(one)])),
    [workflow],
  );
  const wanted = search.toLowerCase();
  const shown = wanted === ""
    ? lines
    : lines.filter(({ content = "" }) => content.toLowerCase().includes(wanted));
  const end = useEndInView(shown.length);
  const { logs } = TEXTS;
  return (
    <div class="logs">
      <div class="tools">
        <label class="field inline">
          <span>{logs.search}</span>
          <input
            type="search"
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <span class="faint" role="status">
          {logs.count(shown.length, lines.length)}
          {isOver ? "" : ` · ${logs.following}`}
        </span>
        <button
          type="button"
          class="quiet"
          disabled={lines.length === 0}
          onClick={() => download(workflow.metadata.name ?? "workflow", lines)}
        >
          {logs.download}
        </button>
      </div>
      {trouble !== undefined && <p class="server-words" role="alert">{trouble}</p>}
      {lines.length === 0 && trouble === undefined
        ? <Empty title={isOver ? logs.none : logs.noneYet} />
        : (
          <pre class="lines" ref={end} tabIndex={0} aria-label={logs.title}>
            {shown.map(({ content, podName: pod = "" }, index) => (
              <div key={index}>
                {podName === undefined && <span class="pod">{titles.get(pod) ?? pod}</span>}
                {content}
              </div>
            ))}
          </pre>
        )}
    </div>
  );
}

/** A box that keeps its end in view while it grows, unless somebody has scrolled up. */
function useEndInView(length: number) {
  const end = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const box = end.current;
    if (box !== null && box.scrollHeight - box.scrollTop - box.clientHeight < 120) {
      box.scrollTop = box.scrollHeight;
    }
  }, [length]);
  return end;
}

function useLines(workflow: Workflow, podName: string | undefined) {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [trouble, setTrouble] = useState<string | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const { uid } = workflow.metadata;
  const ended = hasEnded(lookOfWorkflow(workflow));
  useEffect(() => {
    const stop = new AbortController();
    setLines([]);
    setTrouble(undefined);
    setOver(false);
    let pending: LogLine[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      const some = pending;
      pending = [];
      setLines((kept) => [...kept, ...some].slice(-MOST));
    };
    const read = async () => {
      for await (const line of logLines(workflow, { podName, follow: !ended }, stop.signal)) {
        pending.push(line);
        timer ??= setTimeout(flush, PAUSE_MS);
      }
    };
    read().catch((error) => {
      if (!stop.signal.aborted) setTrouble(troubleOf(error).message);
    }).finally(() => {
      if (!stop.signal.aborted) setOver(true);
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [uid, podName]);
  return { lines, trouble, isOver };
}

function download(name: string, lines: readonly LogLine[]): void {
  const text = lines.map(({ content, podName }) => `${podName ?? ""} ${content ?? ""}\n`).join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = `${name}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
