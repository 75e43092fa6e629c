/** Opens what makes and checks callback URLs. */
import { parseCallbackKeys } from "../auth/callback_token.ts";
import { systemClock } from "../platform/clock.ts";
import { watchFile } from "../platform/watched_file.ts";
import { type CallbackKeys, StoredCallbackKeys } from "../service/callbacks/keys.ts";
import { CallbackUrls } from "../service/callbacks/urls.ts";
import { readSetting } from "./setting.ts";
import type { ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** Reads the file of keys now, so that a wrong one ends the start. */
export function openCallbacks(context: ServerContext, storage: Storage): CallbackUrls {
  const { config: { publicUrl, callbackKeys: path, callbackKeyRotation }, address } = context;
  const { store: { blobs }, clock } = storage;
  const keys = path === ""
    ? new StoredCallbackKeys({ blobs, clock, rotationMs: callbackKeyRotation })
    : fileKeys(path, context);
  return new CallbackUrls({ keys, base: publicUrl === "" ? address : publicUrl, clock });
}

function fileKeys(path: string, { log }: ServerContext): CallbackKeys {
  const read = () => watchFile(path, parseCallbackKeys, systemClock.now, log);
  const file = readSetting("--callback-keys", read);
  return {
    signing: () => {
      const [key] = file.current();
      if (key === undefined) throw new Error(`${path} has no key`);
      return Promise.resolve(key);
    },
    accepted: () => Promise.resolve(file.current()),
  };
}
