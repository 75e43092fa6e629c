import { expect, test } from "vitest";
import { parseAddressRules } from "./address_rules.ts";

test.each([
  "127.0.0.1",
  "127.8.9.1",
  "0.0.0.0",
  "10.1.2.3",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "192.0.2.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "240.0.0.1",
  "::",
  "::1",
  "fe80::1",
  "fe80::1%eth0",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:169.254.169.254",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::a00:1",
  "2002:7f00:1::",
  "2001::1",
  "2001:db8::1",
  "",
  "localhost",
])("%s is not public", (address) => {
  expect(parseAddressRules("").allowsAddress(address)).toBe(false);
});

test.each(["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "172.32.0.1"])(
  "%s is public",
  (address) => expect(parseAddressRules("").allowsAddress(address)).toBe(true),
);

test("a setting allows addresses, ranges and hosts, and nothing beside them", () => {
  const rules = parseAddressRules("10.0.0.0/8, 127.0.0.1,fd00::/8,hooks.internal");
  for (const address of ["10.2.3.4", "127.0.0.1", "::ffff:10.0.0.1", "fd12::1"]) {
    expect(rules.allowsAddress(address), address).toBe(true);
  }
  for (const address of ["11.0.0.1", "127.0.0.2", "192.168.0.1", "::1", "fe80::1"]) {
    expect(rules.allowsAddress(address), address).toBe(address === "11.0.0.1");
  }
  expect(rules.allowsHost("Hooks.Internal.")).toBe(true);
  expect(rules.allowsHost("evil.hooks.internal")).toBe(false);
  expect(parseAddressRules("*").allowsAddress("127.0.0.1")).toBe(true);
});

test.each(["10.0.0.0/99", "a b", "http://x", "-x"])("%s is refused as a setting", (setting) => {
  expect(() => parseAddressRules(setting)).toThrow(/is not an address, range/);
});
