import { packTar } from "modern-tar";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { shell, taskSpec } from "../../../test/support/task_spec.ts";
import type { Pod } from "./outcome.ts";
import { podOutputs } from "./pod_outputs.ts";
import { DAMAGED_REPORT, outputsFromReport, reportInMessage } from "./task_report.ts";
import { factsSignature, isFactsSignature, isTaskToken, taskToken } from "./task_tokens.ts";

function report(files: Record<string, string>): Promise<Uint8Array> {
  return packTar(
    Object.entries(files).map(([name, body]) => ({
      header: { name: `./${name}`, size: Buffer.byteLength(body) },
      body,
    })),
  );
}

test("outputsFromReport() puts values at their parameters and artifacts", async () => {
  const template = {
    outputs: {
      parameters: [
        { name: "fixed", value: "x" },
        { name: "read", valueFrom: { path: "/p" } },
        { name: "default", valueFrom: { path: "/q", default: "d" } },
      ],
      artifacts: [
        { name: "a", path: "/a" },
        { name: "maybe", path: "/m", optional: true },
        { name: "elsewhere", s3: { key: "e" } },
      ],
    },
  };
  const bytes = await report({
    result: "r\n",
    "p.1": "value\n",
    "a.0": '{"name":"a","path":"/a","s3":{"key":"k"}}',
    "a.1": "missing\n",
  });
  expect(await outputsFromReport(bytes, template)).toEqual({
    outputs: {
      result: "r",
      parameters: [
        { name: "fixed", value: "x" },
        { name: "read", valueFrom: { path: "/p" }, value: "value" },
        { name: "default", valueFrom: { path: "/q", default: "d" }, value: "d" },
      ],
      artifacts: [
        { name: "a", path: "/a", s3: { key: "k" } },
        { name: "elsewhere", s3: { key: "e" } },
      ],
    },
  });
});

test("a path that is no file is told, whatever the default", async () => {
  const parameters = [{ name: "p", valueFrom: { path: "/p", default: "d" } }];
  expect(await outputsFromReport(await report({ "n.0": "" }), { outputs: { parameters } })).toEqual(
    {
      outputs: { parameters },
      fault: 'Cannot read output parameter "p": /p is not a file',
    },
  );
});

test("outputsFromReport() says what is missing", async () => {
  const parameters = [{ name: "p", valueFrom: { path: "/p" } }];
  expect((await outputsFromReport(await report({}), { outputs: { parameters } })).fault).toBe(
    'Cannot read output parameter "p": /p does not exist and there is no default',
  );
  const artifacts = [{ name: "a", path: "/a" }];
  expect((await outputsFromReport(await report({}), { outputs: { artifacts } })).fault).toBe(
    'Cannot save output artifact "a": /a no such file or directory',
  );
});

test("of a report count only values and keys for what is declared", async () => {
  const s3 = { endpoint: "s3", bucket: "mine" };
  const template = {
    archiveLocation: { s3: { ...s3, key: "runs" } },
    outputs: {
      artifacts: [
        { name: "fresh", path: "/a" },
        { name: "own", path: "/b", s3: { ...s3, key: "own" } },
        { name: "key", path: "/c", gcs: { key: "a/key" } },
      ],
    },
  };
  const forged = JSON.stringify({
    name: "other",
    path: "/etc/passwd",
    s3: { key: "runs/fresh.tgz", bucket: "theirs", endpoint: "evil" },
    http: { url: "http://evil" },
    artifactGC: { strategy: "OnWorkflowCompletion" },
  });
  const bytes = await report({ "a.0": forged, "a.1": forged, "a.2": forged, "a.3": forged });
  expect(await outputsFromReport(bytes, template)).toEqual({
    outputs: {
      artifacts: [
        { name: "fresh", path: "/a", s3: { ...s3, key: "runs/fresh.tgz" } },
        { name: "own", path: "/b", s3: { ...s3, key: "own" } },
        { name: "key", path: "/c", gcs: { key: "a/key" } },
      ],
    },
  });
  const bare = { outputs: { artifacts: [{ name: "fresh", path: "/a" }] } };
  expect((await outputsFromReport(await report({ "a.0": forged }), bare)).outputs.artifacts)
    .toEqual([{ name: "fresh", path: "/a", s3: { key: "runs/fresh.tgz" } }]);
});

test("a report that can't be read is a fault, whoever wrote it", async () => {
  const template = { outputs: { artifacts: [{ name: "a", path: "/a" }] } };
  for (const text of ["{", "[]", "null", '"x"', "{}x", "\0"]) {
    const { fault } = await outputsFromReport(await report({ "a.0": text }), template);
    expect([text, fault]).toEqual([text, expect.stringContaining("Cannot save output artifact")]);
  }
  const task = taskSpec("a", { ...shell("true"), ...template });
  const memory = {
    putBlob: () => Promise.resolve(),
    getBlob: () => Promise.resolve(undefined),
    removeBlobs: () => Promise.resolve(),
  };
  for (const message of ["sluice:AAAA", "sluice:AA!", "sluice:H4sI"]) {
    const status = {
      phase: "Succeeded",
      containerStatuses: [{ state: { terminated: { message } } }],
    };
    const pod = { metadata: {}, spec: { containers: [] }, status } as unknown as Pod;
    expect((await podOutputs(task, pod, memory, "workflows.argoproj.io/")).fault).toBe(
      DAMAGED_REPORT,
    );
  }
});

test("a signature belongs to one task and one text", () => {
  const signature = factsSignature("secret", "a", "facts");
  expect(isFactsSignature("secret", "a", "facts", signature)).toBe(true);
  expect(isFactsSignature("secret", "b", "facts", signature)).toBe(false);
  expect(isFactsSignature("secret", "a", "other", signature)).toBe(false);
  expect(isFactsSignature("other", "a", "facts", signature)).toBe(false);
  expect(isTaskToken("secret", "a", signature)).toBe(false);
});

test("reportInMessage() tells ours from a program's own words", async () => {
  const bytes = await report({ result: "r" });
  const message = `sluice:${gzipSync(bytes).toString("base64")}`;
  expect(await reportInMessage(message)).toEqual(Buffer.from(bytes));
  expect(await reportInMessage("sluice:")).toEqual(new Uint8Array());
  expect(await reportInMessage("own words")).toBeUndefined();
});

test("a token belongs to one task", () => {
  const token = taskToken("secret", "a");
  expect(isTaskToken("secret", "a", token)).toBe(true);
  expect(isTaskToken("secret", "b", token)).toBe(false);
  expect(isTaskToken("other", "a", token)).toBe(false);
  expect(isTaskToken("secret", "a", "")).toBe(false);
});
