import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json.ts";
import { shell, taskSpec } from "../../../test/support/task_spec.ts";
import type { ImageCommand } from "./image_config.ts";
import { imagesWithoutCommand, needsWrapper } from "./needs_wrapper.ts";
import { podFor } from "./pod.ts";
import type { PodOptions } from "./pod_parts.ts";
import { applyPodPatch } from "./pod_patch.ts";
import { taskToken } from "./task_tokens.ts";

const options: PodOptions = {
  instance: "one",
  labelPrefix: "workflows.argoproj.io/",
  helperImage: "sluice:1",
  callbackUrl: "http://sluice.ns:2746/base",
  secret: "secret",
  now: 1_000_000,
};

interface MadePod extends JsonObject {
  metadata: JsonObject & { labels: JsonObject; annotations: Record<string, string> };
  spec: JsonObject & {
    containers: JsonObject[];
    initContainers: JsonObject[];
    volumes: JsonObject[];
  };
}

function pod(...args: Parameters<typeof taskSpec>): MadePod {
  return podFor(taskSpec(...args), options) as MadePod;
}

function variables(container: JsonObject | undefined): Record<string, unknown> {
  const list = container?.["env"] as { name: string; value: string }[];
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

test("a container finds the context of its trace, unless its manifest says another one", () => {
  const context = { traceparent: "00-1-2-01", tracestate: "a=b" };
  const made = podFor({ ...taskSpec("a", shell("true")), ...context }, options) as MadePod;
  expect(variables(made.spec.containers[0])).toMatchObject({
    TRACEPARENT: "00-1-2-01",
    TRACESTATE: "a=b",
  });
  const own = shell("true");
  Object.assign(own.container ?? {}, { env: [{ name: "TRACEPARENT", value: "mine" }] });
  const other = podFor({ ...taskSpec("a", own), ...context }, options) as MadePod;
  expect(variables(other.spec.containers[0])["TRACEPARENT"]).toBe("mine");
  expect(variables(pod("a", shell("true")).spec.containers[0])).not.toHaveProperty("TRACEPARENT");
});

test("a task that wants nothing but its end is one plain container", () => {
  const task = taskSpec("a", shell("true"));
  expect(needsWrapper(task, options.labelPrefix)).toBe(false);
  const made = pod(
    "a",
    shell("true", { metadata: { labels: { l: "1" }, annotations: { x: "y" } } }),
  );
  expect(made.metadata).toMatchObject({
    name: "wf-a",
    namespace: "default",
    labels: {
      l: "1",
      "workflows.argoproj.io/workflow": "wf",
      "workflows.argoproj.io/completed": "false",
      "sluice.dev/instance": "one",
      "sluice.dev/workflow-uid": "uid-1",
    },
    annotations: {
      x: "y",
      "workflows.argoproj.io/node-id": "a",
      "workflows.argoproj.io/node-name": "wf.a",
      "sluice.dev/task": "uid-1/a/1",
    },
  });
  expect(made.spec.initContainers).toBeUndefined();
  expect(made.spec.volumes).toBeUndefined();
  expect(made.spec.containers).toEqual([
    expect.objectContaining({
      name: "main",
      image: "localhost/box:1",
      command: ["/bin/sh", "-c", "true"],
    }),
  ]);
  expect(made.spec["restartPolicy"]).toBe("Never");
});

test("a task with outputs is wrapped, and told how to call back", () => {
  const outputs = {
    parameters: [{ name: "s", value: "x" }, { name: "o", valueFrom: { path: "/tmp/o" } }],
    artifacts: [{ name: "a", path: "/tmp/a" }],
  };
  const made = pod("a", shell("true", { outputs }), { includeResult: true });
  const [main] = made.spec.containers;
  expect(main).toMatchObject({
    command: ["/var/run/argo/busybox", "sh", "/argo/staging/run"],
    args: ["/bin/sh", "-c", "true"],
  });
  expect(variables(main)).toMatchObject({
    SLUICE_NAME: "main",
    SLUICE_KEEP_STDOUT: "1",
    SLUICE_FILES: "1\t/tmp/o",
    SLUICE_ARTIFACTS: "0\t/tmp/a",
    SLUICE_HOST: "sluice.ns",
    SLUICE_PORT: "2746",
    SLUICE_PATH: "/base/api/v1/tasks/default/wf-a",
    SLUICE_TASK: "uid-1/a/1",
    SLUICE_TOKEN: taskToken("secret", "uid-1/a/1"),
    ARGO_NODE_ID: "a",
  });
  expect(made.spec.initContainers.map((container) => container["name"])).toEqual(["sluice-init"]);
  expect(made.spec.volumes.map((volume) => volume["name"])).toEqual([
    "var-run-argo",
    "argo-staging",
  ]);
});

test("a pod whose workflow names no service account gets that of the settings", () => {
  const accountOf = (template: object, serviceAccount?: string) => {
    const task = taskSpec("a", { ...shell("true"), ...template });
    const made = podFor(task, { ...options, ...(serviceAccount && { serviceAccount }) });
    return (made["spec"] as JsonObject)["serviceAccountName"];
  };
  expect(accountOf({})).toBeUndefined();
  expect(accountOf({}, "given")).toBe("given");
  expect(accountOf({ serviceAccountName: "own" }, "given")).toBe("own");
});

test("everything a template may set reaches the pod; the template wins over the workflow", () => {
  const made = pod("a", {
    container: {
      ...shell("true").container,
      volumeMounts: ["v", "w", "claim"].map((name) => ({ name, mountPath: `/${name}` })),
    },
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "t" }],
    serviceAccountName: "own",
    priorityClassName: "high",
    sidecars: [{ name: "side", image: "s", mirrorVolumeMounts: true }],
    initContainers: [{ name: "init", image: "i" }],
    volumes: [{ name: "v", emptyDir: {} }],
  }, {
    deadline: 1_000_000 + 61_500,
    avoidHosts: ["bad"],
    podSpec: {
      nodeSelector: { disk: "hdd" },
      serviceAccountName: "other",
      imagePullSecrets: [{ name: "pull" }],
      hostNetwork: true,
      podPriority: 7,
      affinity: { podAffinity: { x: 1 } },
      securityContext: { runAsNonRoot: true },
      podMetadata: { labels: { team: "a" } },
      volumes: [{ name: "v", hostPath: { path: "/" } }, { name: "w", emptyDir: {} }],
      volumeClaimTemplates: [{ metadata: { name: "claim" } }],
    },
  });
  expect(made.spec).toMatchObject({
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "t" }],
    serviceAccountName: "own",
    priorityClassName: "high",
    priority: 7,
    imagePullSecrets: [{ name: "pull" }],
    hostNetwork: true,
    securityContext: { runAsNonRoot: true },
    activeDeadlineSeconds: 62,
    initContainers: [{ name: "init" }],
    containers: [{ name: "main" }, { name: "side" }],
    volumes: [
      { name: "v", emptyDir: {} },
      { name: "w" },
      { name: "claim", persistentVolumeClaim: { claimName: "wf-claim" } },
    ],
    affinity: {
      podAffinity: { x: 1 },
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{
            matchExpressions: [{
              key: "kubernetes.io/hostname",
              operator: "NotIn",
              values: ["bad"],
            }],
          }],
        },
      },
    },
  });
  expect(made.metadata.labels["team"]).toBe("a");
});

test("empty settings of a template do not hide those of the workflow, and host aliases add up", () => {
  const all = { ip: "10.0.0.1", hostnames: ["all"] };
  const own = { ip: "10.0.0.2", hostnames: ["own"] };
  const made = pod("a", {
    ...shell("true"),
    nodeSelector: {},
    tolerations: [],
    hostAliases: [own],
  }, { podSpec: { nodeSelector: { a: "b" }, tolerations: [{ key: "t" }], hostAliases: [all] } });
  expect(made.spec).toMatchObject({
    nodeSelector: { a: "b" },
    tolerations: [{ key: "t" }],
    hostAliases: [all, own],
  });
});

test("a pod gets only those volumes of the workflow that it mounts", () => {
  const volume = (name: string) => ({ name, emptyDir: {} });
  const mounts = (name: string) => ({ volumeMounts: [{ name, mountPath: `/${name}` }] });
  const podSpec = {
    volumes: ["main", "side", "patched", "unused"].map(volume),
    volumeClaimTemplates: [{ metadata: { name: "claim" } }],
  };
  const patch = { containers: [{ name: "main", ...mounts("patched") }] };
  const made = pod("a", {
    container: { ...shell("true").container, ...mounts("main") },
    sidecars: [{ name: "side", image: "s", ...mounts("side") }],
    volumes: [volume("own")],
    podSpecPatch: JSON.stringify(patch),
  }, { podSpec });
  expect(made.spec.volumes.map(({ name }) => name)).toEqual(["own", "main", "side", "patched"]);
  expect(pod("a", shell("true"), { podSpec }).spec.volumes).toBeUndefined();
});

test("a script and input artifacts become files", () => {
  const made = pod("a", {
    script: {
      image: "python",
      command: ["python3"],
      source: "print(1)",
      volumeMounts: [{ name: "v", mountPath: "/data" }],
    },
    volumes: [{ name: "v", emptyDir: {} }],
    inputs: {
      artifacts: [
        { name: "in", path: "/in/file", s3: { key: "k" } },
        { name: "vol", path: "/data/sub/x", optional: true, s3: { key: "k" } },
        { name: "passed", s3: { key: "k" } },
      ],
    },
  });
  const [main] = made.spec.containers;
  expect(main?.["args"]).toEqual(["python3", "/argo/staging/script"]);
  expect(made.metadata.annotations["sluice.dev/script"]).toBe("print(1)");
  expect(main?.["volumeMounts"]).toContainEqual({
    name: "input-artifacts",
    mountPath: "/in/file",
    subPath: "in",
  });
  const [helper] = made.spec.initContainers;
  expect(variables(helper)["SLUICE_INPUTS"]).toBe(
    "0\t/argo/inputs/artifacts\tfalse\tin\n1\t/mainctrfs/data/sub\ttrue\tvol",
  );
  expect(helper?.["volumeMounts"]).toContainEqual({ name: "v", mountPath: "/mainctrfs/data" });
  const facts = JSON.parse(made.metadata.annotations["sluice.dev/outputs"] ?? "");
  expect(facts.inputs.map((input: { path: string }) => input.path)).toEqual(["in", "x", "passed"]);
});

test("containers of a set wait for each other", () => {
  const made = pod("a", {
    containerSet: {
      retryStrategy: { retries: "2", duration: "1500ms" },
      containers: [
        { name: "one", image: "i", command: ["a"] },
        { name: "main", image: "i", command: ["b"], dependencies: ["one"] },
      ],
    },
  }, { includeResult: true });
  const [one, main] = made.spec.containers;
  expect(variables(one)).toMatchObject({ SLUICE_RETRIES: "2", SLUICE_RETRY_WAIT: "1.5" });
  expect(variables(one)["SLUICE_KEEP_STDOUT"]).toBeUndefined();
  expect(variables(main)).toMatchObject({ SLUICE_AFTER: "one", SLUICE_KEEP_STDOUT: "1" });
  expect(main?.["dependencies"]).toBeUndefined();
});

test("podSpecPatch changes what it names, workflow first, then template", () => {
  const made = pod("a", {
    ...shell("true"),
    podSpecPatch: '{"containers":[{"name":"main","resources":{"limits":{"cpu":"2"}}}]}',
  }, {
    podSpec: {
      podSpecPatch:
        "terminationGracePeriodSeconds: 5\ncontainers:\n- name: main\n  env: [{name: A, value: b}]\n  resources: {limits: {cpu: '1'}}\n- name: more\n  image: m\n",
    },
  });
  expect(made.spec["terminationGracePeriodSeconds"]).toBe(5);
  expect(made.spec.containers.map(({ name }) => name)).toEqual(["main", "more"]);
  expect(made.spec.containers[0]?.["resources"]).toEqual({ limits: { cpu: "2" } });
  expect(variables(made.spec.containers[0])).toMatchObject({ A: "b", ARGO_NODE_ID: "a" });
  expect(() => pod("a", { ...shell("true"), podSpecPatch: "just text" })).toThrow(
    "podSpecPatch is not an object",
  );
});

test("a wrapped container without a command runs its image's own, and is refused when that has none", () => {
  const own = { image: "i", args: [] as string[] };
  const task = taskSpec("own", { container: own }, { includeResult: true });
  expect(imagesWithoutCommand(task, options.labelPrefix)).toEqual(["i"]);
  const made = (command: ImageCommand, args: string[] = []) => {
    const template = { container: { ...own, args } };
    const pod = podFor({ ...task, template }, { ...options, commands: new Map([["i", command]]) });
    return (pod["spec"] as { containers: { args: string[] }[] }).containers[0]?.args;
  };
  expect(made({ entrypoint: ["/e"], cmd: ["c"] })).toEqual(["/e", "c"]);
  expect(made({ entrypoint: ["/e"], cmd: ["c"] }, ["a"])).toEqual(["/e", "a"]);
  expect(made({ entrypoint: [], cmd: ["/c"] })).toEqual(["/c"]);
  expect(() => made({ entrypoint: [], cmd: [] })).toThrow('image "i" has none of its own');
  expect(imagesWithoutCommand({ ...task, includeResult: false }, options.labelPrefix)).toEqual([]);
});

test("labels and annotations of a template win over those of the workflow for all its pods", () => {
  const metadata = { labels: { a: "t", c: "t" }, annotations: { x: "t" } };
  const task = taskSpec("a", shell("true", { metadata }));
  const podMetadata = { labels: { a: "w", b: "w" }, annotations: { x: "w", y: "w" } };
  const made = podFor({ ...task, podSpec: { ...task.podSpec, podMetadata } }, options) as MadePod;
  expect(made.metadata.labels).toMatchObject({ a: "t", b: "w", c: "t" });
  expect(made.metadata.annotations).toMatchObject({ x: "t", y: "w" });
});

test("containers that mirror the mounts of the main one have its input artifacts", () => {
  const other = (name: string, mirrorVolumeMounts: boolean) => ({
    name,
    image: "s",
    mirrorVolumeMounts,
  });
  const { initContainers, containers } = pod("a", {
    ...shell("true"),
    inputs: { artifacts: [{ name: "i", path: "/in/i", raw: { data: "x" } }] },
    initContainers: [other("pre", true), other("none", false)],
    sidecars: [{ ...other("side", true), command: ["serve"] }, other("own", true)],
  }).spec;
  const input = { name: "input-artifacts", mountPath: "/in/i", subPath: "i" };
  const having = [...initContainers, ...containers].filter(({ volumeMounts = [] }) =>
    (volumeMounts as object[]).some((mount) => "subPath" in mount)
  );
  expect(having.map(({ name }) => name)).toEqual(["pre", "main", "side", "own"]);
  for (const { volumeMounts } of having) expect(volumeMounts).toContainEqual(input);
});

test("sidecars stand beside the main container, and end with it if both commands are known", () => {
  const made = pod("a", {
    ...shell("true"),
    sidecars: [
      {
        name: "side",
        image: "s",
        command: ["serve"],
        args: ["-x"],
        mirrorVolumeMounts: true,
        restartPolicy: "Always",
      },
      { name: "own", image: "s" },
    ],
  });
  expect(made.spec.initContainers.map(({ name }) => name)).toEqual(["sluice-init"]);
  const [main, side, own] = made.spec.containers;
  expect(side).toMatchObject({
    command: ["/var/run/argo/busybox", "sh", "/argo/staging/sidecar"],
    args: ["side", "", "main", "serve", "-x"],
  });
  expect(side?.["mirrorVolumeMounts"]).toBeUndefined();
  // The cluster refuses the member there, and what native sidecars do is done for each.
  expect(side?.["restartPolicy"]).toBeUndefined();
  expect(own?.["name"]).toBe("own");
  expect(own?.["command"]).toBeUndefined();
  expect(main?.["args"]).toEqual(["/bin/sh", "-c", "true"]);
  const plain = pod("a", {
    container: { image: "i" },
    sidecars: [{ name: "side", image: "s", command: ["serve"] }],
  });
  expect(plain.spec.containers[0]?.["command"]).toBeUndefined();
  expect(plain.spec.containers[1]?.["args"]).toEqual(["side", "", "", "serve"]);
});

test("podSpecPatch is for the pod of the reference: commands before they are wrapped, sidecars, init and wait", () => {
  const patch = {
    containers: [
      { name: "main", image: "other", args: ["patched"] },
      { name: "side", env: [{ name: "A", value: "b" }] },
      { name: "wait", resources: { limits: { memory: "1Gi" } } },
    ],
    initContainers: [{ name: "init", resources: { limits: { memory: "2Gi" } } }],
  };
  const template = {
    container: { image: "i", command: ["run"], args: ["x"] },
    sidecars: [{ name: "side", image: "s" }],
    podSpecPatch: JSON.stringify(patch),
  };
  const made = pod("a", template, { includeResult: true });
  expect(made.spec.containers.map(({ name }) => name)).toEqual(["main", "side"]);
  expect(made.spec.containers[0]).toMatchObject({ image: "other", args: ["run", "patched"] });
  expect(made.spec.containers[0]?.["command"]).toContain("/var/run/argo/busybox");
  const [helper, ...others] = made.spec.initContainers;
  expect(others).toEqual([]);
  expect(helper).toMatchObject({
    name: "sluice-init",
    image: "sluice:1",
    resources: { limits: { memory: "2Gi" } },
  });
  expect(variables(made.spec.containers[1])["A"]).toBe("b");
  const bare = { ...template, container: { image: "i" } };
  const task = taskSpec("a", bare, { includeResult: true });
  expect(imagesWithoutCommand(task, options.labelPrefix)).toEqual(["other"]);
});

test.each([
  [
    "a list is merged by what tells its entries apart, whatever their names are",
    { containers: [{ name: "main", volumeMounts: [{ name: "v", mountPath: "/b" }] }] },
    (spec: JsonObject) => mainOf(spec)["volumeMounts"],
    [{ name: "v", mountPath: "/a" }, { name: "v", mountPath: "/b" }],
  ],
  [
    "ports by their number",
    { containers: [{ name: "main", ports: [{ containerPort: 80, name: "web" }] }] },
    (spec: JsonObject) => mainOf(spec)["ports"],
    [{ containerPort: 80, name: "web" }],
  ],
  [
    "tolerations are replaced",
    { tolerations: [{ key: "b" }] },
    (spec: JsonObject) => spec["tolerations"],
    [{ key: "b" }],
  ],
  [
    "$patch: replace, for a list",
    { containers: [{ name: "main", env: [{ $patch: "replace" }, { name: "C", value: "3" }] }] },
    (spec: JsonObject) => mainOf(spec)["env"],
    [{ name: "C", value: "3" }],
  ],
  [
    "$patch: replace, for an object",
    { containers: [{ name: "main", resources: { $patch: "replace", limits: { cpu: "2" } } }] },
    (spec: JsonObject) => mainOf(spec)["resources"],
    { limits: { cpu: "2" } },
  ],
  [
    "$patch: delete",
    { containers: [{ name: "main", env: [{ name: "A", $patch: "delete" }] }] },
    (spec: JsonObject) => mainOf(spec)["env"],
    [],
  ],
  [
    "null removes a member",
    { nodeSelector: { x: null, z: "3" } },
    (spec: JsonObject) => spec["nodeSelector"],
    { y: "2", z: "3" },
  ],
])("podSpecPatch is a strategic merge patch: %s", (_what, patch, read, expected) => {
  const spec = {
    nodeSelector: { x: "1", y: "2" },
    tolerations: [{ key: "a" }],
    containers: [{
      name: "main",
      env: [{ name: "A", value: "1" }],
      ports: [{ containerPort: 80, name: "http" }],
      volumeMounts: [{ name: "v", mountPath: "/a" }],
      resources: { limits: { cpu: "1" }, requests: { cpu: "1" } },
    }],
  };
  expect(read(applyPodPatch(spec, JSON.stringify(patch)))).toEqual(expected);
});

test("a patch is read as YAML 1.1, and must be YAML", () => {
  expect(applyPodPatch({}, "a: 0644\nb: on\nc: e2\n")).toEqual({ a: 420, b: true, c: "e2" });
  expect(() => applyPodPatch({}, "a: [")).toThrow("podSpecPatch is not JSON or YAML");
  expect(applyPodPatch({}, "a:\n  b: 'c\n  d'\n")).toEqual({ a: { b: "c d" } });
});

function mainOf(spec: JsonObject): JsonObject {
  return (spec["containers"] as JsonObject[])[0] ?? {};
}

test("the helper asks for no more than the main container", () => {
  const helperOf = (resources?: JsonObject) => {
    const container = { ...shell("true").container, ...(resources && { resources }) };
    return pod("a", { container }, { includeResult: true }).spec.initContainers[0]?.["resources"];
  };
  expect(helperOf()).toBeUndefined();
  expect(helperOf({ requests: { cpu: "1", "nvidia.com/gpu": 1 }, limits: { memory: "64Mi" } }))
    .toEqual({ requests: { cpu: "1" }, limits: { memory: "64Mi" } });
});
