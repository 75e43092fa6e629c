/** What is kept of an event that nobody can read. */
import type { JSX } from "preact";
import { bytesText, type Delivery } from "../../model/deliveries.ts";
import { CopyButton } from "../../parts/basics.tsx";
import { MOST_SHOWN } from "../../parts/long_words.tsx";
import { TEXTS } from "../../texts.ts";

/** A text in a box that scrolls, with a button that copies all of it. */
export function LongText(
  { text, label, what }: { text: string; label: string; what: string },
): JSX.Element {
  return (
    <div class="long-text">
      <CopyButton text={text} what={what} />
      <pre
        class="code"
        tabIndex={0}
        aria-label={label}
      ><code>{text.slice(0, MOST_SHOWN)}</code></pre>
      {text.length > MOST_SHOWN && <p class="faint">{TEXTS.panel.cut(MOST_SHOWN)}</p>}
    </div>
  );
}

export function StoredBytes(
  { bytes, isFolded = false }: {
    bytes: NonNullable<Delivery["unreadable"]>;
    isFolded?: boolean;
  },
): JSX.Element {
  const { payload } = TEXTS.events;
  const text = bytes.text ?? bytes.base64 ?? "";
  const content = (
    <>
      {bytes.text === undefined && bytes.base64 !== undefined && <p>{payload.base64}</p>}
      {bytes.isCut === true && <p>{payload.cut}</p>}
      {text !== "" && <LongText text={text} label={payload.bytes} what={payload.bytes} />}
      <p class="faint">{payload.lost}</p>
    </>
  );
  const title = `${payload.bytes} (${bytesText(bytes.bytes)})`;
  return isFolded
    ? (
      <details>
        <summary>{title}</summary>
        {content}
      </details>
    )
    : (
      <section class="card">
        <h2>{title}</h2>
        {content}
      </section>
    );
}
