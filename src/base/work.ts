/**
 * What this process is working on, to find out what took long. It is noted at the few places where a piece of work
 * begins, and changes no result. There is one observer, as there is one thread.
 */

export type WorkKind =
  /** A request; its name is the request's id. */
  | "request"
  /** What an actor makes of its commands; its name is the actor's. */
  | "workflow"
  /** An event that is matched against bindings; its name is namespace and id. */
  | "event"
  /** An expression inside one of the above; its name is its text. */
  | "expression";

let observer: ((kind: WorkKind, name: string) => void) | undefined;

/** Notes that a piece of work begins, which also ends the one before it. Costs next to nothing. */
export function workingOn(kind: WorkKind, name: string): void {
  observer?.(kind, name);
}

/** Sets the observer, in place of the one before. @returns ends it, unless another took its place meanwhile */
export function observeWork(next: NonNullable<typeof observer>): () => void {
  observer = next;
  return () => {
    if (observer === next) observer = undefined;
  };
}
