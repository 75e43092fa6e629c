/**
 * An empty object for keys that are different each time, such as ids. The runtime makes a new hidden class for each new key
 * of an ordinary object, which costs more than a microsecond; an object without a prototype is a hash table at once.
 */
export function newTable<V>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}
