import type { JSX } from "preact";

interface ChoiceProps<T extends string> {
  choices: readonly T[];
  chosen: T;
  choose: (one: T) => void;
  texts: Readonly<Record<T, string>>;
  /** Name of the group, unless what is around it is one. */
  label?: string;
}

/** Buttons of which one is pressed. */
export function ChoiceChips<T extends string>(
  { choices, chosen, choose, texts, label }: ChoiceProps<T>,
): JSX.Element {
  return (
    <div class="chips" {...(label !== undefined && { role: "group", "aria-label": label })}>
      {choices.map((one) => (
        <button
          key={one}
          type="button"
          class="chip"
          aria-pressed={one === chosen}
          onClick={() => choose(one)}
        >
          {texts[one]}
        </button>
      ))}
    </div>
  );
}
