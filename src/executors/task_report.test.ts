import { packTar } from "modern-tar";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { isTaskToken, outputsFromReport, reportInMessage, taskToken } from "./task_report.ts";

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
      artifacts: [{ name: "a", path: "/a", s3: { key: "k" } }],
    },
  });
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
