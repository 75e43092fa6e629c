/** What all pages are made of: phases, times, things to copy, and what to say when there is nothing or something is wrong. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ObjectMeta, Workflow } from "../../../spec/manifest.ts";
import type { Trouble } from "../data/api.ts";
import { serverNow, useNow } from "../data/clock.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { router } from "../data/router.ts";
import { useStore } from "../data/use_store.ts";
import { type Look, lookOfWorkflow, wordOf } from "../model/phases.ts";
import { titleIn } from "../model/stored.ts";
import { absoluteText, relativeText, spanText, timeOf } from "../model/times.ts";
import { waitTip } from "../model/waits.ts";
import { belongsTo, NAVIGATION } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { Icon, LookIcon } from "./icons.tsx";

/** @param word instead of the look's own @param tip says more */
export function PhaseBadge(
  { look, word, tip }: { look: Look; word?: string; tip?: string | undefined },
): JSX.Element {
  return (
    <span class={`phase look-${look}`} title={tip}>
      <LookIcon look={look} />
      {word ?? wordOf(look)}
    </span>
  );
}

/** The phase of a workflow; if it waits, its tip says what resumes it. */
export function WorkflowPhase({ of }: { of: Workflow }): JSX.Element {
  return <PhaseBadge look={lookOfWorkflow(of)} tip={waitTip(of, serverNow())} />;
}

/** The title that a manifest has beside its name, if it has one. */
export function GivenTitle({ of }: { of: ObjectMeta }): JSX.Element | null {
  const title = titleIn(of);
  return title === "" ? null : <p class="message row-title">{title}</p>;
}

/** How long ago something was; the exact time stands in its tip, and beside it if asked for. */
export function Ago(
  { at, isFull = false }: { at: string | null | undefined; isFull?: boolean },
): JSX.Element {
  const now = useNow();
  const time = timeOf(at);
  if (time === undefined) return <span class="faint">{TEXTS.none}</span>;
  const absolute = absoluteText(time);
  return (
    <time dateTime={new Date(time).toISOString()} title={absolute}>
      {relativeText(time, now)}
      {isFull && <span class="faint">{` · ${absolute}`}</span>}
    </time>
  );
}

/** How long something took, or takes so far. */
export function Span(
  { of }: { of: { startedAt?: string | null; finishedAt?: string | null } | undefined },
): JSX.Element {
  const now = useNow();
  const text = spanText(of ?? {}, now);
  if (text === undefined) return <span class="faint">{TEXTS.none}</span>;
  return <span class="number">{text}</span>;
}

/** How long a button says that it has copied, ms. */
const COPIED_MS = 1_500;

/** @param isNamed says what is copied, where that is not plain from its place */
export function CopyButton(
  { text, what, isNamed = false }: { text: string; what: string; isNamed?: boolean },
): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button type="button" class="quiet small" onClick={copy} title={TEXTS.copy.title(what)}>
      <Icon name="copy" />
      <span aria-live="polite">{isCopied ? TEXTS.copy.done : TEXTS.copy.do}</span>
      <span class={isNamed ? undefined : "unseen"}>{what}</span>
    </button>
  );
}

/** The old way is for pages without TLS, which have no such clipboard, and for browsers that do not let pages use it. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByField(text);
  }
}

function copyByField(text: string): void {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
}

/** Nothing is there: says so, and what to do next. */
export function Empty(
  { title, children }: { title: string; children?: ComponentChildren },
): JSX.Element {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** The server is asked again after this time when it could not be reached, or could not answer, ms. */
const AGAIN_MS = { unreachable: 4_000, other: 10_000 };
/** Somebody who comes back to the page may have mended these meanwhile, in another window. */
const MENDED: ReadonlySet<Trouble["kind"]> = new Set(["login", "forbidden", "missing"]);

/** What the server says about these helps nobody in a browser: it is about headers, or there is none. */
const WITHOUT_WORDS: ReadonlySet<Trouble["kind"]> = new Set(["unreachable", "login"]);

/** Something could not be shown: why, and what to do next. */
export function TroubleBox(
  { trouble, again, home = { path: "/", text: TEXTS.allWorkflows } }: {
    trouble: Trouble;
    again: () => void;
    /** Where what exists is listed. */
    home?: { path: string; text: string };
  },
): JSX.Element {
  const { kind, message, passes = false } = trouble;
  const texts = TEXTS.troubles[kind];
  const from = useStore(router, ({ path, search }) => path + search);
  useEffect(() => {
    if (!passes && !MENDED.has(kind)) return;
    const pause = kind === "unreachable" ? AGAIN_MS.unreachable : AGAIN_MS.other;
    const timer = passes ? setTimeout(again, pause) : undefined;
    const look = () => document.hidden || again();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      clearTimeout(timer);
    };
  }, [trouble]);
  return (
    <div class="state trouble" role="alert">
      <h2>{texts.title}</h2>
      <p>{passes && kind !== "unreachable" ? TEXTS.trying : texts.next}</p>
      {!WITHOUT_WORDS.has(kind) && <p class="server-words">{message}</p>}
      {kind === "forbidden" && <VisibleNamespaces />}
      <p class="buttons">
        {kind === "login" && (
          <a class="button main" href={addressOf(`/login?from=${encodeURIComponent(from)}`)}>
            {TEXTS.login.do}
          </a>
        )}
        {kind === "missing" && <a class="button main" href={addressOf(home.path)}>{home.text}</a>}
        <button type="button" onClick={again}>{TEXTS.again}</button>
      </p>
    </div>
  );
}

/** The same in few words, for a part of a page that tries again by itself where that may help. */
export function TroubleLine({ trouble: { kind, message } }: { trouble: Trouble }): JSX.Element {
  const { title, next } = TEXTS.troubles[kind];
  return kind === "unreachable"
    ? <p class="server-words" role="alert">{`${title}. ${next}`}</p>
    : <p class="server-words" role="alert">{message}</p>;
}

/** Where the visitor may see something, as far as the server knows. */
function VisibleNamespaces(): JSX.Element | null {
  const path = useStore(router, (context) => context.path);
  const named = useRights("")?.namespaces?.filter((one) => one !== "*") ?? [];
  const query = new URLSearchParams(useStore(router, (context) => context.search));
  const list = NAVIGATION.find((entry) => belongsTo(entry.path, path, query))?.path ?? "/";
  // The deployment belongs to no namespace.
  if (named.length === 0 || list === "/system") return null;
  return (
    <>
      <p>{TEXTS.rights.visible}</p>
      <ul class="labels">
        {named.map((namespace) => (
          <li key={namespace}>
            <a href={addressOf(`${list}?${new URLSearchParams({ namespace })}`)}>
              {namespace}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** After this time it is no longer usual that nothing came, ms. */
const LONG_MS = 5_000;

/** Waits a moment before it says that something loads, so that it does not flicker. */
export function Loading(): JSX.Element {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  return <p class="loading" role="status">{isLong ? TEXTS.loadingLong : TEXTS.loading}</p>;
}

/** In the place of what is not there, or above what was there before: what is wrong, or that it loads. */
export function LoadState(
  { trouble, isLoaded, again, home }: {
    trouble: Trouble | undefined;
    isLoaded: boolean;
    again: () => void;
    home?: { path: string; text: string };
  },
): JSX.Element | null {
  if (trouble === undefined) return isLoaded ? null : <Loading />;
  return <TroubleBox trouble={trouble} again={again} {...(home !== undefined && { home })} />;
}

/** A name and its value. */
export function Fact(
  { name, children }: { name: string; children: ComponentChildren },
): JSX.Element {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
