/** Opens what makes and checks callback URLs. */
import { parseCallbackKeys } from "../auth/callback_token.ts";
import { systemClock } from "../platform/clock.ts";
import { watchFile } from "../platform/watched_file.ts";
import { type CallbackKeys, storedCallbackKeys } from "../service/callbacks/keys.ts";
import { CallbackUrls } from "../service/callbacks/urls.ts";
import type { ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** Reads the file of keys now, so that a wrong one ends the start. */
export function openCallbacks(context: ServerContext, storage: Storage): CallbackUrls {
  const { config: { publicUrl }, address } = context;
  return new CallbackUrls({
    keys: callbackKeys(context, storage),
    base: publicUrl === "" ? address : publicUrl,
    clock: storage.clock,
  });
}

function callbackKeys(
  { config: { callbackKeys: path }, log }: ServerContext,
  { store }: Storage,
): CallbackKeys {
  if (path === "") return storedCallbackKeys(store.blobs);
  const keys = watchFile(path, parseCallbackKeys, systemClock.now, log);
  return () => Promise.resolve(keys.current());
}
