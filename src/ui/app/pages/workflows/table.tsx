/** The rows of the list. On a narrow screen each becomes a small card. */
import { Component, type JSX } from "preact";
import { addressOf } from "../../data/root.ts";
import type { Row } from "../../model/rows.ts";
import { Ago, GivenTitle, Span, WorkflowPhase } from "../../parts/basics.tsx";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import type { Column } from "./columns.ts";

interface TableProps {
  rows: readonly Row[];
  columns: readonly Column[];
  selected: ReadonlySet<string>;
  select: (keys: ReadonlySet<string>) => void;
}

export function Table({ rows, columns, selected, select }: TableProps): JSX.Element {
  const { heads } = TEXTS.list;
  const isAll = rows.every(({ key }) => selected.has(key));
  const toggle = (key: string) => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    select(next);
  };
  return (
    <table class="list" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" class="tick">
            <input
              type="checkbox"
              aria-label={TEXTS.list.selectAll}
              checked={isAll}
              onChange={() => select(isAll ? new Set() : new Set(rows.map(({ key }) => key)))}
            />
          </th>
          {[heads.phase, heads.name, heads.namespace, ...columns.map(({ title }) => title)].map(
            (head) => <th key={head} role="columnheader" scope="col">{head}</th>,
          )}
          <th role="columnheader" scope="col" class="right">{heads.progress}</th>
          <th role="columnheader" scope="col" class="right">{heads.duration}</th>
          <th role="columnheader" scope="col">{heads.created}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <TableRow
            key={row.key}
            row={row}
            columns={columns}
            isSelected={selected.has(row.key)}
            toggle={toggle}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  row: Row;
  columns: readonly Column[];
  isSelected: boolean;
  toggle: (key: string) => void;
}

/** Drawn again only when its workflow or its tick changes. */
class TableRow extends Component<RowProps> {
  override shouldComponentUpdate({ row, columns, isSelected }: RowProps): boolean {
    const old = this.props;
    return row !== old.row || columns !== old.columns || isSelected !== old.isSelected;
  }

  render({ row: { key, workflow }, columns, isSelected }: RowProps): JSX.Element {
    const { metadata, status } = workflow;
    const { name = "", namespace = "" } = metadata;
    const message = status?.message ?? "";
    return (
      <tr role="row" class={isSelected ? "selected" : undefined}>
        <td role="cell" class="tick">
          <input
            type="checkbox"
            aria-label={TEXTS.list.select(name)}
            checked={isSelected}
            onChange={() => this.props.toggle(key)}
          />
        </td>
        <td role="cell" class="cell-phase">
          <WorkflowPhase of={workflow} />
        </td>
        <td role="cell" class="cell-name">
          <a
            href={addressOf(workflowPath(namespace, name))}
            data-keys-row=""
            onKeyDown={(event) => {
              if (event.key === "x") this.props.toggle(key);
            }}
          >
            {name}
          </a>
          <GivenTitle of={metadata} />
          {message !== "" && <p class="message">{message}</p>}
        </td>
        <td role="cell" class="cell-namespace">{namespace}</td>
        {columns.map(({ title, textOf }) => (
          <td key={title} role="cell" class="cell-extra" data-title={title}>{textOf(workflow)}</td>
        ))}
        <td role="cell" class="right number cell-progress">{status?.progress ?? ""}</td>
        <td role="cell" class="right cell-duration">
          <Span of={status} />
        </td>
        <td role="cell" class="cell-created">
          <Ago at={metadata.creationTimestamp} />
        </td>
      </tr>
    );
  }
}
