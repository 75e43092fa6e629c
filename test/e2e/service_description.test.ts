/**
 * What the description of the service promises, sentence by sentence, as if by somebody who knows nothing else:
 * requests and manifests are typed as the description shows them, including `<ACCESS_TOKEN>`. On both stores, with and
 * without tokens; on Redis with two replicas, which are asked in turn.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createToken } from "../../src/auth/token_file.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { sendTyped, type TypedAnswer } from "../support/typed_request.ts";

const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const RUNTIME = "Deno" in globalThis ? ["run", "-A", "-q"] : [];
const ONE_MINUTE = { timeout: 60_000 };

const owner = createToken("owner", []);
const sender = createToken("sender", []);
/** The owner may do everything; the sender only what its events need, with two of the templates. */
const ACCESS = `rules:
- { subjects: [owner], namespaces: ["*"], apiGroups: [argoproj.io, ""], resources: ["*"], verbs: ["*"] }
- { subjects: [sender], namespaces: [argo], resources: [workfloweventbindings], verbs: [list] }
- { subjects: [sender], namespaces: [argo], resources: [workflows], verbs: [create] }
- { subjects: [sender], namespaces: [argo], resources: [workflowtemplates], resourceNames: [greet], verbs: [get] }
- { subjects: [sender], namespaces: ["*"], resources: [clusterworkflowtemplates], resourceNames: [greet-all], verbs: [get] }
`;

/** The asynchronous job: a trigger whose result is the job's id, then a step that waits for it. */
const JOB = (folder: string) => `
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata:
  name: external-job-template
spec:
  entrypoint: run-external-job
  templates:
  - name: run-external-job
    arguments: {}
    inputs:
      parameters: [{ name: job-cmd }]
    outputs: {}
    metadata: {}
    steps:
    - - name: trigger-job
        template: trigger-job
        arguments:
          parameters: [{ name: job-cmd, value: "{{inputs.parameters.job-cmd}}" }]
    - - name: wait-completion
        template: wait-completion
        arguments:
          parameters: [{ name: uuid, value: "{{steps.trigger-job.outputs.result}}" }]
  - name: trigger-job
    arguments: {}
    inputs:
      parameters: [{ name: job-cmd, value: "true" }]
    outputs: {}
    metadata: {}
    container:
      name: ""
      image: appropriate/curl:latest
      command: ["/bin/sh", "-c"]
      args: ["{{inputs.parameters.job-cmd}} >> ${folder}/jobs; echo job-$(wc -l < ${folder}/jobs)=="]
      resources: {}
  - name: wait-completion
    arguments: {}
    inputs:
      parameters: [{ name: uuid }]
    outputs: {}
    metadata: {}
    suspend: {}
`;

/** Templates and bindings, one of each form that the description shows or names. */
const BINDINGS = `
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: { name: greet }
spec:
  entrypoint: main
  arguments: { parameters: [{ name: message, value: nothing }] }
  templates: [{ name: main, suspend: {} }]
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: { name: not-for-all }
spec:
  entrypoint: main
  templates: [{ name: main, suspend: {} }]
---
apiVersion: argoproj.io/v1alpha1
kind: ClusterWorkflowTemplate
metadata: { name: greet-all }
spec:
  entrypoint: main
  arguments: { parameters: [{ name: message }, { name: from }] }
  templates: [{ name: main, suspend: {} }]
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: by-payload }
spec:
  event:
    selector: payload != nil && payload.message != nil && payload.message != "" && metadata["x-kind"] == ["greeting"] && discriminator == ""
  submit:
    workflowTemplateRef: { name: greet }
    arguments:
      parameters:
      - { name: message, valueFrom: { event: payload.message } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: named }
spec:
  event: { selector: 'discriminator == "named" && payload.id != nil' }
  submit:
    workflowTemplateRef: { name: greet }
    metadata:
      name: '"greeting-of-" + payload.id'
      labels: { team: payload.team, kind: '"greeting"' }
      annotations: { about: '"from " + payload.team', "example.com/sent-by": 'metadata["x-sender"][0]' }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: from-cluster }
spec:
  event: { selector: 'metadata["x-kind"] == ["greeting"] && discriminator == "all"' }
  submit:
    workflowTemplateRef: { name: greet-all, clusterScope: true }
    arguments:
      parameters:
      - { name: message, valueFrom: { event: payload.message } }
      - { name: from, value: the binding }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: of-others }
spec:
  event: { selector: 'discriminator == "all"' }
  submit: { workflowTemplateRef: { name: not-for-all } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: not-there }
spec:
  event: { selector: 'discriminator == "not-there"' }
  submit: { workflowTemplateRef: { name: nobody-made-it } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: no-boolean }
spec:
  event: { selector: 'discriminator == "odd" ? payload.message : false' }
  submit: { workflowTemplateRef: { name: greet } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: no-guard }
spec:
  event: { selector: 'discriminator == "odd" && payload.job.state == "done"' }
  submit: { workflowTemplateRef: { name: greet } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: no-name }
spec:
  event: { selector: 'discriminator == "odd"' }
  submit:
    workflowTemplateRef: { name: greet }
    metadata: { name: '"Not a Name"' }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: no-text }
spec:
  event: { selector: 'discriminator == "odd"' }
  submit:
    workflowTemplateRef: { name: greet }
    metadata: { labels: { n: "42" } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: bare-text }
spec:
  event: { selector: 'metadata["x-kind"] == "greeting"' }
  submit: { workflowTemplateRef: { name: greet } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: upper-case }
spec:
  event: { selector: 'metadata["X-Kind"] == ["greeting"]' }
  submit: { workflowTemplateRef: { name: greet } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: no-prefix }
spec:
  event: { selector: 'metadata["kind"] == ["greeting"] || metadata["content-type"] != nil' }
  submit: { workflowTemplateRef: { name: greet } }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowEventBinding
metadata: { name: authorization }
spec:
  event: { selector: 'metadata["authorization"] != nil' }
  submit: { workflowTemplateRef: { name: greet } }
`;

interface Node {
  displayName: string;
  type: string;
  phase: string;
  message?: string;
}

describe.each([
  ["sqlite", "off"],
  ["sqlite", "tokens"],
  ["redis", "off"],
  ["redis", "tokens"],
])("on %s, authentication %s", (store, authentication) => {
  const hasTokens = authentication === "tokens";
  const replicas: ServerProcess[] = [];
  const cleanUp: (() => Promise<unknown>)[] = [];
  let folder: string;
  let flags: string[];
  let redisUrl = "";
  let turn = 0;
  let typedSoFar = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-description-"));
    cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const tokens = { tokens: [owner.entry, sender.entry] };
    await writeFile(join(folder, "tokens.yaml"), JSON.stringify(tokens));
    await writeFile(join(folder, "access.yaml"), ACCESS);
    flags = ["--lease-ttl=1s"];
    if (hasTokens) {
      flags.push("--auth-mode=client", `--token-file=${join(folder, "tokens.yaml")}`);
      flags.push(`--access-file=${join(folder, "access.yaml")}`);
    }
    if (store === "redis") {
      const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
      cleanUp.push(() => redis.stop());
      redisUrl = redis.url;
    }
    await Promise.all((store === "redis" ? ["a", "b"] : ["a"]).map((one) => start(one)));
    await run("apply", "-f", await file("job", JOB(folder)), "-f", await file("all", BINDINGS));
  });
  afterAll(async () => {
    await Promise.all(replicas.map((one) => one.kill()));
    for (const clean of cleanUp.reverse()) await clean();
  });

  /** @param place the server's own setting: its store, or its working folder */
  async function start(place: string, ...more: string[]): Promise<ServerProcess> {
    const at = store === "redis"
      ? [`--store=${redisUrl}${place === "full" ? "/1" : ""}`]
      : [`--store=sqlite:${join(folder, place)}`];
    const work = `--work-dir=${join(folder, `work-${place}`)}`;
    const server = await startServer([...flags, ...at, work, ...more]);
    if (place !== "full") replicas.push(server);
    cleanUp.push(() => server.kill());
    return server;
  }

  async function file(name: string, text: string): Promise<string> {
    const path = join(folder, `${name}.yaml`);
    await writeFile(path, text);
    return path;
  }

  /** Sends a request as it is typed. Without authentication the header is optional: every second request omits it. */
  async function typed(
    text: string,
    { token = owner.token, url = replicas[turn++ % replicas.length]?.url ?? "" } = {},
  ): Promise<TypedAnswer> {
    const lines = text.trim().split("\n").map((line) => line.trim());
    const meant = hasTokens || typedSoFar++ % 2 === 0
      ? lines
      : lines.filter((line) => !/^Authorization:/.test(line));
    return await sendTyped(
      meant.join("\n").replace("{base_url}", url).replace("<ACCESS_TOKEN>", token),
    );
  }

  async function accepted(text: string, options?: { token?: string; url?: string }) {
    const answer = await typed(text, options);
    expect(answer, text).toMatchObject({ status: 200 });
    return answer.body;
  }

  /** The command line's output. */
  async function run(...args: string[]): Promise<{ out: string; status: number | null }> {
    const env = { SLUICE_SERVER: replicas[turn++ % replicas.length]?.url ?? "", NO_COLOR: "1" };
    const child = spawn(process.execPath, [...RUNTIME, CLI, "-n", "argo", ...args], {
      env: { ...process.env, ...env, ...(hasTokens ? { SLUICE_TOKEN: owner.token } : {}) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => out += data);
    const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
    expect({ args, out, status }).toMatchObject({ status: 0 });
    return { out, status };
  }

  const get = (name: string) =>
    accepted(`GET {base_url}/api/v1/workflows/argo/${name}
      Authorization: Bearer <ACCESS_TOKEN>`);
  const list = async (): Promise<{ metadata: Record<string, string> }[]> =>
    (await accepted(`GET {base_url}/api/v1/workflows/argo
      Authorization: Bearer <ACCESS_TOKEN>`)).items ?? [];
  const named = async (prefix: string) =>
    (await list()).map(({ metadata }) => metadata["name"] ?? "")
      .filter((name) => name.startsWith(prefix)).sort();
  const nodeOf = async (name: string, displayName: string) => {
    const nodes: Node[] = Object.values((await get(name)).status?.nodes ?? {});
    return nodes.find((node) => node.displayName === displayName);
  };
  const waits = (name: string) =>
    expect.poll(async () => (await nodeOf(name, "wait-completion"))?.phase, ONE_MINUTE)
      .toBe("Running");
  const ends = (name: string, phase: string) =>
    expect.poll(async () => (await get(name)).status.phase, ONE_MINUTE).toBe(phase);
  /** How many times the job was started. */
  const jobs = () => readFileSync(join(folder, "jobs"), "utf8").split("\n").length - 1;

  /** Submits the job; returns the name of its workflow. */
  async function submitJob(): Promise<string> {
    const made = await accepted(`POST {base_url}/api/v1/workflows/argo
      Authorization: Bearer <ACCESS_TOKEN>
      Content-Type: application/json

      {
        "namespace": "argo",
        "serverDryRun": false,
        "workflow": {
          "metadata": {
            "generateName": "external-job-",
            "namespace": "argo",
            "labels": { "team": "shop", "workflows.argoproj.io/completed": "false" }
          },
          "spec": {
            "templates": [
              {
                "name": "main",
                "arguments": {},
                "inputs": {},
                "outputs": {},
                "metadata": {},
                "steps": [
                  [{
                    "name": "job",
                    "templateRef": { "name": "external-job-template", "template": "run-external-job" },
                    "arguments": { "parameters": [{ "name": "job-cmd", "value": "echo {{workflow.parameters.what}}" }] }
                  }],
                  [
                    { "name": "then-this", "template": "then", "arguments": {} },
                    { "name": "then-that", "template": "then", "arguments": {} }
                  ]
                ]
              },
              { "name": "then", "container": { "image": "busybox", "command": ["true"], "args": [] } }
            ],
            "entrypoint": "main",
            "arguments": { "parameters": [{ "name": "what", "value": "started" }] }
          }
        }
      }`);
    expect(made.metadata).toMatchObject({
      name: expect.stringMatching(/^external-job-.+/),
      namespace: "argo",
      labels: { team: "shop", "workflows.argoproj.io/completed": "false" },
    });
    await waits(made.metadata.name);
    return made.metadata.name;
  }

  const control = (verb: string, name: string, selector: string, more = "") =>
    typed(`PUT {base_url}/api/v1/workflows/argo/${name}/${verb}
      Authorization: Bearer <ACCESS_TOKEN>
      Content-Type: application/json

      { "namespace": "argo", "name": "${name}", "nodeFieldSelector": "${selector}"${more} }`);

  test("a workflow is submitted with every field, listed, read and deleted (1, 2, 4)", async () => {
    const manifest = `{
      "metadata": { "generateName": "hello-world-", "namespace": "argo", "labels": { "workflows.argoproj.io/completed": "false" } },
      "spec": {
        "templates": [
          {
            "name": "whalesay",
            "arguments": {},
            "inputs": {},
            "outputs": {},
            "metadata": {},
            "container": { "name": "", "image": "docker/whalesay:latest", "command": ["echo"], "args": ["hello world"], "resources": {} }
          }
        ],
        "entrypoint": "whalesay",
        "arguments": {}
      }
    }`;
    const submit = (isDry: boolean, namespace = "argo") =>
      accepted(`POST {base_url}/api/v1/workflows/${namespace}
        Authorization: Bearer <ACCESS_TOKEN>
        Content-Type: application/json

        { "namespace": "${namespace}", "serverDryRun": ${isDry}, "workflow": ${
        manifest.replace('"namespace": "argo"', `"namespace": "${namespace}"`)
      } }`);
    const dry = await submit(true);
    expect(dry.metadata.labels).toMatchObject({ "workflows.argoproj.io/completed": "false" });
    expect(await named("hello-world-")).toEqual([]);

    const made = await submit(false);
    const { name } = made.metadata;
    expect(name).toMatch(/^hello-world-.+/);
    expect(made.spec.templates[0]).toMatchObject({
      name: "whalesay",
      container: { image: "docker/whalesay:latest", command: ["echo"], args: ["hello world"] },
    });
    const elsewhere = await submit(false, "elsewhere");
    expect(await named("hello-world-")).toEqual([name]);
    await ends(name, "Succeeded");
    expect((await get(name)).metadata.name).toBe(name);
    const missing = await typed(`GET {base_url}/api/v1/workflows/argo/${elsewhere.metadata.name}
      Authorization: Bearer <ACCESS_TOKEN>`);
    expect(missing.status).toBe(404);
    await accepted(`DELETE {base_url}/api/v1/workflows/argo/${name}
      Authorization: Bearer <ACCESS_TOKEN>`);
    expect(await named("hello-world-")).toEqual([]);
  });

  test("the owner of the external job resumes its step, by the identifier (1, 3)", async () => {
    const name = await submitJob();
    const started = jobs();
    expect(await nodeOf(name, "wait-completion")).toMatchObject({
      type: "Suspend",
      inputs: { parameters: [{ name: "uuid", value: `job-${started}==` }] },
    });
    const selector = `inputs.parameters.uuid.value=job-${started}==`;
    const other = await control("resume", name, `${selector}x`);
    expect(other).toMatchObject({ status: 404 });
    expect(await nodeOf(name, "wait-completion")).toMatchObject({ phase: "Running" });
    expect(await nodeOf(name, "then-this")).toBe(undefined);
    expect(await control("resume", name, selector)).toMatchObject({ status: 200 });
    await ends(name, "Succeeded");
    for (const step of ["wait-completion", "then-this", "then-that"]) {
      expect(await nodeOf(name, step)).toMatchObject({ phase: "Succeeded" });
    }
    expect(jobs()).toBe(started);
  });

  test("it stops the step as failed, with a message; retry waits again, or begins again (3, 4)", async () => {
    const name = await submitJob();
    const first = jobs();
    const stop = (message: string) =>
      control(
        "stop",
        name,
        `inputs.parameters.uuid.value=job-${jobs()}==`,
        `, "message": "${message}"`,
      );
    expect(await stop("the job ran out of disk")).toMatchObject({ status: 200 });
    await ends(name, "Failed");
    const failed = await nodeOf(name, "wait-completion");
    expect(failed).toMatchObject({ phase: "Failed", message: "the job ran out of disk" });

    await run("retry", name);
    await waits(name);
    expect(jobs()).toBe(first);
    expect(await nodeOf(name, "trigger-job")).toMatchObject({ phase: "Succeeded" });

    expect(await stop("again")).toMatchObject({ status: 200 });
    await ends(name, "Failed");
    const selector = "templateRef.template=run-external-job,phase=Failed";
    await run("retry", name, "--restart-successful", "--node-field-selector", selector);
    await expect.poll(jobs, ONE_MINUTE).toBe(first + 1);
    await waits(name);
    const done = await control("resume", name, `inputs.parameters.uuid.value=job-${jobs()}==`);
    expect(done).toMatchObject({ status: 200 });
    await ends(name, "Succeeded");
    expect(jobs()).toBe(first + 1);
  });

  const parametersOf = async (name: string) =>
    Object.fromEntries(
      ((await get(name)).spec.arguments.parameters ?? [])
        .map(({ name, value }: Record<string, string>) => [name, value]),
    );
  const appears = (prefix: string, count = 1) =>
    expect.poll(() => named(prefix), ONE_MINUTE).toHaveLength(count).then(() => named(prefix));
  /** Resolves when every event sent so far has been processed. */
  const isWorkedOff = () =>
    expect.poll(
      async () =>
        (await accepted(`GET {base_url}/api/v1/event-deliveries/argo?state=queued&limit=1
        Authorization: Bearer <ACCESS_TOKEN>`)).items,
      ONE_MINUTE,
    ).toEqual([]);

  test("an event makes a workflow of each matching binding; nothing but x- headers counts (5, 6)", async () => {
    const answer = await typed(`POST {base_url}/api/v1/events/argo/
      Authorization: <ACCESS_TOKEN>
      Content-Type: application/json
      X-KIND: greeting
      Kind: greeting

      { "message": "hello there" }`);
    expect(answer).toMatchObject({ status: 200, body: {} });
    expect(answer.ms).toBeLessThan(10_000);
    const [name = ""] = await appears("greet-");
    expect(name).toMatch(/^greet-2\d{13}/);
    expect(await parametersOf(name)).toEqual({ message: "hello there" });

    await accepted(`POST {base_url}/api/v1/events/argo/named
      Authorization: <ACCESS_TOKEN>
      X-Sender: a robot

      { "id": "7", "team": "shop" }`);
    await appears("greeting-of-7");
    expect((await get("greeting-of-7")).metadata).toMatchObject({
      labels: { team: "shop", kind: "greeting" },
      annotations: { about: "from shop", "example.com/sent-by": "a robot" },
    });

    await accepted(
      `POST {base_url}/api/v1/events/argo/all
      Authorization: <ACCESS_TOKEN>
      Content-Type: application/x-www-form-urlencoded
      x-kind: greeting

      { "message": "to all" }`,
      { token: sender.token },
    );
    const [ofCluster = ""] = await appears("greet-all-");
    expect(await parametersOf(ofCluster)).toEqual({ message: "to all", from: "the binding" });
    await isWorkedOff();
    // The sender's token has no access to the template of the other binding.
    expect(await named("not-for-all-")).toHaveLength(hasTokens ? 0 : 1);
    await accepted(`POST {base_url}/api/v1/events/elsewhere/
      Authorization: <ACCESS_TOKEN>
      X-Kind: greeting

      { "message": "to another namespace" }`);
    await isWorkedOff();
    expect((await named("greet-")).filter((one) => !one.startsWith("greet-all"))).toEqual([name]);
  });

  test("any JSON is accepted, and harms no binding that asks first (2, 6)", async () => {
    const before = await named("greet");
    const bodies = [
      "null",
      "[1, 2]",
      '"text"',
      "42",
      "true",
      "{}",
      '{ "message": null }',
      '{"a": {}}',
    ];
    for (const body of bodies) {
      await accepted(`POST {base_url}/api/v1/events/argo/
        Authorization: <ACCESS_TOKEN>
        X-Kind: greeting

        ${body}`);
    }
    await isWorkedOff();
    expect(await named("greet")).toEqual(before);
    const { items } = await accepted(
      `GET {base_url}/api/v1/event-deliveries/argo?limit=${bodies.length}
      Authorization: Bearer <ACCESS_TOKEN>`,
    );
    expect(items.map(({ state }: { state: string }) => state)).toEqual(bodies.map(() => "done"));
    const refused = await typed(`POST {base_url}/api/v1/events/argo/
      Authorization: <ACCESS_TOKEN>

      { no JSON`);
    expect(refused.status).toBe(400);
  });

  test("what goes wrong after that is logged, and not told to the sender (6, 7)", async () => {
    const before = await named("");
    const send = (discriminator: string, body: string) =>
      accepted(`POST {base_url}/api/v1/events/argo/${discriminator}
        Authorization: <ACCESS_TOKEN>
        X-Sender: a robot

        ${body}`);
    const isLogged = (binding: string, words: RegExp) =>
      expect.poll(
        () =>
          replicas.flatMap(({ log }) => log)
            .filter((line) => line.includes(`"${binding}"`) && /not dispatched/.test(line)),
        ONE_MINUTE,
      ).toContainEqual(expect.stringMatching(words));
    expect(await send("odd", '{ "message": "no boolean" }')).toEqual({});
    await isLogged("no-boolean", /bool/);
    await isLogged("no-guard", /cannot fetch state from <nil>/);
    await isLogged("no-name", /Not a Name/);
    await isLogged("no-text", /string/);
    expect(await send("not-there", "{}")).toEqual({});
    await isLogged("not-there", /"?nobody-made-it\\*"? not found/);
    expect(await send("named", '{ "id": "7", "team": "shop" }')).toEqual({});
    await isLogged("named", /greeting-of-7\\*"? already exists/);
    expect(await named("")).toEqual(before);
  });

  test("a selector that is no expression is refused where it is stored", async () => {
    const refused = await typed(`POST {base_url}/api/v1/workflow-event-bindings/argo
      Authorization: Bearer <ACCESS_TOKEN>

      { "binding": { "metadata": { "name": "malformed" }, "spec": {
        "event": { "selector": "payload.message ==" },
        "submit": { "workflowTemplateRef": { "name": "greet" } } } } }`);
    expect(refused).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("spec.event.selector is not a valid expression") },
    });
  });

  test.runIf(hasTokens)("without a token nothing is done (5)", async () => {
    const event = await typed(`POST {base_url}/api/v1/events/argo/
      X-Kind: greeting

      { "message": "from nobody" }`);
    expect(event).toMatchObject({
      status: 403,
      body: { code: 7, message: expect.stringMatching(/token/i) },
    });
    const stranger = await typed(
      `POST {base_url}/api/v1/events/argo/
      Authorization: <ACCESS_TOKEN>

      {}`,
      { token: "of-nobody" },
    );
    expect(stranger.status).toBe(401);
    for (const verb of ["resume", "stop"]) {
      const bare = await typed(`PUT {base_url}/api/v1/workflows/argo/any/${verb}

        { "namespace": "argo", "name": "any" }`);
      expect(bare.status).toBe(401);
      const forbidden = await typed(
        `PUT {base_url}/api/v1/workflows/argo/any/${verb}
        Authorization: Bearer <ACCESS_TOKEN>

        { "namespace": "argo", "name": "any" }`,
        { token: sender.token },
      );
      expect(forbidden.status).toBe(403);
    }
  });

  test("a full queue answers 503, by default behind 64 events (6, 7, 8)", async () => {
    const send = async (url: string, count: number) => {
      const text = `POST {base_url}/api/v1/events/argo/
        Authorization: <ACCESS_TOKEN>

        {}`;
      const told = await Promise.all(
        Array.from({ length: count }, () => typed(text, { url })),
      );
      expect(Math.max(...told.map(({ ms }) => ms))).toBeLessThan(10_000);
      return told.map(({ status }) => status).sort();
    };
    const small = await start("full", "--event-operation-queue-size=3", "--event-worker-count=0");
    expect(await send(small.url, 5)).toEqual([200, 200, 200, 503, 503]);
    await small.stop();
    const usual = await start("full", "--event-worker-count=0");
    expect((await send(usual.url, 63)).filter((status) => status === 200)).toHaveLength(61);
    await usual.stop();
    const working = await start("full", "--event-worker-count=2");
    await expect.poll(() => send(working.url, 1), ONE_MINUTE).toEqual([200]);
    await working.stop();
  });

  test("no accepted event is lost with a server (6)", async () => {
    const [first] = replicas;
    const count = 20;
    for (let n = 0; n < count; n++) {
      await accepted(
        `POST {base_url}/api/v1/events/argo/named
        Authorization: <ACCESS_TOKEN>
        X-Sender: a robot

        { "id": "late-${n}", "team": "shop" }`,
        first === undefined ? {} : { url: first.url },
      );
    }
    await first?.kill();
    replicas.shift();
    if (replicas.length === 0) await start("a");
    await appears("greeting-of-late-", count);
  });
});
