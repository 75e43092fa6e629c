/** Commands as mailboxes hold them: JSON text. */
import { isJsonObject, type Json } from "../base/json.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { Command, MailboxEntry } from "./port.ts";

/** An actor that does not exist: its commands are refused, and the mailbox continues after them. */
const NOBODY = "unreadable";

/** An entry of a mailbox. One that can't be read becomes a command that will be refused. */
export function mailboxEntry(
  shard: number,
  cursor: string,
  text: unknown,
  onUnreadable: ReportUnreadable,
): MailboxEntry {
  const command = readCommand(text);
  if (command !== undefined) return { shard, cursor, command };
  onUnreadable("mailbox", `${shard}/${cursor}`, { characters: String(text ?? "").length });
  return { shard, cursor, command: { id: cursor, actor: NOBODY, body: null } };
}

function readCommand(text: unknown): Command | undefined {
  try {
    const command = JSON.parse(String(text)) as Json;
    if (!isJsonObject(command)) return undefined;
    const { id, actor, body, replyTo, idempotency } = command;
    const isCommand = typeof id === "string" && typeof actor === "string" && isJsonObject(body) &&
      isAbsentOr(replyTo, ["replica", "request"]) &&
      isAbsentOr(idempotency, ["key", "fingerprint"]);
    return isCommand ? command as unknown as Command : undefined;
  } catch {
    return undefined;
  }
}

/** True for undefined, and for an object in which these members are texts. */
function isAbsentOr(value: Json | undefined, members: readonly string[]): boolean {
  if (value === undefined) return true;
  return isJsonObject(value) && members.every((name) => typeof value[name] === "string");
}
