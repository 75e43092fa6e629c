/** The steps as a tree. */
import type { JSX } from "preact";
import { durationText, spanOf } from "../../model/times.ts";
import { countLooks, type TreeItem, visibleItems } from "../../model/tree.ts";
import { wordOf } from "../../model/phases.ts";
import { Empty, PhaseBadge } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { useFolds } from "./folds.ts";
import type { ViewProps } from "./view_props.ts";

/** Rows that are drawn; more are asked for. */
const MOST_ROWS = 1_000;

export function TreeView({ tree, selected, select }: ViewProps): JSX.Element {
  const folds = useFolds(tree, selected);
  const rows = visibleItems(tree, folds.isOpen);
  if (rows.length === 0) return <Empty title={TEXTS.workflow.noSteps} />;
  return (
    <>
      <ul class="tree">
        {rows.slice(0, MOST_ROWS).map(({ item, depth }) => (
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
            <button
              type="button"
              class="quiet row-button"
              data-keys-row=""
              onClick={() => item.node === undefined ? folds.toggle(item) : select(item.id)}
            >
              <PhaseBadge look={item.look} />
              <span class="title">{item.title}</span>
              <span class="faint">{noteOf(item)}</span>
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

function noteOf({ kind, node, children }: TreeItem): string {
  if (kind === "loop") {
    return countLooks(children).map(([look, count]) => `${count} ${wordOf(look)}`).join(", ");
  }
  const span = node === undefined ? undefined : spanOf(node, Date.now());
  const duration = span === undefined ? "" : durationText(span);
  return kind === "retry"
    ? [TEXTS.workflow.attempts(children.length), duration].join(" · ")
    : duration;
}
