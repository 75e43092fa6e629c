/** The right end of the head of every page: theme, keys, who is logged in. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addressOf, ROOT } from "../data/root.ts";
import { logout, session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import { TEXTS } from "../texts.ts";
import { keyHelp } from "./keys.tsx";

const THEMES = ["system", "light", "dark"] as const;
type Theme = typeof THEMES[number];
const YEAR_S = 365 * 24 * 3600;

export function Account(): JSX.Element {
  const who = useStore(session, (context) => context.who);
  const [theme, setTheme] = useState(
    (document.documentElement.dataset["theme"] ?? "system") as Theme,
  );
  const choose = (chosen: Theme) => {
    setTheme(chosen);
    document.documentElement.dataset["theme"] = chosen;
    // The server reads it, so that the next page has its colours at once.
    document.cookie = `sluice-theme=${chosen}; Path=${ROOT}; Max-Age=${YEAR_S}; SameSite=Lax`;
  };
  const leave = async () => {
    await logout();
    location.assign(addressOf("/login"));
  };
  return (
    <>
      <label class="theme">
        <span class="unseen">{TEXTS.theme.label}</span>
        <select
          value={theme}
          onChange={({ currentTarget }) => choose(currentTarget.value as Theme)}
        >
          {THEMES.map((one) => <option key={one} value={one}>{TEXTS.theme[one]}</option>)}
        </select>
      </label>
      <button type="button" class="quiet" onClick={() => keyHelp.trigger.opened()}>
        {TEXTS.keys.button}
      </button>
      {who !== undefined && (
        <span class="who">
          <span title={TEXTS.login.as}>{who}</span>
          <button type="button" class="quiet" onClick={leave}>{TEXTS.login.leave}</button>
        </span>
      )}
    </>
  );
}
