/** The steps as a tree. */
import type { JSX } from "preact";
import { useNow } from "../../data/clock.ts";
import { useGrowing } from "../../data/growing.ts";
import { spanText } from "../../model/times.ts";
import { countLooks, type TreeItem, visibleItems } from "../../model/tree.ts";
import { wordOf } from "../../model/phases.ts";
import { Empty, PhaseBadge } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { useFolds } from "./folds.ts";
import { choiceOf } from "./press.ts";
import type { Choice, ViewProps } from "./view_props.ts";

/** Rows that are drawn; more are asked for. */
const MOST_ROWS = 1_000;

export function TreeView({ tree, selected, select, choice }: ViewProps): JSX.Element {
  const now = useNow();
  const folds = useFolds(tree, selected);
  const rows = visibleItems(tree, folds.isOpen);
  const drawn = useGrowing(Math.min(rows.length, MOST_ROWS));
  if (rows.length === 0) return <Empty title={TEXTS.workflow.noSteps} />;
  return (
    <>
      <ul class="tree">
        {rows.slice(0, drawn).map(({ item, depth }) => (
          <li
            key={item.id}
            class={`depth-${Math.min(depth, 12)}${item.id === selected ? " selected" : ""}`}
          >
            {item.children.length > 0
              ? (
                <button
                  type="button"
                  class="quiet fold"
                  aria-expanded={folds.isOpen(item)}
                  aria-label={TEXTS.workflow.fold(item.title)}
                  onClick={() => folds.toggle(item)}
                >
                  <Icon name="open" />
                </button>
              )
              : <span class="fold" />}
            {choice !== undefined && <RowCheck item={item} choice={choice} />}
            <button
              type="button"
              class="quiet row-button"
              data-keys-row=""
              onClick={() => item.node === undefined ? folds.toggle(item) : select(item.id)}
              onKeyDown={({ key }) => key === "x" && choiceOf(item, choice)?.turn()}
            >
              <PhaseBadge look={item.look} />
              <span class="title">{item.title}</span>
              <span class="faint">{noteOf(item, now)}</span>
            </button>
          </li>
        ))}
      </ul>
      {rows.length > MOST_ROWS && (
        <p class="faint">{TEXTS.workflow.moreRows(rows.length - MOST_ROWS)}</p>
      )}
    </>
  );
}

function RowCheck({ item, choice }: { item: TreeItem; choice: Choice }): JSX.Element {
  const found = choiceOf(item, choice);
  return (
    <span class="row-tick">
      {found !== undefined && (
        <input
          type="checkbox"
          checked={found.isChosen}
          aria-label={TEXTS.list.select(item.title)}
          onChange={found.turn}
        />
      )}
    </span>
  );
}

function noteOf({ kind, node, children }: TreeItem, now: number): string {
  if (kind === "loop") {
    return countLooks(children).map(([look, count]) => `${count} ${wordOf(look)}`).join(", ");
  }
  const duration = spanText(node ?? {}, now) ?? "";
  return kind === "retry"
    ? [TEXTS.workflow.attempts(children.length), duration].join(" · ")
    : duration;
}
