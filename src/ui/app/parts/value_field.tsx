/** A field for a value of a parameter, as the parameter describes itself: its choices, and what it is for. */
import type { JSX } from "preact";
import { TEXTS } from "../texts.ts";

export interface ValueFieldProps {
  name: string;
  description?: string | undefined;
  /** The values that it may have; absent or empty: any. */
  choices?: readonly string[] | undefined;
  value: string;
  isRequired?: boolean;
  set: (value: string) => void;
}

/** Lines that a field grows to. */
const MOST_LINES = 12;

/** A value may have lines, which a field of one line would drop. Enter sends a value of one line all the same; with Shift it begins another. */
function sendOneLine(event: KeyboardEvent, { value, form }: HTMLTextAreaElement): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || value.includes("\n")) return;
  event.preventDefault();
  // As in a field of one line: a button that is disabled sends nothing.
  form?.querySelector<HTMLButtonElement>("button[type=submit]")?.click();
}

export function ValueField(props: ValueFieldProps): JSX.Element {
  const { name, description, choices = [], value, isRequired = false, set } = props;
  const help = description === undefined ? undefined : `help-${name}`;
  const about = { name, value, required: isRequired, "aria-describedby": help };
  return (
    <label class="field">
      <span>
        {name}
        {isRequired && <span class="required" title={TEXTS.submit.required}>*</span>}
      </span>
      {choices.length === 0
        ? (
          <textarea
            {...about}
            class="value"
            rows={Math.min(value.split("\n").length, MOST_LINES)}
            onInput={({ currentTarget }) => set(currentTarget.value)}
            onKeyDown={(event) => sendOneLine(event, event.currentTarget)}
          />
        )
        : (
          <select {...about} onChange={({ currentTarget }) => set(currentTarget.value)}>
            {/* A value that is no choice is shown as it is, not as the first of them. */}
            {!choices.includes(value) && <option value={value}>{value}</option>}
            {choices.map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        )}
      {help !== undefined && <span id={help} class="faint">{description}</span>}
    </label>
  );
}
