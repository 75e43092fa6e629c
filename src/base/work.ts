/**
 * What this process is working on, for whoever wants to know what took long. Noted at the few places where a piece of work
 * begins; it changes no result. There is one observer, as there is one thread.
 */

export type WorkKind =
  /** A request; its name is the request's id. */
  | "request"
  /** What an actor makes of its commands; its name is the actor's. */
  | "workflow"
  /** An event that bindings are tried on; its name is namespace and id. */
  | "event"
  /** Inside of the above: an expression; its name is its text. */
  | "expression";

let observer: ((kind: WorkKind, name: string) => void) | undefined;

/** Notes that a piece of work begins, and so that the one before it has ended. Costs next to nothing. */
export function workingOn(kind: WorkKind, name: string): void {
  observer?.(kind, name);
}

/** Who hears of it from now on; undefined: nobody. */
export function observeWork(next: typeof observer): void {
  observer = next;
}
