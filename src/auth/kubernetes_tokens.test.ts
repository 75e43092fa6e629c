import { expect, test } from "vitest";
import type { JsonObject } from "../base/json.ts";
import { createKubernetesAuthenticator, createKubernetesCallers } from "./kubernetes_tokens.ts";
import type { Access, Identity } from "./port.ts";

/** An API server's answers, with a count of the questions. */
function cluster() {
  const asked: string[] = [];
  const post = (path: string, body: JsonObject): Promise<JsonObject> => {
    const spec = body["spec"] as {
      token?: string;
      user?: string;
      resourceAttributes?: { verb: string };
    };
    asked.push(path.split("/").at(-1) ?? "");
    if (spec.token !== undefined) {
      const user = {
        username: "system:serviceaccount:ci:bot",
        groups: ["system:serviceaccounts"],
        uid: "u",
      };
      return Promise.resolve({
        status: spec.token === "good" ? { authenticated: true, user } : { authenticated: false },
      });
    }
    const allowed = spec.user === "system:serviceaccount:ci:bot" &&
      spec.resourceAttributes?.verb === "get";
    return Promise.resolve({ status: { allowed } });
  };
  return { asked, post };
}

test("a good token becomes its service account, with the rights that the cluster grants", async () => {
  const { post } = cluster();
  const authenticator = createKubernetesAuthenticator({ post, now: () => 0 });
  const caller = await authenticator.authenticate("Bearer good");
  expect(caller?.identity).toMatchObject({
    serviceAccountName: "bot",
    serviceAccountNamespace: "ci",
  });
  expect(await caller?.may({ verb: "get", resource: "workflows", namespace: "ci", name: "x" }))
    .toBe(true);
  expect(await caller?.may({ verb: "delete", resource: "workflows", namespace: "ci" })).toBe(false);
});

test("a bad token is refused, another scheme is left to others", async () => {
  const authenticator = createKubernetesAuthenticator({ ...cluster(), now: () => 0 });
  await expect(authenticator.authenticate("bad")).rejects.toMatchObject({ status: 401 });
  expect(await authenticator.authenticate("Basic x")).toBeUndefined();
});

test("answers are kept for a few seconds, not longer", async () => {
  const { asked, post } = cluster();
  let now = 0;
  const authenticator = createKubernetesAuthenticator({ post, now: () => now });
  for (let i = 0; i < 5; i++) {
    const caller = await authenticator.authenticate("good");
    await caller?.may({ verb: "get", resource: "workflows", namespace: "ci" });
  }
  expect(asked).toEqual(["tokenreviews", "subjectaccessreviews"]);
  now = 10_001;
  await authenticator.authenticate("good");
  expect(asked.at(-1)).toBe("tokenreviews");
});

test("an identity that was proved earlier has the rights of the cluster and those that others grant", async () => {
  const { asked, post } = cluster();
  const others = (identity: Identity) => ({
    identity,
    may: (access: Access) => Promise.resolve(access.verb === "create"),
  });
  const callerOf = createKubernetesCallers({ post, now: () => 0 }, others);
  const access = { resource: "workflows", namespace: "ci" } as const;
  const bot = callerOf({ subject: "system:serviceaccount:ci:bot", groups: ["g"] });
  expect(await bot.may({ ...access, verb: "get" })).toBe(true);
  expect(await bot.may({ ...access, verb: "delete" })).toBe(false);
  expect(asked).toHaveLength(2);
  expect(await bot.may({ ...access, verb: "create" })).toBe(true);
  expect(await bot.may({ ...access, verb: "get" })).toBe(true);
  expect(asked).toHaveLength(2);
  const stranger = callerOf({ subject: "system:serviceaccount:ci:bot", issuer: "https://id" });
  expect(await stranger.may({ ...access, verb: "get" })).toBe(false);
  expect(await callerOf({}).may({ ...access, verb: "get" })).toBe(false);
  expect(asked).toHaveLength(2);
});
