/** A list of things as a table; on a small screen each row is a block, and every cell says what it is. */
import type { ComponentChildren, JSX } from "preact";

export interface RowColumn<Item> {
  title: string;
  show: (item: Item) => ComponentChildren;
  /** `right` for numbers; `main` takes the room that is left; `name` has room for one; `tight` stays on one line. */
  look?: "right" | "main" | "name" | "tight";
}

export function Rows<Item>(
  { label, items, keyOf, columns }: {
    label: string;
    items: readonly Item[];
    keyOf: (item: Item) => string;
    columns: readonly RowColumn<Item>[];
  },
): JSX.Element {
  // Without the roles, rows that are drawn as blocks would be no table any more for a screen reader.
  return (
    <table class="rows" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, look }) => (
            <th key={title} role="columnheader" scope="col" class={look}>{title}</th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {items.map((item) => (
          <tr key={keyOf(item)} role="row">
            {columns.map(({ title, show, look }, index) => (
              <td
                key={title}
                role="cell"
                class={look}
                {...(index > 0 && { "data-title": title })}
              >
                {show(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
