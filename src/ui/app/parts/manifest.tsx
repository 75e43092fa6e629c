/** The manifest of a stored object, on a card of its own. */
import type { JSX } from "preact";
import { CodeView } from "./code_view.tsx";

export function Manifest({ title, object }: { title: string; object: object }): JSX.Element {
  return (
    <section class="card">
      <h2>{title}</h2>
      <CodeView value={object} label={title} />
    </section>
  );
}
