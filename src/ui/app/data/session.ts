/** Who is looking, and the settings of the server that pages need. */
import { createStore } from "@xstate/store";
import { STANDARD_NAMING } from "../../../spec/naming.ts";
import { api } from "./api.ts";
import { addressOf } from "./root.ts";

export const session = createStore({
  context: {
    /** What the server calls the visitor; undefined when nobody is logged in. */
    who: undefined as string | undefined,
    labelPrefix: STANDARD_NAMING.labelPrefix,
  },
  on: {
    known: (context, facts: { who?: string; labelPrefix?: string }) => ({
      ...context,
      ...facts,
    }),
  },
});

/**
 * Asks once. What can't be learned keeps its default, and the page that needs a login says so itself. Resolves to whether the
 * server takes the visitor's requests.
 */
export async function startSession(): Promise<boolean> {
  const [info, user] = await Promise.allSettled([
    api.call("InfoService_GetInfo", {}),
    api.call("InfoService_GetUserInfo", {}),
  ]);
  const textOf = (value: unknown) => typeof value === "string" && value !== "" ? value : undefined;
  if (info.status === "fulfilled") {
    const labelPrefix = textOf(info.value["labelPrefix"]);
    if (labelPrefix !== undefined) session.trigger.known({ labelPrefix });
  }
  if (user.status === "fulfilled") {
    const { name, email, subject } = user.value;
    const who = textOf(name) ?? textOf(email) ?? textOf(subject);
    if (who !== undefined) session.trigger.known({ who });
  }
  return user.status === "fulfilled";
}

/** Makes the browser keep the token. @throws {Error} with the server's words when it is refused */
export async function login(token: string): Promise<void> {
  const response = await fetch(addressOf("/login"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (response.ok) return;
  const { message } = await response.json() as { message?: string };
  throw new Error(message ?? `${response.status}`);
}

/** Makes the browser forget the token. */
export async function logout(): Promise<void> {
  await fetch(addressOf("/logout"), { method: "POST" });
}
