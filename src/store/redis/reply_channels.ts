/** Sends the answers to requests: by a message to the waiting replica, or directly if it is in this process. */
import type { Json } from "../../base/json.ts";
import type { RedisContext } from "./context.ts";

type Answers = [request: string, answer: Json][];

export class ReplyChannels {
  readonly #context: RedisContext;
  /** Replicas that listen in this process: their answers don't go through Redis. */
  readonly #listeners = new Map<string, Set<(answers: Answers) => void>>();

  constructor(context: RedisContext) {
    this.#context = context;
  }

  async send(replica: string, answers: { request: string; answer: Json }[]): Promise<void> {
    const message = JSON.stringify(answers.map(({ request, answer }) => [request, answer]));
    const here = this.#listeners.get(replica);
    if (here !== undefined) {
      for (const listen of here) listen(JSON.parse(message) as Answers);
      return;
    }
    const { link, keys } = this.#context;
    const channel = keys.replyChannel(replica);
    await link.send(channel, ["PUBLISH", channel, message]);
  }

  async listen(
    replica: string,
    hear: (request: string, answer: Json) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return;
    const { link, keys, isClosed } = this.#context;
    const channel = keys.replyChannel(replica);
    const listen = (answers: Answers) => {
      for (const [request, answer] of answers) if (!signal.aborted) hear(request, answer);
    };
    const listenToMessage = (message: string) => listen(JSON.parse(message) as Answers);
    await link.subscribe(channel, listenToMessage);
    const unsubscribe = () => {
      if (!isClosed()) link.unsubscribe(channel, listenToMessage).catch(() => {});
    };
    if (signal.aborted) return unsubscribe();
    const here = this.#listeners.get(replica) ?? new Set();
    this.#listeners.set(replica, here.add(listen));
    signal.addEventListener("abort", () => {
      here.delete(listen);
      if (here.size === 0 && this.#listeners.get(replica) === here) this.#listeners.delete(replica);
      unsubscribe();
    }, { once: true });
  }
}
