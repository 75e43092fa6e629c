/** Where a server keeps tokens and rules if it was told to ask for tokens and given no files of them. */
import { join } from "node:path";
import type { Config } from "./config.ts";

export interface OwnAccess {
  tokenFile: string;
  accessFile: string;
}

type AccessSettings = Pick<
  Config,
  "authMode" | "executor" | "store" | "tokenFile" | "accessFile"
>;

/** The files in the folder of the embedded store; undefined where the settings name files, or something else proves callers. */
export function ownAccess(
  { authMode, executor, store, tokenFile, accessFile }: AccessSettings,
): OwnAccess | undefined {
  const asksForTokens = authMode.includes("client") && executor !== "kubernetes";
  const isGiven = tokenFile !== "" || accessFile !== "" || authMode.includes("sso");
  if (!asksForTokens || isGiven || !store.startsWith("sqlite:")) return undefined;
  const folder = store.slice("sqlite:".length);
  return { tokenFile: join(folder, "tokens.yaml"), accessFile: join(folder, "access.yaml") };
}
