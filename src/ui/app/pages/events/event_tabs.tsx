/** The ways from one page about events to the others. They keep the namespace. */
import type { JSX } from "preact";
import { addressOf } from "../../data/root.ts";
import { eventsPath, withQuery } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";

type Tab = "all" | "dead" | "bindings" | "playground";

export function EventTabs(
  { open, namespace }: { open: Tab; namespace: string },
): JSX.Element {
  const { tabs } = TEXTS.events;
  const entries: [Tab, string, string][] = [
    ["all", tabs.all, eventsPath({ namespace })],
    ["dead", tabs.dead, eventsPath({ state: "dead", namespace })],
    ["bindings", TEXTS.pages.bindings, withQuery("/events/bindings", { namespace })],
    ["playground", TEXTS.pages.playground, withQuery("/events/playground", { namespace })],
  ];
  return (
    <nav class="tabs" aria-label={tabs.label}>
      {entries.map(([tab, text, path]) => (
        <a key={tab} href={addressOf(path)} aria-current={tab === open ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
