import { describe, expect, test } from "vitest";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { parseRedisUrl } from "./url.ts";

const DEFAULTS = { database: 0, prefix: "sluice:", layout: 3, isTls: false };

describe("parseRedisUrl()", () => {
  test.each([
    ["redis://localhost", { topology: "single", nodes: [{ host: "localhost", port: 6379 }] }],
    [
      "rediss://u:p%40ss@redis.example.com:7000/3?prefix=x:",
      {
        topology: "single",
        isTls: true,
        nodes: [{ host: "redis.example.com", port: 7000 }],
        database: 3,
        prefix: "x:",
        username: "u",
        password: "p@ss",
      },
    ],
    ["redis://:p@h", { topology: "single", nodes: [{ host: "h", port: 6379 }], password: "p" }],
    ["redis://p@[::1]:1", { topology: "single", nodes: [{ host: "::1", port: 1 }], password: "p" }],
    [
      "redis+sentinel://h1,h2:5/main/2?sentinelUser=watch&sentinelPassword=s",
      {
        topology: "sentinel",
        nodes: [{ host: "h1", port: 26379 }, { host: "h2", port: 5 }],
        master: "main",
        database: 2,
        sentinelUsername: "watch",
        sentinelPassword: "s",
      },
    ],
    [
      "rediss+cluster://u:p@h1,h2",
      {
        topology: "cluster",
        isTls: true,
        nodes: [{ host: "h1", port: 6379 }, { host: "h2", port: 6379 }],
        username: "u",
        password: "p",
      },
    ],
    ["redis://h?layout=2", {
      topology: "single",
      nodes: [{ host: "h", port: 6379 }],
      layout: 2,
    }],
    ["rediss://h?ca=/etc/ca.pem", {
      topology: "single",
      isTls: true,
      nodes: [{ host: "h", port: 6379 }],
      caFile: "/etc/ca.pem",
    }],
  ])("reads %s", (url, expected) => {
    expect(parseRedisUrl(url)).toEqual({ ...DEFAULTS, ...expected });
  });

  test.each([
    "http://h",
    "redis://",
    "redis://u:secret@h:70000",
    "redis://u:secret@h:port",
    "redis://u:secret@h1,h2",
    "redis://u:secret@h/db",
    "redis://u:secret@h/1/2",
    "redis+sentinel://u:secret@h1,h2",
    "redis+cluster://u:secret@h1/1",
    "redis://u:secret@h?layout=1",
    "redis://u:secret@h?layout=4",
    "redis://u:%zzsecret@h",
    "redis://h?password=secret",
    "redis://h?prefx=secret:",
    "redis://u:top/secret@h:1",
    "redis://u:top?secret@h:1",
    "redis://u:top@secret@h:1",
  ])("refuses %s without showing the password", (url) => {
    let failure: unknown;
    try {
      parseRedisUrl(url);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(Problem);
    expect((failure as Problem).code).toBe(ProblemCode.InvalidArgument);
    expect((failure as Problem).message).not.toContain("secret");
  });
});
