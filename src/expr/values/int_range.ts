/** Ranges (`1..9`) that are used without making a list. */

import { fault } from "./error.ts";
import { toInt } from "./operators.ts";
import type { RunContext } from "./run_context.ts";
import { isPlainInt, typedList, type Value } from "./values.ts";

/** The integers between two bounds, including both; empty if the first is larger. */
export class IntRange {
  readonly from: bigint;
  readonly length: number;

  /**
   * Charges the run as if the list had been made.
   * @throws {Fault} when a bound is not a number, or the range is too large
   */
  constructor(from: Value, to: Value, context: RunContext) {
    this.from = toInt(from);
    // Wrapped, as in Go: the range up to an overflowing bound is too large, that from the other end empty.
    const size = BigInt.asIntN(64, toInt(to) - this.from + 1n);
    this.length = size > 0n ? Number(size) : 0;
    context.spend(this.length);
  }

  /** The integer at an index, which must be within the range. */
  at(index: number): bigint {
    return this.from + BigInt(index);
  }

  /** The integer at an index, which may count from the end. @throws {Fault} when it is out of range */
  fetch(key: Value): bigint {
    const given = toInt(key);
    const index = given < 0n ? given + BigInt(this.length) : given;
    if (index < 0n || index >= BigInt(this.length)) {
      return fault(`index out of range: ${index} (array length is ${this.length})`);
    }
    return this.from + index;
  }

  /** Tells whether a value equals one of the integers. */
  has(value: Value): boolean {
    if (typeof value === "number") {
      if (!Number.isInteger(value)) return false;
      return this.has(BigInt(value));
    }
    const int = isPlainInt(value) ? value.value : value;
    return typeof int === "bigint" && int >= this.from && int < this.from + BigInt(this.length);
  }

  /** The range as a list. */
  toList(): Value[] {
    const list = new Array<Value>(this.length);
    let value = this.from;
    for (let i = 0; i < this.length; i++) list[i] = value++;
    return typedList(list, "int");
  }
}
