/**
 * A list whose members leave from anywhere, for what comes and goes with every request. A `Set` or `Map` copies its table
 * every now and then. An old table refers to the next one, so once V8 takes one for long-lived, it keeps all later ones, and
 * everything that was in them, until it collects the whole heap: request after request survives that is long over.
 */

/** A place in a chain. */
export interface Link<T> {
  readonly value: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
  isIn: boolean;
}

export class Chain<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;

  /** The oldest member. */
  get first(): Link<T> | undefined {
    return this.#first;
  }

  /** Adds a member at the end. */
  add(value: T): Link<T> {
    const link: Link<T> = { value, before: undefined, after: undefined, isIn: false };
    this.#append(link);
    return link;
  }

  /** Makes a member the last one, also one that has left. */
  moveToEnd(link: Link<T>): void {
    if (link === this.#last) return;
    this.remove(link);
    this.#append(link);
  }

  /** Takes a member out; nothing happens when it has left. */
  remove(link: Link<T>): void {
    if (!link.isIn) return;
    const { before, after } = link;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // What has left must not keep its neighbours alive.
    link.before = link.after = undefined;
    link.isIn = false;
  }

  #append(link: Link<T>): void {
    link.before = this.#last;
    link.isIn = true;
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
  }

  /** All members, oldest first; the one that is shown may leave meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (let link = this.#first; link !== undefined;) {
      const { value, after } = link;
      yield value;
      link = after;
    }
  }

  /** Takes out all members, oldest first. */
  takeAll(): T[] {
    const values = [...this];
    while (this.#first !== undefined) this.remove(this.#first);
    return values;
  }
}
