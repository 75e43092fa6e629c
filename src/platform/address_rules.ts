/**
 * Which addresses the server connects to where somebody else chooses them: public ones, and those that a setting allows. All
 * others (private, loopback, link-local with the metadata services of clouds, shared, reserved, mapped into IPv6, …) could
 * reach what only the server may.
 */
import ipaddr from "ipaddr.js";

type Address = ReturnType<typeof ipaddr.parse>;

export interface AddressRules {
  /** True for every address of this host. */
  allowsHost(host: string): boolean;
  /** @param address IPv4 or IPv6; anything else is refused */
  allowsAddress(address: string): boolean;
}

/**
 * Rules that allow public addresses and what a setting lists.
 *
 * @param setting addresses, ranges (`10.0.0.0/8`) and host names, with commas between them; `*` allows all
 * @throws {Error} for an entry that is none of these
 */
export function parseAddressRules(setting: string): AddressRules {
  const ranges: [Address, number][] = [];
  const hosts = new Set<string>();
  for (const entry of setting.split(",").map((one) => one.trim().toLowerCase())) {
    if (entry === "") continue;
    if (ipaddr.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry));
    else if (ipaddr.isValid(entry)) ranges.push(only(ipaddr.process(entry)));
    else if (entry === "*" || HOST.test(entry)) hosts.add(entry);
    else throw new Error(`"${entry}" is not an address, range such as 10.0.0.0/8, or host name`);
  }
  const allowsHost = (host: string) => hosts.has("*") || hosts.has(plainHost(host));
  return {
    allowsHost,
    allowsAddress(text) {
      if (hosts.has("*")) return true;
      const [bare = ""] = text.split("%", 1);
      if (!ipaddr.isValid(bare)) return false;
      // An IPv4 address that is written as IPv6 is judged as what is connected to.
      const address = ipaddr.process(bare);
      if (isPublic(address)) return true;
      return ranges.some(([range, bits]) =>
        range.kind() === address.kind() && address.match(range, bits)
      );
    },
  };
}

/** IPv6 addresses that are public lie in this range; others may stand for an IPv4 address. */
const GLOBAL = ipaddr.parseCIDR("2000::/3");

function isPublic(address: Address): boolean {
  return address.range() === "unicast" && (address.kind() === "ipv4" || address.match(GLOBAL));
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/;

/** The range that has this address alone. */
function only(address: Address): [Address, number] {
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** The host of a URL without brackets and the dot at its end. */
export function plainHost(host: string): string {
  return host.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** True for the host of a URL that is an address. */
export function isAddress(host: string): boolean {
  return ipaddr.isValid(plainHost(host));
}
