/** What a binding would do with an event. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { YAML_OPTIONS } from "../../../../spec/yaml/options.ts";
import { readAgain, type Telling } from "../../data/again.ts";
import { troubleOf } from "../../data/api.ts";
import { type Preview, testBinding, type TestedEvent } from "../../data/deliveries.ts";
import { useYaml } from "../../data/yaml.ts";
import { headersOf } from "../../model/deliveries.ts";
import { CopyButton } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";
import { Condition } from "./condition.tsx";
import type { Draft } from "./playground_draft.ts";

/** It is tried after this pause, ms. */
const PAUSE_MS = 400;

export type Trial = { previews: Preview[] } | { refusal: string } | undefined;

/**
 * Tries it again whenever something changes; until that is done, what was found before stays. Undefined before the first.
 * @param namespace undefined: there is nothing to try
 */
export function useTrial(namespace: string | undefined, draft: Draft, name: string): Trial {
  const [trial, setTrial] = useState<Trial>(undefined);
  const { discriminator, payload, headers } = draft;
  const manifest = name === "" ? draft.manifest : "";
  useEffect(() => {
    if (namespace === undefined) return;
    const stop = new AbortController();
    const { signal } = stop;
    const timer = setTimeout(() => {
      void attempt(namespace, { discriminator, payload, headers, manifest }, name, {
        signal,
        tell: (trouble) => trouble && setTrial({ refusal: trouble.message }),
      }).then((found) => signal.aborted || setTrial(found));
    }, PAUSE_MS);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [namespace, discriminator, payload, headers, manifest, name]);
  return trial;
}

async function attempt(
  namespace: string,
  draft: Draft,
  name: string,
  telling: Telling,
): Promise<Trial> {
  const texts = TEXTS.events.playground;
  const metadata = headersOf(draft.headers);
  if (metadata === undefined) return { refusal: texts.headersWrong };
  const event: TestedEvent = { discriminator: draft.discriminator, payload: null, metadata };
  try {
    event.payload = draft.payload.trim() === "" ? null : JSON.parse(draft.payload);
  } catch (error) {
    return { refusal: texts.payloadWrong(wordsOf(error)) };
  }
  try {
    const tested = name === "" ? { binding: await manifestOf(draft.manifest) } : { name };
    return { previews: await readAgain(() => testBinding(namespace, event, tested), telling) };
  } catch (error) {
    return { refusal: troubleOf(error).message };
  }
}

/** @throws {Error} with the line of what is no YAML */
async function manifestOf(text: string): Promise<unknown> {
  const { yamlValue } = await import("../../../../spec/yaml/documents.ts");
  try {
    return yamlValue(text, YAML_OPTIONS) ?? {};
  } catch (error) {
    throw new Error(TEXTS.events.playground.manifestWrong(wordsOf(error)));
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function Result({ trial }: { trial: Trial }): JSX.Element {
  const texts = TEXTS.events.playground;
  if (trial === undefined) return <p class="faint">{texts.trying}</p>;
  if ("refusal" in trial) {
    return (
      <>
        <p>{texts.refused}</p>
        <pre class="server-words" tabIndex={0}>{trial.refusal}</pre>
      </>
    );
  }
  return (
    <>
      {trial.previews.map((preview, index) => <Shown key={index} preview={preview} />)}
    </>
  );
}

function Shown({ preview }: { preview: Preview }): JSX.Element {
  const { outcome, workflow, callback, message, selector } = preview;
  const texts = TEXTS.events.playground;
  return (
    <div class="stack">
      <p class="words">{texts[outcome]}</p>
      {message !== undefined && <pre class="server-words" tabIndex={0}>{message}</pre>}
      {workflow !== undefined && <Submitted workflow={workflow} />}
      {callback !== undefined && <Yaml value={callback} label={texts[outcome]} />}
      {selector !== undefined && (
        <details open={selector.verdict !== "true"}>
          <summary>{TEXTS.events.parts.label}</summary>
          <Condition part={selector} />
        </details>
      )}
    </div>
  );
}

function Submitted({ workflow }: { workflow: NonNullable<Preview["workflow"]> }): JSX.Element {
  const texts = TEXTS.events.playground;
  const parameters = workflow.spec?.arguments?.parameters ?? [];
  return (
    <>
      {parameters.length > 0 && (
        <dl class="values" aria-label={texts.parameters}>
          {parameters.map(({ name, value }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <pre>{String(value ?? "")}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Yaml value={workflow} label={texts.workflow} />
    </>
  );
}

function Yaml({ value, label }: { value: unknown; label: string }): JSX.Element | null {
  const text = useYaml(value);
  if (text === undefined) return null;
  return (
    <div class="long-text">
      <CopyButton text={text} what={TEXTS.copy.manifest} />
      <pre class="code" tabIndex={0} aria-label={label}><code>{text}</code></pre>
    </div>
  );
}
