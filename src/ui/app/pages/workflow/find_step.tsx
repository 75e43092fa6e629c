/** Finds a step of the graph: Enter goes from one to the next. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { stepsWith } from "../../model/find.ts";
import type { TreeItem } from "../../model/tree.ts";
import { TEXTS } from "../../texts.ts";

export function FindStep(
  { tree, go }: { tree: readonly TreeItem[]; go: (id: string) => void },
): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(-1);
  const wanted = text.trim();
  const found = useMemo(() => wanted === "" ? [] : stepsWith(tree, wanted), [tree, wanted]);
  const { graph } = TEXTS;
  const next = (event: Event) => {
    event.preventDefault();
    const index = (at + 1) % found.length;
    const id = found[index];
    if (id === undefined) return;
    setAt(index);
    go(id);
  };
  return (
    <form class="tools find" role="search" onSubmit={next}>
      <input
        type="search"
        data-keys-search=""
        aria-label={graph.find}
        placeholder={graph.findHint}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(-1);
        }}
      />
      {found.length > 0 && <button type="submit">{graph.findNext}</button>}
      <span class="faint" role="status">{wanted !== "" && graph.found(at, found.length)}</span>
    </form>
  );
}
