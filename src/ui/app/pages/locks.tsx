/** Mutexes and semaphores: who holds them, who waits, and since when. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Operations } from "../../../client/operations.ts";
import { DATABASE_LIMITS } from "../../../spec/manifest.ts";
import { api, refusalOf } from "../data/api.ts";
import { useNow } from "../data/clock.ts";
import { notify } from "../data/notices.ts";
import { PAGE, readRows } from "../data/pages.ts";
import { usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { may } from "../model/rights.ts";
import { absoluteText, durationText, timeOf } from "../model/times.ts";
import { ListBody, rowsWanted } from "../parts/list_page.tsx";
import { type PageProps, workflowPath } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { TextFilter } from "./workflows/filters.tsx";

const EVERY_MS = 2_000;

type Lock = NonNullable<Operations["LockService_ListLocks"]["answer"]["items"]>[number];
type User = NonNullable<Lock["holders"]>[number];

export function LocksPage({ query }: PageProps): JSX.Element {
  const namespace = query.get("namespace") ?? "";
  const rows = rowsWanted(query);
  const list = usePolled(
    namespace,
    EVERY_MS,
    (signal) => readRows(rows, (start) => readPage(namespace, start, signal)),
    rows,
  );
  const { locks } = TEXTS;
  const count = list.value?.items.length ?? 0;
  return (
    <div class="page">
      <div class="headline">
        <h1>{locks.title}</h1>
        {count > 0 && <span class="faint" role="status">{locks.count(count)}</span>}
      </div>
      <form class="filter-line" role="search" onSubmit={(event) => event.preventDefault()}>
        <TextFilter
          name="namespace"
          value={namespace}
          label={TEXTS.list.fields.namespace}
          isSearch
        />
      </form>
      <ListBody
        list={list}
        isFiltered={namespace !== ""}
        texts={{ ...locks, tooMany: TEXTS.templates.tooMany }}
      >
        {(items) => (
          <ol class="locks">
            {[...items].sort(compareWaiting).map((lock) => (
              <LockCard key={lock.id} lock={lock} reload={list.reload} />
            ))}
          </ol>
        )}
      </ListBody>
    </div>
  );
}

async function readPage(namespace: string, start: string | undefined, signal: AbortSignal) {
  const { metadata, items } = await api.call("LockService_ListLocks", {
    params: { namespace },
    query: { limit: PAGE, continue: start },
    signal,
  });
  const next = metadata?.continue;
  return { metadata: next === undefined ? {} : { continue: next }, items: items ?? [] };
}

/** Those for which most wait come first. */
function compareWaiting(a: Lock, b: Lock): number {
  return (b.waitingCount ?? 0) - (a.waitingCount ?? 0) || ((a.id ?? "") < (b.id ?? "") ? -1 : 1);
}

function LockCard({ lock, reload }: { lock: Lock; reload: () => Promise<void> }): JSX.Element {
  const { locks } = TEXTS;
  const { kind, name = "", namespace = "", limit = 1, holderCount = 0, waitingCount = 0 } = lock;
  return (
    <li class={waitingCount > 0 ? "card contended" : "card"}>
      <div class="entry-head">
        <h2 class="wide-name">
          {kind === "semaphore" ? locks.kinds.semaphore : locks.kinds.mutex} {name}
        </h2>
        <span class="faint">{namespace}</span>
        <span class="number">{locks.held(holderCount, limit)}</span>
        <span class={waitingCount > 0 ? "look-Waiting" : "faint"}>{locks.free(waitingCount)}</span>
      </div>
      {holderCount > limit && <p class="faint">{locks.over}</p>}
      <Limit lock={lock} reload={reload} />
      <Users title={locks.holders} users={lock.holders ?? []} count={holderCount} />
      <Users title={locks.waiting} users={lock.waiting ?? []} count={waitingCount} />
    </li>
  );
}

function Users(
  { title, users, count }: { title: string; users: readonly User[]; count: number },
): JSX.Element | null {
  const now = useNow();
  const { locks } = TEXTS;
  if (count === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ol class="users">
        {users.map((user, index) => {
          const since = timeOf(user.since);
          return (
            <li key={`${user.namespace}/${user.workflow}/${user.nodeId ?? ""}/${index}`}>
              <UserName user={user} />
              {since !== undefined && (
                <time
                  class="faint"
                  dateTime={new Date(since).toISOString()}
                  title={absoluteText(since)}
                >
                  {locks.since(durationText(now - since))}
                </time>
              )}
              {(user.priority ?? 0) !== 0 && (
                <span class="faint">{locks.priority(user.priority ?? 0)}</span>
              )}
            </li>
          );
        })}
        {count > users.length && <li class="faint">{locks.rest(count - users.length)}</li>}
      </ol>
    </section>
  );
}

function UserName({ user: { namespace, workflow, nodeId } }: { user: User }): JSX.Element {
  const { locks } = TEXTS;
  if (namespace === undefined || workflow === undefined) {
    return <span class="faint">{locks.hidden}</span>;
  }
  const query = nodeId === undefined ? {} : { node: nodeId };
  return (
    <span>
      <a href={addressOf(workflowPath(namespace, workflow, query))} data-keys-row="">{workflow}</a>
      {" "}
      <span class="faint">
        {TEXTS.inbox.of(nodeId === undefined ? locks.wholeWorkflow : locks.step, namespace)}
      </span>
    </span>
  );
}

interface LimitProps {
  lock: Lock;
  reload: () => Promise<void>;
}

/** Where the limit of a semaphore is, and a form to change it. */
function Limit({ lock, reload }: LimitProps): JSX.Element | null {
  const { type, cmName, name = "" } = lock;
  const { place } = TEXTS.locks;
  if (type === undefined) return null;
  return (
    <div class="limit">
      <span class="faint">
        {type === "DATABASE" ? place.DATABASE(name) : place.CONFIGMAP(cmName ?? "", name)}
      </span>
      <LimitForm lock={lock} reload={reload} />
    </div>
  );
}

function LimitForm({ lock, reload }: LimitProps): JSX.Element | null {
  const { locks } = TEXTS;
  const { name = "", namespace = "", type, cmName, limit = 1 } = lock;
  const configMap = type === "DATABASE" ? DATABASE_LIMITS : cmName ?? "";
  const isAllowed = may(useRights(namespace, configMap), "configmaps", "update");
  const [wanted, setWanted] = useState<string | undefined>(undefined);
  if (!isAllowed) return null;
  const save = async () => {
    const next = Number(wanted);
    try {
      await api.call("SyncService_UpdateSyncLimit", {
        params: { namespace, key: name },
        body: { namespace, key: name, type, cmName, limit: next },
      });
      notify(locks.changed(name, next));
      setWanted(undefined);
      await reload();
    } catch (error) {
      notify(locks.notChanged(name), { isError: true, details: [refusalOf(error)] });
    }
  };
  if (wanted === undefined) {
    return (
      <button type="button" class="small" onClick={() => setWanted(String(limit))}>
        {locks.change}
      </button>
    );
  }
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        type="number"
        min="1"
        step="1"
        required
        aria-label={locks.limit}
        value={wanted}
        onInput={({ currentTarget }) => setWanted(currentTarget.value)}
      />
      <button type="submit" class="main">{locks.save}</button>
      <button type="button" onClick={() => setWanted(undefined)}>{TEXTS.cancel}</button>
    </form>
  );
}
