/** A decimal string that grows with every change of an object; over all objects, in the order of commits. */
export type Version = string;
