/** `T` without members that are undefined: what may be undefined may be absent. */
type Defined<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** The members of an object that are not undefined, for types whose members are absent rather than undefined. */
export function defined<T extends object>(members: T): Defined<T> {
  const kept: Partial<T> = {};
  for (const key in members) {
    if (members[key] !== undefined) kept[key] = members[key];
  }
  return kept as unknown as Defined<T>;
}
