/**
 * The public surface of Sluice: manifests, the pure engine, expressions, simulated runs, and a typed client of the API.
 * Nothing that is exported here starts a server or touches the outside, but for the client's requests.
 *
 * Read and check manifests:
 *
 * @example
 * ```ts
 * import { parseManifests, templateFinder, validateAny } from "sluice";
 *
 * const manifests = parseManifests(`
 * kind: Workflow
 * metadata: { name: hello }
 * spec:
 *   entrypoint: main
 *   templates: [{ name: main, container: { image: busybox, command: [echo, hi] } }]
 * `);
 * for (const manifest of manifests) validateAny(manifest, templateFinder(manifests));
 * if (manifests[0]?.kind !== "Workflow") throw new Error("expected a workflow");
 * ```
 *
 * Take a workflow through the engine, step by step:
 *
 * @example
 * ```ts
 * import { accept, advance, createWorkflow, takeChanges, viewWorkflow } from "sluice";
 *
 * const env = {
 *   now: Date.UTC(2030, 0, 1),
 *   randomSuffix: (length) => "x".repeat(length),
 *   findManifest: () => null,
 *   labelPrefix: "workflows.argoproj.io/",
 *   apiGroup: "argoproj.io",
 * };
 * const state = createWorkflow({
 *   metadata: { name: "hello", namespace: "default", uid: "1" },
 *   spec: { entrypoint: "main", templates: [{ name: "main", container: { image: "busybox" } }] },
 * }, env);
 * advance(state, env);
 * for (const effect of takeChanges(state).effects) {
 *   if (effect.type !== "start-task") continue;
 *   accept(state, { type: "task-ended", task: effect.task.id, outcome: { phase: "Succeeded" } }, env);
 * }
 * advance(state, env);
 * if (viewWorkflow(state).status?.phase !== "Succeeded") throw new Error("expected an end");
 * ```
 *
 * Run a workflow test, as `sluice test` does:
 *
 * @example
 * ```ts
 * import { decodeAny, runTest } from "sluice";
 *
 * const workflow = decodeAny({
 *   kind: "Workflow",
 *   metadata: { name: "wait" },
 *   spec: { entrypoint: "main", templates: [{ name: "main", suspend: { duration: "168h" } }] },
 * });
 * const { failures } = runTest({ name: "a week", expect: { phase: "Succeeded" } }, workflow, []);
 * if (failures.length > 0) throw new Error(failures.join());
 * ```
 *
 * Evaluate an expression:
 *
 * @example
 * ```ts
 * import { evaluateForUser } from "sluice";
 *
 * const { text } = evaluateForUser("sum(map(items, {#.n}))", { items: [{ n: 1 }, { n: 2 }] });
 * if (text !== "3") throw new Error(text);
 * ```
 *
 * Speak to a server:
 *
 * @example
 * ```ts
 * import { createClient } from "sluice";
 *
 * const client = createClient({ server: "http://127.0.0.1:2746" });
 * const params = { namespace: "default" };
 * const made = await client.call("WorkflowService_CreateWorkflow", {
 *   params,
 *   body: {
 *     workflow: {
 *       metadata: { generateName: "hello-" },
 *       spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
 *     },
 *   },
 * });
 * const changes = client.stream("WorkflowService_WatchWorkflows", {
 *   params,
 *   query: { "listOptions.fieldSelector": `metadata.name=${made.metadata.name}` },
 * });
 * for await (const { type, object } of changes) {
 *   if (type !== "ADDED" || object.metadata.name !== made.metadata.name) throw new Error(type);
 *   break;
 * }
 * ```
 *
 * @module
 */

// Manifests.
export type * from "./spec/manifest.ts";
export { type Naming, STANDARD_NAMING } from "./spec/naming.ts";
export type { Json, JsonObject } from "./base/json.ts";
export { Problem, ProblemCode } from "./base/problem.ts";
export {
  type AnyManifest,
  decodeAny,
  decodeManifest,
  type Kind,
  KINDS,
  type ManifestTypes,
} from "./spec/schema/decode_manifest.ts";
export { anyManifestSchema, jsonSchema } from "./spec/schema/json_schema.ts";
export { lintManifests, type LintResult, templateFinder } from "./spec/lint.ts";
export { type ParseLimits, parseManifests } from "./spec/parse.ts";
export { validateAny } from "./spec/validation/any.ts";
export type { ValidationContext, ValidationOptions } from "./spec/validation/validate.ts";

// The engine.
export { accept } from "./engine/accept.ts";
export { advance } from "./engine/advance.ts";
export { loadWorkflow, takeChanges } from "./engine/codec.ts";
export type { ControlRequest, Fact, TaskOutcome, User } from "./engine/command.ts";
export { control } from "./engine/orders/control.ts";
export { createWorkflow } from "./engine/create.ts";
export type { Effect, LockKey, TaskSpec } from "./engine/effect.ts";
export type { Changes, EngineEnv, ManifestRef } from "./engine/engine.ts";
export { partsByKey, type PartText } from "./base/part_text.ts";
export type { WorkflowState } from "./engine/state.ts";
export { viewWorkflow } from "./engine/view.ts";

// Expressions.
export { compileExpr } from "./expr/language/compile.ts";
export { evaluateForUser, type UserResult } from "./expr/templates/evaluate_for_user.ts";
export type { CompileOptions, Program } from "./expr/language/program.ts";

// Simulated runs.
export { Simulation, type SimulationOptions } from "./simulation/simulation.ts";
export type { TaskRule } from "./simulation/task_rule.ts";
export { decodeTestFile, type TestFile, type WorkflowTest } from "./simulation/test_file.ts";
export { runTest, testedManifest, type TestResult } from "./simulation/test_run.ts";

// The client.
export type { Change, List, LogLine, MinimalAnswer } from "./client/answer.ts";
export {
  type Client,
  createClient,
  type DownloadOperation,
  type Input,
  type MinimalOperation,
  type StreamOperation,
  type UnaryOperation,
  type UploadOperation,
} from "./client/client.ts";
export { OPERATIONS, type Operations } from "./client/operations.ts";
export { ClientError, type ClientOptions } from "./client/transport.ts";
