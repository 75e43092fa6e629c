import type { JSX } from "preact";
import { TEXTS } from "../../texts.ts";

/** The field for the message that a failed step will have. */
export function MessageField(
  { message, setMessage }: { message: string; setMessage: (message: string) => void },
): JSX.Element {
  return (
    <label class="field">
      <span>{TEXTS.actions.message}</span>
      <input
        value={message}
        maxLength={1000}
        onInput={({ currentTarget }) => setMessage(currentTarget.value)}
      />
    </label>
  );
}
