/** What a step says whose server is gone. */
import type { OutboxRow } from "./shard/outbox.ts";

/** Message of a step that only the server that ran it could have gone on with. */
export function lostTaskMessage({ replica, place }: OutboxRow): string {
  return `The server ${replica} that ran this step is gone, and no other one is at its place (${place}): what became of ` +
    "the step is unknown. A retryStrategy with retryPolicy OnError or Always runs it again";
}
