/** The rows of the list of events. On a narrow screen each becomes a small card. */
import type { JSX } from "preact";
import { useRightsIn } from "../../data/rights.ts";
import { addressOf } from "../../data/root.ts";
import { replayOne } from "../../data/replay.ts";
import {
  type Delivery,
  DELIVERY_LOOKS,
  type Outcome,
  OUTCOME_LOOKS,
  shortReason,
  sortedOutcomes,
  wordOfDelivery,
  workflowsOf,
} from "../../model/deliveries.ts";
import { mayReplay } from "../../model/rights.ts";
import { Ago, PhaseBadge } from "../../parts/basics.tsx";
import { LookIcon } from "../../parts/icons.tsx";
import { eventPath, workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { StoredBytes } from "./stored_bytes.tsx";

/** Verdicts that a row shows; the page of the event has all. */
const MOST_VERDICTS = 4;

export function DeliveryTable(
  { items, isDead, onReplay }: {
    items: readonly Delivery[];
    /** All of them are dead letters. */
    isDead: boolean;
    onReplay: () => void;
  },
): JSX.Element {
  const { heads } = TEXTS.events;
  const rightsIn = useRightsIn(isDead ? namespacesOf(items) : []);
  const mayReplayOne = ({ namespace, hasEvent }: Delivery) =>
    isDead && hasEvent === true && mayReplay(rightsIn(namespace));
  const canReplay = items.some(mayReplayOne);
  return (
    <table class="list deliveries" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {[heads.state, heads.event, heads.namespace, heads.bindings, heads.received].map(
            (head) => <th key={head} role="columnheader" scope="col">{head}</th>,
          )}
          {canReplay && (
            <th role="columnheader" scope="col">
              <span class="unseen">{TEXTS.events.replay.do}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {items.map((delivery) => (
          <tr role="row" key={`${delivery.namespace}/${delivery.id}`}>
            <td role="cell" class="cell-phase">
              <DeliveryBadge delivery={delivery} />
            </td>
            <td role="cell" class="cell-name">
              <Name delivery={delivery} />
            </td>
            <td role="cell" class="cell-namespace">
              {delivery.namespace || TEXTS.events.noNamespace}
            </td>
            <td role="cell" class="cell-verdicts">
              <Verdicts delivery={delivery} />
            </td>
            <td role="cell" class="cell-created">
              <Ago at={delivery.receivedAt} />
            </td>
            {canReplay && (
              <td role="cell" class="cell-action">
                {mayReplayOne(delivery) && <ReplayButton delivery={delivery} onDone={onReplay} />}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function namespacesOf(items: readonly Delivery[]): string[] {
  return [...new Set(items.map(({ namespace }) => namespace))];
}

export function DeliveryBadge({ delivery }: { delivery: Delivery }): JSX.Element {
  const word = wordOfDelivery(delivery);
  return <PhaseBadge look={DELIVERY_LOOKS[word]} word={TEXTS.events.words[word]} />;
}

function Name({ delivery }: { delivery: Delivery }): JSX.Element {
  const { id, namespace, discriminator, unreadable } = delivery;
  const title = discriminator || TEXTS.events.noDiscriminator;
  if (namespace === "") {
    // Nobody can ask for it by its id, so all of it is shown here.
    return (
      <>
        <span class="wide-name">{id}</span>
        {unreadable !== undefined && <StoredBytes bytes={unreadable} isFolded />}
      </>
    );
  }
  return (
    <a href={addressOf(eventPath(namespace, id))} data-keys-row="">
      {title} <span class="faint id">{id}</span>
    </a>
  );
}

function Verdicts({ delivery }: { delivery: Delivery }): JSX.Element {
  const { namespace, bindings, state } = delivery;
  const sorted = sortedOutcomes(bindings);
  const rest = sorted.slice(MOST_VERDICTS);
  const idle = rest.filter(({ outcome }) => outcome === "not-matched").length;
  if (sorted.length === 0) {
    return <span class="faint">{state === "queued" ? "" : TEXTS.events.noBindings}</span>;
  }
  return (
    <ul class="verdicts">
      {sorted.slice(0, MOST_VERDICTS).map((outcome) => (
        <li
          key={outcome.binding}
          class={outcome.outcome === "error" ? "failed" : undefined}
        >
          <Verdict namespace={namespace} outcome={outcome} />
        </li>
      ))}
      {rest.length > idle && <li class="faint">{TEXTS.events.moreVerdicts(rest.length - idle)}</li>}
      {idle > 0 && <li class="faint">{TEXTS.events.notMatched(idle)}</li>}
    </ul>
  );
}

function Verdict({ namespace, outcome }: { namespace: string; outcome: Outcome }): JSX.Element {
  const { binding, message } = outcome;
  const names = workflowsOf(outcome);
  return (
    <>
      <LookIcon look={OUTCOME_LOOKS[outcome.outcome]} />{" "}
      <span class={outcome.outcome === "not-matched" ? "faint" : "verdict-name"}>
        {binding || TEXTS.events.whole}
      </span>{" "}
      {names.length === 0 || outcome.outcome === "error"
        ? <span class="faint">{TEXTS.events.outcomes[outcome.outcome]}</span>
        : names.map((name) => (
          <a key={name} href={addressOf(workflowPath(namespace, name))}>{name}</a>
        ))}
      {outcome.outcome === "error" && message !== undefined && (
        <p class="message" title={message}>{shortReason(message)}</p>
      )}
    </>
  );
}

export function ReplayButton(
  { delivery, onDone }: { delivery: Delivery; onDone: () => void },
): JSX.Element {
  return (
    <button
      type="button"
      class="small"
      aria-label={TEXTS.events.replay.one(delivery.id)}
      onClick={async () => {
        if (await replayOne(delivery)) onDone();
      }}
    >
      {TEXTS.events.replay.do}
    </button>
  );
}
