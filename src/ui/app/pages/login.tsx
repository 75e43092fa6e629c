/** Login through an identity provider, where there is one, and by token. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addressOf, HAS_SSO, IS_OPEN } from "../data/root.ts";
import { login, session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import { type PageProps, placeOf } from "../paths.ts";
import { TEXTS } from "../texts.ts";

export function LoginPage({ query }: PageProps): JSX.Element {
  const who = useStore(session, (context) => context.who);
  const target = targetOf(query.get("from"));
  const failed = query.get("failed");
  if (IS_OPEN) {
    return (
      <div class="page narrow">
        <h1>{TEXTS.login.title}</h1>
        <p>{TEXTS.login.open}</p>
        <p class="buttons">
          <a class="button main" href={addressOf(target)}>{TEXTS.login.goOn}</a>
        </p>
      </div>
    );
  }
  return (
    <div class="page narrow">
      <h1>{TEXTS.login.title}</h1>
      {who !== undefined && <p class="notice-line">{TEXTS.login.already(who)}</p>}
      {failed !== null && (
        <p class="server-words" role="alert">
          {TEXTS.sso.failed[failed] ?? TEXTS.sso.failed["settings"]}
        </p>
      )}
      {HAS_SSO && <ProviderLogin target={target} />}
      <TokenForm target={target} />
    </div>
  );
}

function ProviderLogin({ target }: { target: string }): JSX.Element {
  const asked = new URLSearchParams({ redirect: target });
  return (
    <>
      <p class="buttons">
        <a class="button main" href={addressOf(`/oauth2/redirect?${asked}`)}>{TEXTS.sso.do}</a>
      </p>
      <h2>{TEXTS.sso.or}</h2>
    </>
  );
}

/** @param target where to go then, from the root */
function TokenForm({ target }: { target: string }): JSX.Element {
  const [token, setToken] = useState("");
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const texts = TEXTS.login;
  const send = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await login(token);
      // A new document, so that nothing stays of what another visitor saw.
      location.assign(addressOf(target));
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
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
        <button
          type="submit"
          class={HAS_SSO ? undefined : "main"}
          disabled={isBusy || token.trim() === ""}
        >
          {texts.do}
        </button>
      </p>
    </form>
  );
}

/** Where the visitor came from; only pages of this server. */
function targetOf(from: string | null): string {
  const path = from?.split("?")[0] ?? "/";
  return from !== null && !from.startsWith("//") && placeOf(path) !== undefined ? from : "/";
}
