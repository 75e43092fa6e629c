/**
 * The editor for manifests. Loaded when something needs it. It lives in a shadow root: there CodeMirror sets its styles as
 * constructed style sheets, which the policy of the pages allows, and not as style elements, which it forbids.
 */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import {
  codeFolding,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { TextProblem } from "../model/manifest_check.ts";
import { type JsonSchema, placeAt, proposalsAt } from "../model/manifest_schema.ts";

export interface EditorOptions {
  text: string;
  language: "yaml" | "json";
  /** Its name for those who can't see it. */
  label: string;
  /** Absent: the text is only shown. */
  edit?: {
    onChange: (text: string) => void;
    /** Finds what is wrong, a while after the last change. */
    check: (text: string) => Promise<TextProblem[]>;
    /** What may be written where. */
    schema: () => JsonSchema | undefined;
  };
}

export interface Editor {
  /** Takes the focus, with these offsets selected. */
  focus(anchor: number, head: number): void;
  close(): void;
}

/** The text is checked after this pause, ms. */
const PAUSE_MS = 400;

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--wait)" },
  { tag: [tags.comment, tags.meta, tags.punctuation], color: "var(--faint)" },
]);

const LOOK = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line)",
    borderRadius: "var(--round)",
    fontSize: "0.92em",
    maxHeight: "70vh",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    color: "var(--faint)",
    backgroundColor: "var(--raised)",
    borderRight: "1px solid var(--line)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-foldPlaceholder": {
    color: "var(--faint)",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
  },
  ".cm-tooltip, .cm-panels": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--strong-line)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--faint)" },
  ".cm-completionInfo": { maxWidth: "22rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

/** Opens an editor in an element of the page. */
export function openEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const parent = document.createElement("div");
  root.replaceChildren(parent);
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({ doc: options.text, extensions: extensionsFor(options) }),
  });
  return {
    focus(anchor, head) {
      const { length } = view.state.doc;
      view.dispatch({
        selection: { anchor: Math.min(anchor, length), head: Math.min(head, length) },
      });
      view.focus();
    },
    close: () => view.destroy(),
  };
}

// The editor shows most of them by itself.
const UNSEEN_IN_CODE = /[\p{Bidi_C}\p{DI}]/gu;

function extensionsFor({ language, label, edit }: EditorOptions): Extension[] {
  return [
    lineNumbers(),
    highlightSpecialChars({ addSpecialChars: UNSEEN_IN_CODE }),
    codeFolding(),
    foldGutter(),
    language === "json" ? json() : yaml(),
    syntaxHighlighting(COLOURS),
    LOOK,
    EditorView.lineWrapping,
    drawSelection(),
    highlightSelectionMatches(),
    search({ top: true }),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
    ...(edit === undefined
      ? [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-readonly": "true" }),
      ]
      : editing(edit)),
  ];
}

/** Tab is not taken: it leads on, as everywhere in a page. */
function editing({ onChange, check, schema }: NonNullable<EditorOptions["edit"]>): Extension[] {
  return [
    history(),
    indentOnInput(),
    closeBrackets(),
    keymap.of([...closeBracketsKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
    EditorView.theme({ ".cm-content, .cm-gutter": { minHeight: "22em" } }),
    autocompletion({ icons: false, override: [(context) => complete(context, schema())] }),
    lintGutter(),
    EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    linter(
      async (view): Promise<Diagnostic[]> =>
        (await check(view.state.doc.toString())).map((one) => ({ ...one, severity: "error" })),
      { delay: PAUSE_MS },
    ),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange(state.doc.toString());
    }),
  ];
}

/**
 * Puts a typed text in the place of what is selected. Left to itself, the browser would keep the colours of what was there by
 * an inline style, which the policy of the pages forbids.
 */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { data, inputType } = event;
  const { main, ranges } = view.state.selection;
  const isOther = inputType !== "insertText" || data === null || view.composing ||
    view.state.readOnly;
  if (isOther || (main.empty && ranges.length === 1)) return false;
  const insert = () =>
    view.state.update(view.state.replaceSelection(data), { userEvent: "input.type" });
  const isTaken = view.state.facet(EditorView.inputHandler)
    .some((handle) => handle(view, main.from, main.to, data, insert));
  if (!isTaken) view.dispatch(insert());
  event.preventDefault();
  return true;
}

function complete(
  { state, pos, explicit }: CompletionContext,
  schema: JsonSchema | undefined,
): CompletionResult | null {
  const place = schema && placeAt(state.doc.sliceString(0, pos));
  if (schema === undefined || place === undefined) return null;
  if (!explicit && place.word === "" && place.kind === "key") return null;
  const options = proposalsAt(schema, place).map(({ label, detail, info, text }) => ({
    label,
    detail,
    apply: text,
    type: place.kind === "key" ? "property" : "enum",
    ...(info !== undefined && { info }),
  }));
  return options.length === 0
    ? null
    : { from: pos - place.word.length, options, validFor: /^[\w.-]*$/ };
}
