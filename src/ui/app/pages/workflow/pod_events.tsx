/** Events of a step's pod: images that can't be pulled, places that can't be found, and what else a cluster has to say. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { followAgain } from "../../data/again.ts";
import { type Trouble, troubleOf } from "../../data/api.ts";
import { podOf } from "../../data/logs.ts";
import { type PodEvent, podEvents } from "../../data/pod_events.ts";
import { Ago, TroubleLine } from "../../parts/basics.tsx";
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
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const { namespace = "" } = workflow.metadata;
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      const { signal } = stop;
      let isAnew = true;
      const open = () => {
        // A stream begins with what is known.
        isAnew = true;
        return podEvents(namespace, podOf(workflow, node), signal);
      };
      for await (const event of followAgain(open, { signal, tell: setTrouble })) {
        const before = isAnew ? () => [] : (known: readonly PodEvent[]) => known;
        isAnew = false;
        setEvents((known) => [...before(known), event].slice(-MOST));
      }
    };
    follow().catch((error) => {
      if (!stop.signal.aborted) setTrouble(troubleOf(error));
    });
    return () => stop.abort();
  }, [node.id]);
  if (trouble !== undefined && events.length === 0) return <TroubleLine trouble={trouble} />;
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
