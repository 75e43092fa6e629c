import { expect, test } from "vitest";
import { createPathMap } from "./path_map.ts";

const map = createPathMap([
  { at: "/tmp/x", host: "/s/root/tmp/x" },
  { at: "/tmp/out/", host: "/s/root/tmp/out" },
  { at: "/work", host: "/s/volumes/work" },
  { at: "/work/deep", host: "/s/volumes/deep" },
]);

test.each([
  ["echo hi > /tmp/x", "echo hi > /s/root/tmp/x"],
  ["open('/tmp/x')", "open('/s/root/tmp/x')"],
  ["dd of=/tmp/x;", "dd of=/s/root/tmp/x;"],
  ["wrote /tmp/x.", "wrote /s/root/tmp/x."],
  ["ls /tmp/out/a /tmp/out", "ls /s/root/tmp/out/a /s/root/tmp/out"],
  ["cd /work && cat /work/deep/a", "cd /s/volumes/work && cat /s/volumes/deep/a"],
  ["-d @/tmp/x", "-d @/s/root/tmp/x"],
  [
    "/tmp/xyz /tmp/x.json /tmp/x-1 /var/tmp/x http://h/tmp/x",
    "/tmp/xyz /tmp/x.json /tmp/x-1 /var/tmp/x http://h/tmp/x",
  ],
  ["$(pwd)/tmp/x ${HOME}/tmp/x ~/tmp/x */tmp/x", "$(pwd)/tmp/x ${HOME}/tmp/x ~/tmp/x */tmp/x"],
])("rewrite(%j) replaces whole paths only", (text, expected) => {
  expect(map.rewrite(text)).toBe(expected);
});

test("resolve() follows the longest mount and leaves other paths alone", () => {
  expect(map.resolve("/tmp/x")).toBe("/s/root/tmp/x");
  expect(map.resolve("/work/deep/a/b")).toBe("/s/volumes/deep/a/b");
  expect(map.resolve("/work/a")).toBe("/s/volumes/work/a");
  expect(map.resolve("/tmp/xyz")).toBe("/tmp/xyz");
});

test("a map without mounts changes nothing", () => {
  expect(createPathMap([]).rewrite("/tmp/x")).toBe("/tmp/x");
});
