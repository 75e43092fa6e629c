/** Addresses of databases, whose drivers would show a wrong one as a whole. */
import { maskUrl } from "./masked_url.ts";

/** Tells what is wrong with an address, without its password; undefined when a driver can read it. */
export function databaseUrlFault(address: string): string | undefined {
  // PostgreSQL may have several hosts: the driver looks at them one by one.
  const first = address.replace(/,[^/@]*/g, "");
  if (URL.canParse(first) && !hasLateUser(new URL(first))) return undefined;
  return `${maskUrl(address)} is not the address of a database: ${IN_A_PASSWORD}`;
}

/** Tells whether a part of the user or password was taken for something that comes later. */
function hasLateUser({ username, pathname, search, hash }: URL): boolean {
  return (pathname + hash).includes("@") || (username === "" && search.includes("@"));
}

/** What to do about signs that an address gives a meaning of their own. */
export const IN_A_PASSWORD =
  "in its user and password write / as %2F, ? as %3F, # as %23, @ as %40";
