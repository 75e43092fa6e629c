/** Events of a step's pod: images that can't be pulled, places that can't be found, and what else a cluster has to say. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { troubleOf } from "../../data/api.ts";
import { podOf } from "../../data/logs.ts";
import { type PodEvent, podEvents } from "../../data/pod_events.ts";
import { Ago } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";

/** Older ones go. */
const MOST = 100;

export function PodEvents(
  { workflow, node }: { workflow: Workflow; node: NodeStatus },
): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{TEXTS.podEvents.title}</summary>
      {isOpen && <Followed workflow={workflow} node={node} />}
    </details>
  );
}

function Followed({ workflow, node }: { workflow: Workflow; node: NodeStatus }): JSX.Element {
  const [events, setEvents] = useState<readonly PodEvent[]>([]);
  const [trouble, setTrouble] = useState<string | undefined>(undefined);
  const { namespace = "" } = workflow.metadata;
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      for await (const event of podEvents(namespace, podOf(workflow, node), stop.signal)) {
        setEvents((known) => [...known, event].slice(-MOST));
      }
    };
    follow().catch((error) => {
      if (!stop.signal.aborted) setTrouble(troubleOf(error).message);
    });
    return () => stop.abort();
  }, [node.id]);
  if (trouble !== undefined) return <p class="server-words" role="alert">{trouble}</p>;
  if (events.length === 0) return <p class="faint" role="status">{TEXTS.podEvents.none}</p>;
  return (
    <ol class="pod-events">
      {events.map(({ at, type, reason, message, count }, index) => (
        <li key={index} class={type === "Warning" ? "warning" : undefined}>
          <strong>{reason}</strong>
          <span class="faint">
            {count > 1 && TEXTS.podEvents.times(count)} <Ago at={at} />
          </span>
          <p>{message}</p>
        </li>
      ))}
    </ol>
  );
}
