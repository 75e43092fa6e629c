/** A manifest to write: completed from its schema, and checked while it is written. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { troubleOf } from "../data/api.ts";
import { loadEditor, loadSchema, type ManifestSchema } from "../data/editor.ts";
import type { TextProblem } from "../model/manifest_check.ts";
import type { JsonSchema } from "../model/manifest_schema.ts";
import { TEXTS } from "../texts.ts";

/** Asks the server whether a manifest is valid. @throws what it refuses it with */
type Lint = (manifest: unknown) => Promise<unknown>;

interface ManifestCheck {
  /** What is wrong with the text; undefined while that is not known. */
  problems: readonly TextProblem[] | undefined;
  check: (text: string) => Promise<TextProblem[]>;
}

/** What is wrong with a text, as far as it was checked. */
export function useManifestCheck(text: string, schema: ManifestSchema, lint: Lint): ManifestCheck {
  const [found, setFound] = useState<{ text: string; problems: TextProblem[] } | undefined>();
  const latest = useRef(text);
  latest.current = text;
  return {
    problems: found?.text === text ? found.problems : undefined,
    check: async (checked) => {
      const problems = await problemsOf(checked, schema, lint);
      // An answer about an older text may come last.
      if (checked === latest.current) setFound({ text: checked, problems });
      return problems;
    },
  };
}

/** First what is no YAML, then what the schema does not allow, then what the server says. */
async function problemsOf(text: string, kind: ManifestSchema, lint: Lint): Promise<TextProblem[]> {
  const { placeOfWords, readText, schemaProblems } = await import("../model/manifest_check.ts");
  const read = readText(text);
  if (read.faults.length > 0) return read.faults;
  const schema = await loadSchema(kind);
  const found = schema === undefined ? [] : schemaProblems(read, schema);
  if (found.length > 0) return found;
  try {
    await lint(read.document.toJS());
    return [];
  } catch (error) {
    return [placeOfWords(read, troubleOf(error).message, text)];
  }
}

/** What is wrong, with the line of each problem. @param valid what is said if nothing is */
export function Verdict(
  { text, problems, valid = TEXTS.submit.valid }: {
    text: string;
    problems: readonly TextProblem[] | undefined;
    valid?: string;
  },
): JSX.Element {
  return (
    <div id="verdict" role="status">
      {problems === undefined && <p class="faint">{TEXTS.submit.checking}</p>}
      {problems?.length === 0 && <p class="faint">{valid}</p>}
      {problems?.map(({ from, message }) => (
        <p key={`${from} ${message}`} class="server-words">
          {TEXTS.code.line(text.slice(0, from).split("\n").length)} {message}
        </p>
      ))}
    </div>
  );
}

interface FieldProps {
  schema: ManifestSchema;
  text: string;
  change: (text: string) => void;
  /** Finds what is wrong. */
  check: (text: string) => Promise<TextProblem[]>;
}

/** A plain field until the editor is loaded, and instead of it where it can't be. */
export function ManifestField(
  { schema: kind, text, change, check }: FieldProps,
): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const [isPlain, setPlain] = useState(true);
  const latest = useRef({ text, change, check });
  latest.current = { text, change, check };
  useEffect(() => {
    let schema: JsonSchema | undefined;
    let close = () => {};
    let isOver = false;
    void loadSchema(kind).then((found) => void (schema = found));
    void loadEditor().then(({ openEditor }) => {
      if (host.current === null || isOver) return;
      const editor = openEditor(host.current, {
        text: latest.current.text,
        language: "yaml",
        label: TEXTS.submit.yaml,
        edit: {
          onChange: (changed) => latest.current.change(changed),
          check: (checked) => latest.current.check(checked),
          schema: () => schema,
        },
      });
      close = editor.close;
      const field = plain.current;
      if (field !== null && field === document.activeElement) {
        editor.focus(field.selectionStart, field.selectionEnd);
      }
      setPlain(false);
    }, () => void latest.current.check(text));
    return () => {
      isOver = true;
      close();
    };
  }, []);
  return (
    <div class="field">
      <span>{TEXTS.submit.yaml}</span>
      <div ref={host} class="code-host" />
      {isPlain && (
        <textarea
          ref={plain}
          class="code"
          rows={20}
          spellcheck={false}
          value={text}
          aria-label={TEXTS.submit.yaml}
          onInput={({ currentTarget }) => change(currentTarget.value)}
          onChange={({ currentTarget }) => void check(currentTarget.value)}
        />
      )}
      <span class="faint">{TEXTS.code.keys}</span>
    </div>
  );
}
