/** One event: what became of it, why each binding matched or not, and what it held. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ExplainedEvent } from "../../../../http/routes/event_answers.ts";
import { readAgain } from "../../data/again.ts";
import { type Trouble, troubleOf } from "../../data/api.ts";
import { EVENTS_MS, explainEvent, readDelivery } from "../../data/deliveries.ts";
import { keepText } from "../../data/kept.ts";
import { usePolled } from "../../data/polled.ts";
import { useRights } from "../../data/rights.ts";
import { addressOf } from "../../data/root.ts";
import { bindingFor } from "../../model/binding_example.ts";
import { bytesText, type Delivery, storiesOf } from "../../model/deliveries.ts";
import { may, mayReplay } from "../../model/rights.ts";
import { Ago, CopyButton, Fact, Loading, LoadState, TroubleLine } from "../../parts/basics.tsx";
import { eventsPath, type PageProps, STORED_RESOURCES, withQuery } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { draftName } from "../edit/draft_name.ts";
import { BindingStories } from "./binding_stories.tsx";
import { DeliveryBadge, ReplayButton } from "./delivery_table.tsx";
import { EventTabs } from "./event_tabs.tsx";
import { keepDraft } from "./playground_draft.ts";
import { LongText, StoredBytes } from "./stored_bytes.tsx";

const BINDING = "WorkflowEventBinding";

export function EventPage({ params }: PageProps): JSX.Element {
  const { namespace = "", id = "" } = params;
  const { value: delivery, trouble, reload } = usePolled(
    `${namespace}/${id}`,
    EVENTS_MS,
    (signal) => readDelivery(namespace, id, signal),
  );
  const again = () => void reload();
  return (
    <div class="page">
      {delivery === undefined && <h1>{TEXTS.pages.event}</h1>}
      {delivery !== undefined && <Head delivery={delivery} again={again} />}
      <EventTabs open="all" namespace={namespace} />
      <LoadState
        trouble={trouble}
        isLoaded={delivery !== undefined}
        again={again}
        home={{ path: eventsPath(), text: TEXTS.events.all }}
      />
      {delivery !== undefined && <Content delivery={delivery} />}
    </div>
  );
}

function Head({ delivery, again }: { delivery: Delivery; again: () => void }): JSX.Element {
  const { id, namespace, discriminator, receivedAt, size, attempts, retryAt, state } = delivery;
  const { facts } = TEXTS.events;
  const isAllowed = mayReplay(useRights(namespace));
  return (
    <>
      <div class="headline">
        <h1 class="wide-name">{discriminator || TEXTS.events.noDiscriminator}</h1>
        <DeliveryBadge delivery={delivery} />
        {state === "dead" && delivery.hasEvent === true && isAllowed && (
          <span class="actions">
            <ReplayButton delivery={delivery} onDone={again} />
          </span>
        )}
      </div>
      <dl class="facts">
        <Fact name={facts.namespace}>{namespace}</Fact>
        <Fact name={facts.received}>
          <Ago at={receivedAt} isFull />
        </Fact>
        <Fact name={facts.size}>{bytesText(size)}</Fact>
        <Fact name={facts.attempts}>{attempts}</Fact>
        {state === "queued" && retryAt !== undefined && (
          <Fact name={facts.next}>
            <Ago at={retryAt} isFull />
          </Fact>
        )}
        <Fact name={facts.id}>
          <code>{id}</code> <CopyButton text={id} what={facts.id} />
        </Fact>
      </dl>
    </>
  );
}

type Explained = ExplainedEvent | { trouble: Trouble } | "forbidden" | undefined;

/** What the event held, asked for when its record changes. */
function useExplained({ namespace, id, hasEvent, state, attempts }: Delivery): Explained {
  const [explained, setExplained] = useState<Explained>(undefined);
  const rights = useRights(namespace);
  const isAllowed = rights && mayReplay(rights);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    if (hasEvent === true && isAllowed === false) setExplained("forbidden");
    else if (hasEvent === true && isAllowed === true) {
      const tell = (trouble: Trouble | undefined) => trouble && setExplained({ trouble });
      readAgain(() => explainEvent(namespace, id), { signal, tell }).then(
        (found) => signal.aborted || setExplained(found),
        (error) => signal.aborted || setExplained({ trouble: troubleOf(error) }),
      );
    } else setExplained(undefined);
    return () => stop.abort();
  }, [namespace, id, hasEvent, state, attempts, isAllowed]);
  return explained;
}

function Content({ delivery }: { delivery: Delivery }): JSX.Element {
  const explained = useExplained(delivery);
  const found = typeof explained === "object" && "payload" in explained ? explained : undefined;
  const stories = storiesOf(delivery.bindings, found?.bindings ?? []);
  const texts = TEXTS.events.stories;
  return (
    <div class="split even">
      <section class="card" aria-labelledby="stories">
        <h2 id="stories">{texts.title}</h2>
        {stories.length === 0
          ? <p class="faint">{delivery.state === "queued" ? texts.queued : texts.none}</p>
          : <BindingStories namespace={delivery.namespace} stories={stories} />}
        {found !== undefined && found.unexplained > 0 && (
          <p class="faint">{texts.unexplained(found.unexplained)}</p>
        )}
      </section>
      <div class="stack">
        {delivery.unreadable !== undefined && <StoredBytes bytes={delivery.unreadable} />}
        {delivery.unreadable === undefined && <Payload delivery={delivery} explained={explained} />}
      </div>
    </div>
  );
}

function Payload(
  { delivery, explained }: { delivery: Delivery; explained: Explained },
): JSX.Element {
  const { payload } = TEXTS.events;
  if (delivery.hasEvent !== true) {
    return (
      <Card>
        <p class="faint">{delivery.state === "queued" ? payload.queued : payload.notKept}</p>
      </Card>
    );
  }
  if (explained === undefined) return <Loading />;
  if (explained === "forbidden") {
    return (
      <Card>
        <p class="faint">{payload.forbidden}</p>
      </Card>
    );
  }
  if ("trouble" in explained) {
    return (
      <Card>
        <TroubleLine trouble={explained.trouble} />
      </Card>
    );
  }
  return <Kept delivery={delivery} explained={explained} />;
}

function Card({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <section class="card" aria-labelledby="payload">
      <h2 id="payload">{TEXTS.events.payload.title}</h2>
      {children}
    </section>
  );
}

function Kept(
  { delivery: { id, namespace, discriminator }, explained }: {
    delivery: Delivery;
    explained: ExplainedEvent;
  },
): JSX.Element {
  const { payload, try: tryText, bind } = TEXTS.events;
  const mayBind = may(useRights(namespace), STORED_RESOURCES[BINDING], "create");
  const text = useMemo(() => JSON.stringify(explained.payload, null, 2), [explained]);
  const draft = { discriminator, payload: text, metadata: explained.metadata };
  return (
    <>
      <Card>
        <LongText text={text} label={payload.title} what={payload.what} />
        <p class="buttons">
          <a
            class="button"
            href={addressOf(`/events/playground?${new URLSearchParams({ namespace })}`)}
            onClick={() => keepDraft(draft)}
          >
            {tryText}
          </a>
          {mayBind && (
            <a
              class="button"
              href={addressOf(withQuery("/edit", { kind: BINDING, namespace, event: id }))}
              onClick={() =>
                keepText(
                  "visit",
                  draftName(BINDING, id),
                  bindingFor(discriminator, explained.payload),
                )}
            >
              {bind}
            </a>
          )}
        </p>
      </Card>
      <Headers explained={explained} />
    </>
  );
}

/** What came with an event, and who sent it. */
function Headers({ explained }: { explained: ExplainedEvent }): JSX.Element {
  const { payload, facts } = TEXTS.events;
  const headers = Object.entries(explained.metadata);
  const { subject, name, email } = explained.sender;
  const sender = name ?? email ?? subject;
  return (
    <section class="card" aria-labelledby="headers">
      <h2 id="headers">{payload.headers}</h2>
      {headers.length === 0 && <p class="faint">{payload.noHeaders}</p>}
      <dl class="values">
        {headers.map(([key, values]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>
              {values.map((value, index) => <pre key={index}>{value}</pre>)}
            </dd>
          </div>
        ))}
        {sender !== undefined && (
          <div>
            <dt>{facts.sender}</dt>
            <dd>{sender}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}
