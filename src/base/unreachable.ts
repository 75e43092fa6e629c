/**
 * Ends a `switch` over a closed set: the compiler reports every one that a new member makes incomplete.
 *
 * @throws {TypeError} when the value came from outside the types
 */
export function unreachable(value: never): never {
  throw new TypeError(`Unexpected value ${JSON.stringify(value)}`);
}
