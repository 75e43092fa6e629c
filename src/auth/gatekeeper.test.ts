import { describe, expect, test } from "vitest";
import { Problem, unavailable } from "../base/problem.ts";
import { powerlessCaller } from "./caller.ts";
import { claimedIdentity } from "./claims.ts";
import { credentialsOf } from "./credentials.ts";
import { createGatekeeper } from "./gatekeeper.ts";
import type { Authenticator } from "./port.ts";

const bearer: Authenticator = {
  authenticate: (credential) =>
    Promise.resolve(
      credential === "Bearer good" ? powerlessCaller({ subject: "ann" }) : undefined,
    ),
};

describe("credentialsOf()", () => {
  test("prefers the header and falls back to every authorization cookie", () => {
    const headers = new Headers({
      cookie: "a=b; authorization=Bearer x; authorization=Basic eQ==",
    });
    expect(credentialsOf(headers)).toEqual(["Bearer x", "Basic eQ=="]);
    headers.set("authorization", "Bearer h");
    expect(credentialsOf(headers)).toEqual(["Bearer h"]);
  });
});

describe("createGatekeeper()", () => {
  test("mode server accepts anything and keeps the claimed subject for labels", async () => {
    const gatekeeper = createGatekeeper({ server: true, authenticators: [] });
    const token = `Bearer x.${btoa(JSON.stringify({ sub: "bob" }))}.y`;
    const caller = await gatekeeper(credentialsOf(new Headers({ authorization: token })));
    expect(caller.identity).toEqual({ subject: "bob" });
    await expect(caller.may({ verb: "get", resource: "workflows", namespace: "a" }))
      .resolves.toBe(true);
    expect((await gatekeeper([])).identity).toEqual({});
  });

  test("without mode server a missing or unknown credential is Unauthenticated", async () => {
    const gatekeeper = createGatekeeper({ server: false, authenticators: [bearer] });
    await expect(gatekeeper([])).rejects.toMatchObject({ status: 401, code: 16 });
    await expect(gatekeeper(credentialsOf(new Headers({ authorization: "junk" })))).rejects
      .toBeInstanceOf(
        Problem,
      );
    await expect(gatekeeper(credentialsOf(new Headers({ authorization: "junk" })))).rejects.toThrow(
      "token not valid: send a token that this server knows in the Authorization header",
    );
    const caller = await gatekeeper(
      credentialsOf(new Headers({ cookie: "authorization=Bearer good" })),
    );
    expect(caller.identity.subject).toBe("ann");
  });

  test("an authenticator that can't tell now is told as such, unless another one accepts", async () => {
    const away: Authenticator = { authenticate: () => Promise.reject(unavailable("away")) };
    const gatekeeper = createGatekeeper({ server: false, authenticators: [away, bearer] });
    await expect(gatekeeper(["Bearer junk"])).rejects.toMatchObject({ status: 503 });
    expect((await gatekeeper(["Bearer good"])).identity.subject).toBe("ann");
    const broken: Authenticator = { authenticate: () => Promise.reject(new TypeError("defect")) };
    await expect(createGatekeeper({ server: false, authenticators: [broken, bearer] })(["x"]))
      .rejects.toThrow(TypeError);
  });

  test("only who has not proved who it is counts as anyone", async () => {
    const hybrid = createGatekeeper({ server: true, authenticators: [bearer] });
    expect((await hybrid([])).isAnyone).toBe(true);
    expect((await hybrid(["Bearer good"])).isAnyone).toBeUndefined();
  });

  test("in hybrid mode a credential that no authenticator accepts is refused", async () => {
    const gatekeeper = createGatekeeper({ server: true, authenticators: [bearer] });
    await expect(gatekeeper(credentialsOf(new Headers({ authorization: "junk" })))).rejects
      .toMatchObject({
        status: 401,
      });
    const anonymous = await gatekeeper([]);
    await expect(anonymous.may({ verb: "delete", resource: "workflows", namespace: "" }))
      .resolves.toBe(true);
  });
});

describe("claimedIdentity()", () => {
  test.each([
    ["Basic " + btoa("ann:secret"), { subject: "ann" }],
    ["Bearer not-a-jwt", {}],
    ["Basic ???", {}],
    [undefined, {}],
    [
      `Bearer h.${btoa(JSON.stringify({ sub: "system:serviceaccount:kilns:robot", email: "" }))}.s`,
      {
        subject: "system:serviceaccount:kilns:robot",
        serviceAccountNamespace: "kilns",
        serviceAccountName: "robot",
      },
    ],
  ])("%s", (credential, identity) => {
    expect(claimedIdentity(credential)).toEqual(identity);
  });
});
