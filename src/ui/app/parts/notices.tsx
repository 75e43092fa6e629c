/** What is said above the pages: what actions did, and whether what is shown is up to date. */
import type { JSX } from "preact";
import { useNow } from "../data/clock.ts";
import { connection, staleness } from "../data/connection.ts";
import { notices } from "../data/notices.ts";
import { addressOf } from "../data/root.ts";
import { useStore } from "../data/use_store.ts";
import { TEXTS } from "../texts.ts";
import { Icon } from "./icons.tsx";

export function Notices(): JSX.Element {
  const shown = useStore(notices, (context) => context.shown);
  return (
    <div class="notices" role="region" aria-label={TEXTS.notices} aria-live="polite">
      {shown.map(({ id, isError, text, details, link }) => (
        <div
          key={id}
          class={isError ? "notice error" : "notice"}
          role={isError ? "alert" : "status"}
        >
          <div>
            <p>
              {text} {link && <a href={addressOf(link.path)}>{link.text}</a>}
            </p>
            {details.length > 0 && <ul>{details.map((line) => <li key={line}>{line}</li>)}</ul>}
          </div>
          <button
            type="button"
            class="quiet"
            aria-label={TEXTS.close}
            onClick={() => notices.trigger.closed({ id })}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

/** How long it says that the connection is back, ms. */
const BACK_MS = 4_000;

export function ConnectionLine(): JSX.Element {
  const now = useNow();
  const stale = useStore(connection, staleness);
  const backAt = useStore(connection, (context) => context.backAt);
  const isBack = stale === undefined && backAt !== undefined && now - backAt < BACK_MS;
  return (
    <div role="status" class={stale ? "connection lost" : isBack ? "connection back" : "unseen"}>
      {stale ? TEXTS.connection[stale] : isBack ? TEXTS.connection.back : ""}
    </div>
  );
}
