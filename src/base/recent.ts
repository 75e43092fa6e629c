/** The latest items, in order, bounded in number and size: the oldest leave. Adding and leaving cost the same however many there are. */

interface Sized {
  readonly size: number;
}

export class Recent<T extends Sized> {
  /** The places before the first one are empty. */
  #places: (T | undefined)[] = [];
  #first = 0;
  #size = 0;
  readonly #maxCount: number;
  readonly #maxSize: number;

  /**
   * @param maxCount most items
   * @param maxSize of all items together, in their own unit
   */
  constructor(maxCount: number, maxSize: number) {
    this.#maxCount = maxCount;
    this.#maxSize = maxSize;
  }

  get length(): number {
    return this.#places.length - this.#first;
  }

  /** The item at an index; the oldest has index 0. */
  at(index: number): T | undefined {
    return this.#places[this.#first + index];
  }

  /** Adds an item. @returns the last of those that had to leave, if any; that may be the item itself */
  add(item: T): T | undefined {
    this.#places.push(item);
    this.#size += item.size;
    let left: T | undefined;
    while (this.length > this.#maxCount || this.#size > this.#maxSize) left = this.#leave() ?? left;
    return left;
  }

  /** Index of the first item of which it is true, the number of items if there is none. All later ones must be like it. */
  firstWhere(isTrue: (item: T) => boolean): number {
    let [low, high] = [this.#first, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isTrue(this.#places[middle] as T)) high = middle;
      else low = middle + 1;
    }
    return low - this.#first;
  }

  /** The oldest ones leave, as long as it is true of them. */
  leaveWhile(isTrue: (item: T) => boolean): void {
    for (let item = this.at(0); item !== undefined && isTrue(item); item = this.at(0)) {
      this.#leave();
    }
  }

  clear(): void {
    this.#places = [];
    this.#first = 0;
    this.#size = 0;
  }

  #leave(): T | undefined {
    const item = this.at(0);
    this.#places[this.#first++] = undefined;
    this.#size -= item?.size ?? 0;
    if (this.#first * 2 > this.#places.length) {
      this.#places.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}
