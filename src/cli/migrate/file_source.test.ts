import { expect, test } from "vitest";
import { openFiles } from "./file_source.ts";

test("a file that is not there is named, in a sentence", async () => {
  const selection = { apiGroup: "argoproj.io", controllerConfig: "none" };
  const listener = { trouble() {}, unseen() {} };
  await expect(openFiles(["/nowhere/argo.yaml"], selection, listener)).rejects.toThrow(
    /^Cannot read \/nowhere\/argo\.yaml: there is no such file$/,
  );
});
