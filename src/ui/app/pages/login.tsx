/** Login by token. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addressOf } from "../data/root.ts";
import { login, session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import { type PageProps, placeOf } from "../paths.ts";
import { TEXTS } from "../texts.ts";

export function LoginPage({ query }: PageProps): JSX.Element {
  const [token, setToken] = useState("");
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const who = useStore(session, (context) => context.who);
  const texts = TEXTS.login;
  const send = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await login(token);
      // A new document, so that nothing stays of what another visitor saw.
      location.assign(addressOf(targetOf(query.get("from"))));
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <div class="page narrow">
      <h1>{texts.title}</h1>
      {who !== undefined && <p class="notice-line">{texts.already(who)}</p>}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label class="field">
          <span>{texts.token}</span>
          <input
            type="password"
            name="token"
            required
            autocomplete="current-password"
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
            aria-describedby="token-help"
          />
        </label>
        <p id="token-help" class="faint">{texts.help}</p>
        {refusal !== undefined && <p class="server-words" role="alert">{texts.refused(refusal)}</p>}
        <p class="buttons">
          <button type="submit" class="main" disabled={isBusy || token.trim() === ""}>
            {texts.do}
          </button>
        </p>
      </form>
    </div>
  );
}

/** Where the visitor came from; only pages of this server. */
function targetOf(from: string | null): string {
  const path = from?.split("?")[0] ?? "/";
  return from !== null && !from.startsWith("//") && placeOf(path) !== undefined ? from : "/";
}
