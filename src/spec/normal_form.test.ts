import { describe, expect, it } from "vitest";

import type { JsonObject } from "../base/json.ts";
import { normalForm } from "./normal_form.ts";
import { decode } from "./schema/decode.ts";
import { WORKFLOW_SPEC } from "./schema/kinds.ts";

const shown = (spec: JsonObject) => normalForm(decode(spec, WORKFLOW_SPEC), WORKFLOW_SPEC);

describe("normalForm", () => {
  it("keeps an empty text that is not the same as none", () => {
    const claim = (storageClassName: string) => ({
      metadata: { name: "work" },
      spec: { storageClassName, volumeName: "", resources: {} },
    });
    expect(shown({ volumeClaimTemplates: [claim(""), claim("fast")] })).toMatchObject({
      volumeClaimTemplates: [
        { spec: { storageClassName: "", resources: {} } },
        { spec: { storageClassName: "fast", resources: {} } },
      ],
    });
    expect(JSON.stringify(shown({ onExit: "", volumeClaimTemplates: [claim("")] })))
      .not.toMatch(/volumeName|onExit/);
  });

  it("shows all kinds of credentials of an http artifact when it has some", () => {
    const http = { url: "https://example.com", auth: { basicAuth: {} } };
    expect(shown({ arguments: { artifacts: [{ name: "a", http }] } })).toMatchObject({
      arguments: {
        artifacts: [{ http: { auth: { clientCert: {}, oauth2: {}, basicAuth: {} } } }],
      },
    });
  });
});
