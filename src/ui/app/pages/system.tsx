/** How the deployment is: what is not well and what to do, then the facts. */
import type { JSX } from "preact";
import { api } from "../data/api.ts";
import { usePolled } from "../data/polled.ts";
import {
  aboutOf,
  bytesText,
  fillOf,
  type Finding,
  findingsOf,
  rangesText,
  type Replica,
  type System,
} from "../model/health.ts";
import { Ago, Fact, LoadState } from "../parts/basics.tsx";
import { Boundary } from "../parts/boundary.tsx";
import { LookIcon } from "../parts/icons.tsx";
import { type RowColumn, Rows } from "../parts/rows.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";

const EVERY_MS = 3_000;

export function SystemPage(_props: PageProps): JSX.Element {
  const { value, trouble, reload } = usePolled(
    "",
    EVERY_MS,
    (signal) => api.call("SystemService_GetSystem", { signal }),
  );
  return (
    <div class="page">
      <div class="headline">
        <h1>{TEXTS.system.title}</h1>
        {value !== undefined && <span class="faint">{TEXTS.name} {value.version}</span>}
      </div>
      <LoadState trouble={trouble} isLoaded={value !== undefined} again={() => void reload()} />
      {value !== undefined && (
        <Boundary about={JSON.stringify(value)}>
          <Verdict findings={findingsOf(value)} />
          <Replicas system={value} />
          <Shards system={value} />
          <div class="cards">
            <Store system={value} />
            <Queue system={value} />
            <Executors system={value} />
          </div>
        </Boundary>
      )}
    </div>
  );
}

function Verdict({ findings }: { findings: readonly Finding[] }): JSX.Element {
  const { system } = TEXTS;
  const troubles = findings.filter(({ kind }) => kind === "trouble");
  const notes = findings.filter(({ kind }) => kind === "note");
  return (
    <section class={troubles.length > 0 ? "card bad" : "card"}>
      <h2>{system.verdict}</h2>
      <ol class="sentences" aria-live="polite">
        {troubles.length === 0 && (
          <li>
            <LookIcon look="Succeeded" />
            <p>{system.well}</p>
          </li>
        )}
        {troubles.map((one) => <Sentence key={one.what} finding={one} />)}
      </ol>
      {notes.length > 0 && (
        <>
          <h3>{system.notes}</h3>
          <ol class="sentences">
            {notes.map((one) => <Sentence key={one.what} finding={one} />)}
          </ol>
        </>
      )}
    </section>
  );
}

function Sentence({ finding: { kind, what, todo } }: { finding: Finding }): JSX.Element {
  return (
    <li>
      <LookIcon look={kind === "trouble" ? "Error" : "Omitted"} />
      <div>
        <p class="words">{what}</p>
        <p class="faint">{todo}</p>
      </div>
    </li>
  );
}

function Replicas({ system: { replicas = [], shards = 0 } }: { system: System }): JSX.Element {
  const { title } = TEXTS.system.replicas;
  return (
    <section class="card">
      <h2>{title}</h2>
      <Rows
        label={title}
        items={replicas}
        keyOf={({ name = "" }) => name}
        columns={[...workColumns(shards), ...programColumns()]}
      />
    </section>
  );
}

/** Who it is, and what it does. */
function workColumns(shards: number): RowColumn<Replica>[] {
  const { heads, ...texts } = TEXTS.system.replicas;
  return [
    {
      title: heads.name,
      look: "name",
      show: (replica) => {
        const { process } = aboutOf(replica);
        return (
          <>
            <strong>{replica.name}</strong>{" "}
            {process !== undefined && <span class="faint">{texts.process(process)}</span>}
          </>
        );
      },
    },
    {
      title: heads.shards,
      look: "tight",
      show: ({ shards: owned }) =>
        owned === undefined ? TEXTS.none : texts.shards(owned.length, shards),
    },
    {
      title: heads.work,
      look: "tight",
      show: ({ actors, tasks }) =>
        actors === undefined ? TEXTS.none : texts.work(actors, tasks ?? 0),
    },
  ];
}

/** What it runs on, and how it is. */
function programColumns(): RowColumn<Replica>[] {
  const { heads, ...texts } = TEXTS.system.replicas;
  return [
    { title: heads.memory, show: (replica) => <Memory replica={replica} /> },
    {
      title: heads.version,
      look: "tight",
      show: (replica) => {
        const { version, runtime } = aboutOf(replica);
        return [version, runtime].filter((one) => one !== undefined).join(", ") || TEXTS.none;
      },
    },
    {
      title: heads.started,
      look: "tight",
      show: (replica) => <Ago at={aboutOf(replica).startedAt} />,
    },
    {
      title: heads.answer,
      look: "tight",
      show: ({ answeredAfterMs }) =>
        answeredAfterMs === undefined
          ? <span class="look-Error">{texts.silent}</span>
          : <span class="number">{texts.ms(answeredAfterMs)}</span>,
    },
  ];
}

function Memory({ replica }: { replica: Replica }): JSX.Element {
  const { memoryBytes, heapBytes, heapLimitBytes } = aboutOf(replica);
  if (memoryBytes === undefined) return <span class="faint">{TEXTS.none}</span>;
  const heap = heapBytes === undefined || heapLimitBytes === undefined
    ? undefined
    : TEXTS.system.replicas.heap(bytesText(heapBytes), bytesText(heapLimitBytes));
  return (
    <>
      {bytesText(memoryBytes)} {heap !== undefined && <span class="faint">{heap}</span>}
    </>
  );
}

/** Colours that tell owners apart; beyond these they repeat, and the words tell. */
const COLOURS = 6;

function Shards({ system: { replicas = [], shards = 0 } }: { system: System }): JSX.Element {
  const texts = TEXTS.system.shards;
  const owners = new Map(
    replicas.flatMap((replica, index) =>
      (replica.shards ?? []).map((shard) => [shard, { name: replica.name ?? "", index }] as const)
    ),
  );
  const free = Array.from({ length: shards }, (_, shard) => shard)
    .filter((shard) => !owners.has(shard));
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      <p class="faint">{texts.what}</p>
      <div class="shards" aria-hidden="true">
        {Array.from({ length: shards }, (_, shard) => {
          const owner = owners.get(shard);
          return (
            <span
              key={shard}
              class={owner === undefined ? "shard free" : `shard owner-${owner.index % COLOURS}`}
              title={texts.of(shard, owner?.name ?? texts.nobody)}
            />
          );
        })}
      </div>
      <ul class="owners">
        {replicas.map(({ name = "", shards: owned = [] }, index) => (
          <li key={name}>
            <span class={`shard owner-${index % COLOURS}`} aria-hidden="true" />
            {texts.owner(name, rangesText(owned) || TEXTS.none)}
          </li>
        ))}
        {free.length > 0 && (
          <li>
            <span class="shard free" aria-hidden="true" />
            {texts.owner(texts.nobody, rangesText(free))}
          </li>
        )}
      </ul>
    </section>
  );
}

function Store({ system: { store } }: { system: System }): JSX.Element {
  const texts = TEXTS.system.store;
  const { kind = "", durability, answeredAfterMs } = store ?? {};
  const promised = durability?.promised ?? "unknown";
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      <dl class="facts">
        <Fact name={texts.kind}>{texts.kinds[kind] ?? kind}</Fact>
        <Fact name={texts.durability}>{texts.promises[promised] ?? promised}</Fact>
        <Fact name={texts.answer}>
          {answeredAfterMs === undefined
            ? <span class="look-Error">{texts.noAnswer}</span>
            : TEXTS.system.replicas.ms(answeredAfterMs)}
        </Fact>
      </dl>
    </section>
  );
}

function Queue({ system: { events } }: { system: System }): JSX.Element {
  const texts = TEXTS.system.events;
  const fill = fillOf(events);
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      {fill === undefined ? <p class="faint">{texts.unknown}</p> : (
        <>
          <meter
            value={Math.min(1, fill)}
            low={0.5}
            high={0.8}
            optimum={0}
            aria-label={texts.title}
          />
          <p>{texts.fill(events?.queued ?? 0, events?.capacity ?? 0)}</p>
        </>
      )}
    </section>
  );
}

function Executors({ system: { replicas = [] } }: { system: System }): JSX.Element {
  const texts = TEXTS.system.executors;
  const counts = new Map<string, number>();
  for (const replica of replicas) {
    const { executor } = aboutOf(replica);
    if (executor !== undefined) counts.set(executor, (counts.get(executor) ?? 0) + 1);
  }
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      {counts.size === 0 && <p class="faint">{TEXTS.none}</p>}
      <ul>
        {[...counts].map(([kind, count]) => (
          <li key={kind}>
            <strong>{texts.on(kind, count)}</strong>
            <p class="faint">{texts.kinds[kind] ?? ""}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
