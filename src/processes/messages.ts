/** What the parent and its processes tell each other, over the channel of the runtime. */

/** From a process to its parent. */
export type ToParent =
  /** It serves requests. */
  | { type: "ready" }
  /** It takes questions of the others at a socket, and is known to them by a name. */
  | { type: "join"; name: string; socket: string }
  /** Somebody asked it for the metrics of all processes. */
  | { type: "ask-metrics"; id: number }
  /** Its own page of metrics, as the parent asked. */
  | { type: "page"; id: number; text: string }
  /** Its answer to a ping. */
  | { type: "pong" };

/** From the parent to a process. */
export type ToProcess =
  /** No process refuses requests because it is still starting. */
  | { type: "all-ready" }
  /** Sockets of the other processes, by name. */
  | { type: "neighbours"; sockets: Record<string, string> }
  /** The process of this name has ended. */
  | { type: "gone"; name: string }
  /** Send your own page of metrics. */
  | { type: "ask-page"; id: number }
  /** Say that you are there. */
  | { type: "ping" }
  /** The page of all processes, as the process asked. */
  | { type: "metrics"; id: number; text: string };
