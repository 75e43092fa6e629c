/** A value as YAML or JSON: plain at once, with colours, folding and search when the editor is loaded. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { loadEditor } from "../data/editor.ts";
import { useYaml } from "../data/yaml.ts";
import { TEXTS } from "../texts.ts";
import { CopyButton, Loading } from "./basics.tsx";
import { ChoiceChips } from "./choice_chips.tsx";

const LANGUAGES = ["yaml", "json"] as const;
type Language = typeof LANGUAGES[number];
/** While a longer text is written as YAML, the page would stand still; characters of JSON. */
const MOST_AS_YAML = 1_000_000;

export function CodeView({ value, label }: { value: unknown; label: string }): JSX.Element {
  const [language, setLanguage] = useState<Language>("yaml");
  const json = useMemo(() => JSON.stringify(value, null, 2), [value]);
  const isLong = json.length > MOST_AS_YAML;
  const yaml = useYaml(isLong ? null : value);
  const shown = isLong ? "json" : language;
  const text = shown === "json" ? json : yaml;
  return (
    <div class="manifest">
      <div class="tools">
        {isLong ? <span class="faint">{TEXTS.code.long}</span> : (
          <ChoiceChips
            choices={LANGUAGES}
            chosen={language}
            choose={setLanguage}
            texts={TEXTS.code}
            label={TEXTS.code.format}
          />
        )}
        {text !== undefined && <CopyButton text={text} what={TEXTS.copy.manifest} />}
      </div>
      {text === undefined ? <Loading /> : <Shown text={text} language={shown} label={label} />}
    </div>
  );
}

function Shown(
  { text, language, label }: { text: string; language: Language; label: string },
): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let close = () => {};
    let isOver = false;
    void loadEditor().then(({ openEditor }) => {
      if (host.current === null || isOver) return;
      close = openEditor(host.current, { text, language, label }).close;
      setOpen(true);
    }, () => {});
    return () => {
      isOver = true;
      close();
    };
  }, [text, language, label]);
  return (
    <>
      <div ref={host} class="code-host" />
      {!isOpen && <pre class="code" tabIndex={0} aria-label={label}><code>{text}</code></pre>}
    </>
  );
}
