/**
 * The first token of a server that was given no file of tokens: it keeps its tokens and rules in the folder of its embedded
 * store. Call this only while the store is open: the store belongs to one process, so that one token is made however many start.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import process from "node:process";
import { stringify } from "yaml";
import { createToken } from "../auth/token_file.ts";
import type { Config } from "../platform/config.ts";
import type { OwnAccess } from "../platform/own_access.ts";

const SUBJECT = "admin";
const ALL = ["*"];
const RULES = [
  { subjects: [SUBJECT], namespaces: ALL, apiGroups: ALL, resources: ALL, verbs: ALL },
];

/**
 * Makes a token and shows it, unless there is a file of tokens; only its hash is kept. Makes the rules for it unless there are
 * any, also for tokens that somebody made before the first start.
 */
export function makeFirstToken(
  { tokenFile, accessFile }: OwnAccess,
  port: number,
  show: (text: string) => void = (text) => void writeSync(process.stderr.fd, text),
): void {
  if (!existsSync(accessFile)) {
    writeDurably(
      `${accessFile}.new`,
      stringify({ rules: RULES }, { aliasDuplicateObjects: false }),
    );
    renameSync(`${accessFile}.new`, accessFile);
  }
  if (existsSync(tokenFile)) return;
  const { token, entry } = createToken(SUBJECT, []);
  const draft = `${tokenFile}.new`;
  writeDurably(draft, stringify({ tokens: [entry] }));
  // Shown before it counts: who is killed in between shows another one at the next start, and none is lost.
  show(message(token, tokenFile, port));
  renameSync(draft, tokenFile);
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function message(token: string, tokenFile: string, port: Config["port"]): string {
  const place = `http://localhost:${port === 0 ? "PORT" : port}`;
  return `
This store had no access token. The server made one for "${SUBJECT}", who may do everything.
It is shown only now: ${tokenFile} keeps its hash.

    ${token}

Pages:         open ${place} and log in with it
Command line:  export SLUICE_SERVER=${place} SLUICE_TOKEN=THE_TOKEN
If it is lost: sluice token create --subject ${SUBJECT} --replace --file ${tokenFile}

`;
}
