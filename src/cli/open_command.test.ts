import { expect, test } from "vitest";
import { placeOf } from "../ui/app/paths.ts";
import { browserCommand, pageAddress } from "./open_command.ts";

const ADDRESS = "http://127.0.0.1:2746/workflows/default/w";

test.each<[string, Record<string, string>, ReturnType<typeof browserCommand>]>([
  ["linux", {}, undefined],
  ["linux", { DISPLAY: "" }, undefined],
  ["linux", { DISPLAY: ":0" }, ["xdg-open", [ADDRESS]]],
  ["linux", { WAYLAND_DISPLAY: "wayland-0" }, ["xdg-open", [ADDRESS]]],
  ["linux", { BROWSER: "firefox" }, ["xdg-open", [ADDRESS]]],
  ["darwin", {}, ["open", [ADDRESS]]],
  ["win32", {}, ["cmd", ["/c", "start", '""', ADDRESS]]],
])("on %s with %j", (platform, env, command) => {
  expect(browserCommand(ADDRESS, platform, env)).toEqual(command);
});

test("on Windows, what the shell would read ends no command", () => {
  expect(browserCommand("http://h/?a=1&b=2", "win32", {})?.[1].at(-1)).toBe("http://h/?a=1^&b=2");
});

test("the address is that of a page, also below a path", () => {
  expect(pageAddress("http://h/sluice", "a b", "c/d")).toBe(
    "http://h/sluice/workflows/a%20b/c%2Fd",
  );
  expect(placeOf(new URL(pageAddress("http://h", "n", "w")).pathname)).toEqual({
    key: "workflow",
    params: { namespace: "n", name: "w" },
  });
});
