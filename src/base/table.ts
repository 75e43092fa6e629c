/**
 * An empty object for keys that are different each time, such as ids. The runtime makes a new hidden class for each new key
 * of an ordinary object, which costs more than a microsecond; an object without a prototype is a hash table at once.
 */
export function newTable<V>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}

/** Adds a value to the list of a key. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
