import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { ImageConfigs, loginsOf, parseImageName, RegistryTrouble } from "./image_config.ts";

test.each([
  ["alpine", "registry-1.docker.io", "library/alpine", "latest"],
  ["me/app:1", "registry-1.docker.io", "me/app", "1"],
  ["docker.io/library/redis:7.4", "registry-1.docker.io", "library/redis", "7.4"],
  ["ghcr.io/a/b/c:2", "ghcr.io", "a/b/c", "2"],
  ["localhost/box:1", "localhost", "box", "1"],
  ["r.example:5000/a", "r.example:5000", "a", "latest"],
  ["r.example/a:1@sha256:00", "r.example", "a", "sha256:00"],
])("%s is on %s", (image, registry, repository, reference) => {
  expect(parseImageName(image)).toEqual({ registry, repository, reference });
});

test("logins come from both forms of an entry", () => {
  const auth = Buffer.from("u:p").toString("base64");
  const auths = { "a": { auth }, "b": { username: "u", password: "p" }, "c": 1 };
  expect(loginsOf({ auths })).toEqual({ a: auth, b: auth });
  expect(loginsOf(null)).toEqual({});
});

/** The part of the distribution API that is used: a list, a manifest, a configuration, tokens for one login. */
describe("a registry", () => {
  const login = Buffer.from("u:p").toString("base64");
  const platform = (architecture: string) => ({ platform: { os: "linux", architecture } });
  const objects: Record<string, object> = {
    "/v2/a/manifests/1": { config: { digest: "sha256:c" } },
    "/v2/a/manifests/many": {
      manifests: [
        { digest: "sha256:x", platform: { os: "windows", architecture: "amd64" } },
        { digest: "sha256:m", ...platform("amd64") },
        { digest: "sha256:m", ...platform("arm64") },
      ],
    },
    "/v2/a/manifests/sha256:m": { config: { digest: "sha256:c" } },
    "/v2/a/blobs/sha256:c": { config: { Entrypoint: ["/bin/e"], Cmd: ["c", "d"] } },
    "/v2/a/manifests/bare": { config: { digest: "sha256:n" } },
    "/v2/a/blobs/sha256:n": { config: {} },
  };
  let server: Server;
  let host = "";
  let asked = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked++;
      const { authorization } = request.headers;
      const url = new URL(request.url ?? "", `http://${host}`);
      const answer = (status: number, body: object, headers: Record<string, string> = {}) => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(body));
      };
      if (url.pathname === "/token") {
        const isRight = authorization === `Basic ${login}` &&
          url.searchParams.get("scope") === "repository:a:pull" &&
          url.searchParams.get("service") === "s";
        return answer(isRight ? 200 : 403, { token: "t" });
      }
      if (authorization !== "Bearer t") {
        const challenge = `Bearer realm="http://${host}/token",service="s"`;
        return answer(401, {}, { "www-authenticate": challenge });
      }
      const found = objects[url.pathname];
      if (url.pathname.endsWith("/cut")) {
        response.writeHead(200, { "content-length": "1000" });
        return response.write("{", () => response.destroy());
      }
      const { status = 200 } = (found ?? { status: 404 }) as { status?: number };
      answer(status, found ?? {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const command = { entrypoint: ["/bin/e"], cmd: ["c", "d"] };

  test("gives an image's command, also through a list of platforms", async () => {
    const images = new ImageConfigs(systemClock);
    expect(await images.commandOf(`${host}/a:1`, { [host]: login })).toEqual(command);
    expect(await images.commandOf(`${host}/a:many`, { [host]: login })).toEqual(command);
    expect(await images.commandOf(`${host}/a:bare`, { [host]: login })).toEqual({
      entrypoint: [],
      cmd: [],
    });
  });

  test("is asked once for an image in a while", async () => {
    let now = 0;
    const images = new ImageConfigs({ ...systemClock, monotonic: () => now });
    await images.commandOf(`${host}/a:1`, { [host]: login });
    const before = asked;
    await images.commandOf(`${host}/a:1`, { [host]: login });
    expect(asked).toBe(before);
    now = 3600_000;
    await images.commandOf(`${host}/a:1`, { [host]: login });
    expect(asked).toBeGreaterThan(before);
  });

  test("that refuses, or has no such image, is an error with its answer", async () => {
    const images = new ImageConfigs(systemClock);
    await expect(images.commandOf(`${host}/a:1`, {})).rejects.toThrow("answered 403");
    await expect(images.commandOf(`${host}/a:none`, { [host]: login })).rejects.toThrow(
      `${host} answered 404`,
    );
  });

  test("that can't answer now is told from one that refuses", async () => {
    const images = new ImageConfigs(systemClock);
    const fails = (image: string) =>
      images.commandOf(image, { [host]: login }).catch((error) => error as Error);
    objects["/v2/a/manifests/busy"] = { status: 429 };
    objects["/v2/a/manifests/broken"] = { status: 503 };
    expect(await fails(`${host}/a:busy`)).toBeInstanceOf(RegistryTrouble);
    expect(await fails(`${host}/a:broken`)).toBeInstanceOf(RegistryTrouble);
    expect(await fails(`${host}/a:cut`)).toBeInstanceOf(RegistryTrouble);
    const away = await fails("127.0.0.1:1/a:1");
    expect(away).toBeInstanceOf(RegistryTrouble);
    expect(String(away)).toContain("127.0.0.1:1: ");
    expect(await fails(`${host}/a:none`)).not.toBeInstanceOf(RegistryTrouble);
    expect(await fails("no-such-host.invalid/a:1")).not.toBeInstanceOf(RegistryTrouble);
  });
});
