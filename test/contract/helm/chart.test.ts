/**
 * The chart: it renders for a matrix of values into what Kubernetes accepts, and refuses values that would not work.
 * Needs no cluster.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseAccessRules } from "../../../src/auth/access_rules.ts";
import { parseConfig } from "../../../src/platform/config.ts";
import { serverSchema, serverSettings, VALUES_SCHEMA } from "../../../tools/chart_values.ts";
import { SERVER_COMMAND } from "../../../tools/image.ts";
import { findProgram } from "../../cluster/programs.ts";
import { createKubeCheck, KUBE_VERSIONS, type KubeCheck } from "../../support/kube_check.ts";

const CHART = "helm/sluice";
/** Without this, a helm that was built by hand assumes a very old cluster. */
const NEWEST = ["--kube-version", KUBE_VERSIONS.at(-1) ?? ""];

type Values = Record<string, unknown>;

/** Values of each case, and the kinds that it must add to those that are always there. */
const CASES: Record<string, { values: Values; kinds?: string[] }> = {
  "nothing": { values: {} },
  "external Redis": {
    values: { redis: { enabled: false, externalUrl: "rediss://:secret@redis.example:6380/0" } },
  },
  "Sentinel": {
    values: { redis: { enabled: false, externalUrl: "redis+sentinel://a:26379,b:26379/main" } },
  },
  "Redis Cluster": {
    values: { redis: { enabled: false, externalUrl: "redis+cluster://a:6379,b:6379" } },
  },
  "Redis by secret": { values: { redis: { enabled: false, externalSecret: "redis-url" } } },
  "Redis without a disk": {
    values: { redis: { appendfsync: "everysec", persistence: { enabled: false } } },
  },
  "Redis with a class": {
    values: { redis: { persistence: { storageClass: "fast", size: "1Gi", retain: false } } },
  },
  "Redis on nodes of its own": {
    values: {
      redis: {
        nodeSelector: { disk: "ssd" },
        tolerations: [{ key: "k", operator: "Exists" }],
        affinity: { nodeAffinity: {} },
        priorityClassName: "high",
      },
    },
  },
  "images of a registry": {
    values: {
      image: { repository: "[fd00::1]:5000/team/sluice", tag: "0.1.0-rc.1" },
      redis: {
        image: { repository: "Registry.example:5000/a/b", tag: `7.4@sha256:${"0".repeat(64)}` },
      },
    },
  },
  "no bounds of resources": { values: { resources: null, redis: { resources: null } } },
  "members without a value": {
    values: {
      server: null,
      workflowNamespaces: null,
      podLabels: null,
      redis: { password: null },
      auth: { mode: "server", allowWithoutAuth: true, allowedHosts: null },
      httpRoute: { enabled: true, parentRefs: [{ name: "gw" }], hostnames: null },
    },
    kinds: ["HTTPRoute"],
  },
  "ingress with TLS": {
    values: { ingress: { enabled: true, className: "nginx", host: "x.example", tlsSecret: "tls" } },
    kinds: ["Ingress"],
  },
  "ingress with TLS for all hosts": {
    values: { ingress: { enabled: true, tlsSecret: "tls" } },
    kinds: ["Ingress"],
  },
  "ingress for all hosts": { values: { ingress: { enabled: true } }, kinds: ["Ingress"] },
  "gateway": {
    values: {
      httpRoute: { enabled: true, parentRefs: [{ name: "gw" }], hostnames: ["x.example"] },
    },
    kinds: ["HTTPRoute"],
  },
  "autoscaling": {
    values: { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 9 } },
    kinds: ["HorizontalPodAutoscaler"],
  },
  "monitoring": {
    values: {
      metrics: {
        serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
        prometheusRule: { enabled: true, labels: { release: "prometheus" } },
        dashboard: { enabled: true },
      },
    },
    kinds: ["ServiceMonitor", "PrometheusRule"],
  },
  "monitoring with a token": {
    values: {
      metrics: {
        serviceMonitor: { enabled: true, tokenSecret: { name: "scrape", key: "token" } },
      },
    },
    kinds: ["ServiceMonitor"],
  },
  "single sign-on": {
    values: {
      auth: {
        mode: "sso",
        sso: { issuer: "https://id.example", audience: "sluice" },
        access: [{ groups: ["team"], namespaces: ["a"], resources: ["*"], verbs: ["get"] }],
      },
    },
    kinds: ["ConfigMap"],
  },
  "every way to authenticate": {
    values: {
      auth: {
        mode: "client,sso",
        sso: { issuer: "https://id.example", audience: "sluice", jwksUrl: "https://id.example/k" },
        accessConfigMap: "rules",
        tokensSecret: "tokens",
      },
    },
  },
  "login of people at an issuer": {
    values: {
      auth: {
        mode: "sso",
        sso: {
          issuer: "https://id.example",
          audience: "sluice",
          clientId: "pages",
          clientSecret: "sso-client",
          redirectUrl: "https://sluice.example/oauth2/callback",
        },
        accessConfigMap: "rules",
      },
    },
  },
  "no authentication, one replica": {
    values: {
      replicas: 1,
      allowSingleReplica: true,
      auth: { mode: "server", allowWithoutAuth: true },
    },
  },
  "all namespaces": { values: { workflowNamespaces: ["*"] } },
  "more namespaces, resource templates": {
    values: { workflowNamespaces: ["a", "b"], resourceTemplates: { enabled: true } },
  },
  "manifests of the cluster": {
    values: { manifestSource: "kubernetes", workflowNamespaces: ["a"] },
    kinds: ["CustomResourceDefinition"],
  },
  "manifests of a ConfigMap": { values: { manifestsConfigMap: "manifests" } },
  "several processes in a pod": {
    values: { processes: 4, resources: { limits: { memory: "4Gi" } } },
  },
  "as many processes as cores": { values: { processes: "auto" } },
  "callback URLs": {
    values: { callbacks: { publicUrl: "https://x.example/sluice", keysSecret: "callbacks" } },
  },
  "every setting of the server": {
    // Artifacts may be as large as its largest.
    values: {
      server: sampleSettings(),
      temporaryStorage: "1024Ti",
      // Some of its replicas confirm what is written.
      redis: { enabled: false, externalUrl: "redis+sentinel://a:26379,b:26379/main" },
    },
  },
  "closed network": {
    values: { networkPolicy: { from: [{ podSelector: { matchLabels: { app: "x" } } }] } },
    kinds: ["NetworkPolicy"],
  },
  "bare": {
    values: {
      executor: "none",
      auth: { tokensSecret: "tokens", accessConfigMap: "rules" },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      serviceAccount: { create: false, name: "own" },
      rbac: { create: false },
      workflowServiceAccount: { create: false },
    },
  },
  "everything of the pods": {
    values: {
      image: { repository: "registry.example/sluice", digest: `sha256:${"0".repeat(64)}` },
      imagePullSecrets: [{ name: "pull" }],
      podAnnotations: { a: "1" },
      podLabels: { b: "2" },
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "k", operator: "Exists" }],
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [{
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
      }],
      priorityClassName: "high",
      env: { DENO_CERT: "/etc/ca/ca.pem" },
      extraVolumes: [{ name: "ca", configMap: { name: "ca" } }],
      extraVolumeMounts: [{ name: "ca", mountPath: "/etc/ca", readOnly: true }],
      service: { type: "LoadBalancer", port: 80, annotations: { c: "3" } },
      artifactsSecret: "s3",
      archiveSecret: "pg",
      fullnameOverride: "a-very-long-name-that-somebody-chose-for-their-release",
    },
  },
};

/** Single sign-on with this besides, or instead. */
function login(sso: Record<string, string>): Values {
  return {
    auth: {
      mode: "sso",
      sso: { issuer: "https://id.example", audience: "sluice", ...sso },
      accessConfigMap: "rules",
    },
  };
}

/** Tokens of a file, with one rule. */
function rules(rule: Record<string, string[]>): Values {
  return { auth: { tokensSecret: "tokens", access: [rule] } };
}

/** A value for each setting that differs from its default, as large as possible. */
function sampleSettings(): Record<string, unknown> {
  return Object.fromEntries(
    serverSettings().map(([name, row]) => {
      if (row.type === "integer") return [name, row.max];
      if (row.type === "duration") return [name, `${row.max}ms`];
      if (row.type === "switch") return [name, !row.default];
      if (row.type === "choice") return [name, row.choices.find((one) => one !== row.default)];
      if (name === "webhookAllow") return [name, "10.0.0.0/8,hooks.internal"];
      if (row.type === "text") return [name, "pattern" in row ? "flows.example/" : "team=a"];
      throw new Error(`no sample of a ${row.type}`);
    }),
  );
}

interface Item {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

const helm = findProgram("helm");
const kubeconform = findProgram("kubeconform");
const folder = mkdtempSync(join(tmpdir(), "sluice-chart-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function title(text: string, ...programs: { missing?: string | undefined }[]): string {
  const missing = programs.find((program) => program.missing !== undefined)?.missing;
  return missing === undefined ? text : `${text} (skipped: ${missing})`;
}

function callHelm(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const path = helm.path ?? "";
  return spawnSync(path, args, { encoding: "utf8", maxBuffer: 1 << 26 });
}

function withValues(values: Values): string[] {
  const file = join(mkdtempSync(join(folder, "values-")), "values.json");
  writeFileSync(file, JSON.stringify(values));
  return ["-f", file];
}

const texts = new Map<string, string>();

function template(values: Values): string {
  const key = JSON.stringify(values);
  const known = texts.get(key);
  if (known !== undefined) return known;
  const namespace = "a-namespace-with-a-long-name";
  const args = ["template", "sluice", CHART, "-n", namespace, ...NEWEST, ...withValues(values)];
  const { status, stdout, stderr } = callHelm(...args);
  if (status !== 0) throw new Error(stderr);
  texts.set(key, stdout);
  return stdout;
}

function render(values: Values): Item[] {
  return parseAllDocuments(template(values)).map((document) => document.toJS() as Item | null)
    .filter((item) => item !== null);
}

const one = (items: Item[], kind: string, name = "") =>
  items.find((item) => item.kind === kind && item.metadata.name.endsWith(name)) as Item;

describe.skipIf(helm.missing !== undefined)(title("chart", helm), () => {
  test("lints without a warning", () => {
    for (
      const { values } of [
        CASES["nothing"],
        CASES["monitoring"],
        CASES["bare"],
      ] as typeof CASES[string][]
    ) {
      const { status, stdout, stderr } = callHelm(
        "lint",
        "--strict",
        CHART,
        ...NEWEST,
        ...withValues(values),
      );
      expect(stdout + stderr).toContain("0 chart(s) failed");
      expect(status).toBe(0);
    }
  });

  test.each(Object.entries(CASES))("renders: %s", (_name, { values, kinds = [] }) => {
    const items = render(values);
    const found = items.map(({ kind }) => kind);
    expect(found).toEqual(expect.arrayContaining(["Deployment", "Service", ...kinds]));
    // `helm test` runs a pod, with a token of the cluster.
    const { executor, auth = {} } = values as { executor?: string; auth?: { mode?: string } };
    expect(found.includes("Pod")).toBe(executor !== "none" && auth.mode !== "sso");
    const names = items.map(({ kind, metadata }) =>
      `${kind} ${metadata.namespace} ${metadata.name}`
    );
    expect(new Set(names).size).toBe(names.length);
    for (const { metadata } of items) expect(metadata.name.length).toBeLessThanOrEqual(253);
  });

  test.each<[string, Values, RegExp]>([
    [
      "one replica",
      { replicas: 1 },
      /replicas=1: with one replica .*set at least 2, or allowSingleReplica=true/,
    ],
    [
      "autoscaling down to one",
      { autoscaling: { enabled: true, minReplicas: 1 } },
      /autoscaling\.minReplicas=1: .*set at least 2/,
    ],
    [
      "a setting of the server as a variable, which would be there twice",
      { env: { SLUICE_LOG_LEVEL: "debug" } },
      /env can't have SLUICE_LOG_LEVEL: settings of the server have values of their own/,
    ],
    ["no authentication", { auth: { mode: "server" } }, /auth.allowWithoutAuth=true/],
    ["single sign-on without an issuer", { auth: { mode: "sso" } }, /needs auth.sso.issuer/],
    [
      "single sign-on without rules",
      { auth: { mode: "sso", sso: { issuer: "https://id.example", audience: "sluice" } } },
      /need rules in auth.access/,
    ],
    ["tokens without rules", { auth: { tokensSecret: "tokens" } }, /need rules in auth.access/],
    ["nobody to ask about tokens", { executor: "none" }, /needs auth.tokensSecret/],
    [
      "two sources of manifests",
      { manifestSource: "kubernetes", manifestsConfigMap: "m" },
      /manifestsConfigMap is for manifestSource=store/,
    ],
    ["a setting that isn't one", { server: { shard: 3 } }, /shard.* not allowed/i],
    ["a setting out of its bounds", { server: { shards: 5_000 } }, /shards/],
    ["a duration without a unit", { server: { leaseTtl: "3" } }, /leaseTtl/],
    ["a setting that has its own value", { server: { store: "memory:" } }, /store.* not allowed/i],
    [
      "a password with signs",
      { redis: { password: "p@ss/w#rd" } },
      /choose one of letters, digits/,
    ],
    ["a route without a gateway", { httpRoute: { enabled: true } }, /needs httpRoute.parentRefs/],
    ["more workers than there can be", { eventWorkerCount: 1_001 }, /eventWorkerCount/],
    ["no store", { redis: { enabled: false } }, /needs redis.externalUrl or redis.externalSecret/],
    [
      "a Redis besides its own",
      { redis: { externalUrl: "redis://h" } },
      /need redis.enabled=false/,
    ],
    [
      "two addresses of Redis",
      { redis: { enabled: false, externalUrl: "redis://h", externalSecret: "s" } },
      /choose one/,
    ],
    ["another store", { redis: { enabled: false, externalUrl: "http://h" } }, /externalUrl/],
    ["keys that change within a day", { callbacks: { keyRotation: "1h" } }, /keyRotation/],
    [
      "a rotation of keys that it doesn't make",
      { callbacks: { keyRotation: "90d", keysSecret: "keys" } },
      /keyRotation is for keys in the store/,
    ],
    ["a value that isn't one", { replica: 3 }, /replica.* not allowed/i],
    ["a value of a wrong type", { replicas: "2" }, /replicas/],
    ["no process", { processes: 0 }, /processes/],
    ["a word for a number of processes", { processes: "some" }, /processes/],
    [
      "single sign-on that the mode leaves out",
      { auth: { sso: { clientId: "pages" } } },
      /auth\.sso\.clientId is for auth\.mode=sso/,
    ],
    ["a login without a way back", login({ clientId: "pages" }), /both auth\.sso\.clientId and/],
    [
      "a way back to another page",
      login({ clientId: "pages", redirectUrl: "https://sluice.example/" }),
      /redirectUrl/,
    ],
    ["a secret of no client", login({ clientSecret: "s" }), /needs auth\.sso\.clientId/],
    [
      "an issuer that is not an address",
      login({ issuer: "id.example" }),
      /auth\.sso\.issuer=id\.example is not an address/,
    ],
    [
      "a scrape without a token that counts",
      { ...login({}), metrics: { serviceMonitor: { enabled: true } } },
      /needs metrics\.serviceMonitor\.tokenSecret/,
    ],
    [
      "half of a token's place",
      { metrics: { serviceMonitor: { enabled: true, tokenSecret: { name: "scrape" } } } },
      /tokenSecret/,
    ],
    [
      "fewer replicas at most than at least",
      { autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 } },
      /autoscaling\.maxReplicas=3 is less than autoscaling\.minReplicas=4/,
    ],
    [
      "an autoscaler that has nothing to compare with",
      { autoscaling: { enabled: true }, resources: { requests: { cpu: null } } },
      /autoscaling\.enabled=true needs resources\.requests\.cpu/,
    ],
    [
      "labels by which the chart finds its pods",
      { podLabels: { "app.kubernetes.io/name": "x" } },
      /podLabels can't have app\.kubernetes\.io\/name/,
    ],
    [
      "less memory than the heap",
      { resources: { limits: { memory: "512Mi" } } },
      /limits\.memory=512Mi is less than the heap that processes=1 may use \(704Mi\)/,
    ],
    [
      "less memory than the heaps",
      { processes: 4, resources: { limits: { memory: 2e9 } } },
      /is less than the heap that processes=4 may use \(2816Mi\)/,
    ],
    ["an amount that is none", { resources: { limits: { memory: "1GB" } } }, /memory/],
    ["a kind of resources that is none", { resources: { limit: {} } }, /limit.* not allowed/i],
    [
      "a password for another Redis",
      { redis: { enabled: false, externalUrl: "redis://h", password: "p" } },
      /redis\.password is for redis\.enabled=true/,
    ],
    ["a host with a scheme", { ingress: { enabled: true, host: "https://x.example" } }, /host/],
    ["a name that is none", { fullnameOverride: "Foo_Bar" }, /fullnameOverride/],
    ["a name that YAML reads as a boolean", { fullnameOverride: "on" }, /fullnameOverride/],
    [
      "an account that YAML reads as a boolean",
      { serviceAccount: { name: "y" } },
      /serviceAccount/,
    ],
    ["an account of pods that YAML reads as nothing", {
      workflowServiceAccount: { name: "null" },
    }, /workflowServiceAccount/],
    ["a namespace that is none", { workflowNamespaces: ["a,b"] }, /workflowNamespaces/],
    ["a workflow account without a name", { workflowServiceAccount: { name: "" } }, /name/],
    ["a label that is no text", { podLabels: { a: 1 } }, /podLabels/],
    ["a variable that can't be one", { env: { "A B": "c" } }, /env/],
    ["a share that is none", { podDisruptionBudget: { maxUnavailable: "x" } }, /maxUnavailable/],
    ["more than all", { podDisruptionBudget: { maxUnavailable: "150%" } }, /maxUnavailable/],
    ["an image with its tag", { image: { repository: "registry.example/sluice:1" } }, /repository/],
    ["a tag that is none", { image: { tag: "team/1" } }, /image[.\/]tag/],
    ["a Redis without a tag", { redis: { image: { tag: "" } } }, /redis[.\/]image[.\/]tag/],
    ["an account that can't be one", { serviceAccount: { name: "Bad_Name" } }, /serviceAccount/],
    ["a disk of a few bytes", { temporaryStorage: "1000" }, /temporaryStorage/],
    [
      "artifacts larger than the disk",
      { temporaryStorage: "4Gi", server: { maxArtifactBytes: 2 ** 33 } },
      /maxArtifactBytes=8589934592 is more than temporaryStorage=4Gi/,
    ],
    ["a Secret that can't be one", { archiveSecret: "Bad_Name" }, /archiveSecret/],
    ["a ConfigMap that can't be one", { manifestsConfigMap: "a/b" }, /manifestsConfigMap/],
    [
      "a rule about nobody",
      rules({ namespaces: ["*"], resources: ["*"], verbs: ["*"] }),
      /access[.\/]0[\s\S]*subjects/,
    ],
    [
      "a rule without resources, at which the server would not start",
      rules({ groups: ["a"], namespaces: ["*"], verbs: ["*"] }),
      /access[.\/]0[\s\S]*resources/,
    ],
    [
      "a rule of no verbs",
      rules({ groups: ["a"], namespaces: ["*"], resources: ["*"], verbs: [] }),
      /access[.\/]0[.\/]verbs/,
    ],
    ["an unknown fsync", { redis: { appendfsync: "no" } }, /appendfsync/],
    [
      "replicas that confirm, where Redis has none",
      { server: { redisWait: 1 } },
      /server\.redisWait=1 needs replicas of Redis, and the release's own Redis has none/,
    ],
    ["a group that is no domain", { apiGroup: "a..b" }, /apiGroup/],
  ])("refuses %s with one clear line", (_name, values, message) => {
    expect(() => template(values)).toThrow(message);
  });

  test("a changed password restarts Redis, which reads it at its start", () => {
    const annotations = (password?: string) => {
      const redis = password === undefined ? {} : { password };
      const { spec } = one(render({ redis }), "StatefulSet") as unknown as {
        spec: { template: { metadata: { annotations?: Record<string, string> } } };
      };
      return spec.template.metadata.annotations;
    };
    expect(annotations()).toBeUndefined();
    expect(annotations("one")).not.toEqual(annotations("two"));
    expect(annotations("one")).toEqual(annotations("one"));
  });

  test("names that look like numbers stay texts", () => {
    const { spec } = one(
      render({ artifactsSecret: "12", auth: { tokensSecret: "13", accessConfigMap: "14" } }),
      "Deployment",
    ) as unknown as { spec: { template: { spec: unknown } } };
    const text = JSON.stringify(spec.template.spec);
    expect(text).toContain('{"name":"12","key":"url"}');
    expect(text).toContain('{"secretName":"13"}');
    expect(text).toContain('{"name":"14"}');
    const items = render({
      ingress: { enabled: true, className: "15", tlsSecret: "16" },
      redis: { persistence: { storageClass: "17", size: "18" } },
      serviceAccount: { name: "19" },
      workflowServiceAccount: { name: "20" },
    });
    const all = JSON.stringify(items);
    for (const number of ["15", "16", "17", "18", "19", "20"]) {
      expect(all, number).toContain(`:"${number}"`);
      expect(all, number).not.toMatch(new RegExp(`:${number}[,}]`));
    }
  });

  test("every pod keeps to the restricted Pod Security Standard", () => {
    for (const { values } of Object.values(CASES)) {
      const pods = render(values).flatMap(({ kind, spec }) =>
        kind === "Pod"
          ? [spec]
          : ["Deployment", "StatefulSet"].includes(kind)
          ? [(spec?.["template"] as { spec: object }).spec]
          : []
      );
      expect(pods.length).toBeGreaterThan(1);
      for (const pod of pods) expect(breaches(pod as PodSpec)).toEqual([]);
    }
  });

  test("the server may do no more than it needs", () => {
    const rights = (items: Item[]) =>
      items.filter(({ kind, metadata }) => /Role$/.test(kind) && !metadata.name.endsWith("-test"))
        .flatMap(({ rules = [] }) => rules).flatMap(({ resources, verbs, resourceNames }) =>
          resources.map((resource) =>
            `${resource}${resourceNames === undefined ? "" : ` ${resourceNames}`}: ${
              verbs.join(" ")
            }`
          )
        ).sort();
    const usual = [
      "configmaps: get",
      "events: get list watch",
      "persistentvolumeclaims: create get patch delete",
      "pods/log: get",
      "pods: create get list watch delete patch",
      "secrets: get",
      "subjectaccessreviews: create",
      "tokenreviews: create",
    ];
    expect(rights(render({}))).toEqual(usual);
    expect(rights(render({ resourceTemplates: { enabled: true } }))).toEqual(
      [...usual, "serviceaccounts sluice-workflow: impersonate"].sort(),
    );
    const noPods = {
      executor: "none",
      auth: { tokensSecret: "tokens", accessConfigMap: "rules" },
    };
    expect(rights(render(noPods))).toEqual([]);
    const objects = rights(render({ ...noPods, manifestSource: "kubernetes" }));
    expect(objects).toEqual(expect.arrayContaining(["configmaps: get", "secrets: get"]));
    expect(objects.filter((right) => /pods|events|claims|reviews/.test(right))).toEqual([]);
    const kinds = (values: Values) =>
      render(values).filter(({ kind, metadata }) =>
        /Role$/.test(kind) && metadata.name.endsWith("-workflows")
      ).map(({ kind, metadata }) => `${kind} ${metadata.namespace}`);
    expect(kinds({ workflowNamespaces: ["a"] })).toEqual([
      "Role a-namespace-with-a-long-name",
      "Role a",
    ]);
    expect(kinds({ workflowNamespaces: ["*"] })).toEqual(["ClusterRole undefined"]);
  });

  test("the server may ask about tokens, and has one of its own, only where it uses that", () => {
    const all = { namespaces: ["*"], resources: ["*"], verbs: ["*"] };
    const sso = {
      mode: "sso",
      sso: { issuer: "https://id.example", audience: "sluice" },
      access: [{ groups: ["a"], ...all }],
    };
    const reviews = (values: Values) =>
      render(values).filter(({ metadata }) => !metadata.name.endsWith("-test"))
        .flatMap(({ rules = [] }) => rules).flatMap(({ resources }) => resources)
        .filter((resource) => /review/.test(resource));
    expect(reviews({})).toEqual(["tokenreviews", "subjectaccessreviews"]);
    expect(reviews({ auth: { ...sso, mode: "client,sso" } })).toHaveLength(2);
    expect(reviews({ auth: sso })).toEqual([]);
    expect(reviews({ auth: { mode: "server", allowWithoutAuth: true } })).toEqual([]);
    const hasToken = (values: Values) =>
      !JSON.stringify(one(render(values), "Deployment")).includes("automountServiceAccountToken");
    expect(hasToken({ auth: sso })).toBe(true);
    expect(hasToken({ auth: sso, executor: "none", manifestSource: "kubernetes" })).toBe(true);
    expect(hasToken({ auth: sso, executor: "none" })).toBe(false);
  });

  test("pods of each workflow namespace have their service account", () => {
    const accounts = (values: Values) =>
      render(values).filter(({ kind, metadata }) =>
        kind === "ServiceAccount" && metadata.name === "sluice-workflow"
      ).map(({ metadata }) => metadata.namespace);
    expect(accounts({ workflowNamespaces: ["a"] })).toEqual(["a-namespace-with-a-long-name", "a"]);
    expect(accounts({ workflowNamespaces: ["*"] })).toEqual(["a-namespace-with-a-long-name"]);
    expect(accounts({ workflowServiceAccount: { create: false } })).toEqual([]);
  });

  test("the pods of Redis can have the label that Kubernetes gives them, however long the name", () => {
    const items = render({ fullnameOverride: "x".repeat(60) });
    const { name } = one(items, "StatefulSet").metadata;
    expect(`${name}-${"f".repeat(10)}`.length).toBeLessThanOrEqual(63);
    expect(one(items, "Service", name).metadata.name).toBe(name);
    expect(environment({ fullnameOverride: "x".repeat(60) })["SLUICE_STORE"]).toContain(
      `@${name}:`,
    );
  });

  test.each(["9th", "a.b"])("refuses the release %s, whose name no Service can have", (release) => {
    const { stderr } = callHelm("template", release, CHART, ...NEWEST);
    expect(stderr).toContain(`"${release}-sluice" can't be the name of a Service`);
    const other = ["--set", "fullnameOverride=jobs"];
    expect(callHelm("template", release, CHART, ...NEWEST, ...other).status).toBe(0);
  });

  test("Redis takes no more than its pod may have, so that it is not killed", () => {
    const command = (redis: Values) =>
      JSON.stringify(
        render({ redis }).find(({ kind }) => kind === "StatefulSet")?.spec?.template,
      );
    expect(command({})).toContain(`--save \\"\\" --maxmemory 768mb"`);
    expect(command({ resources: { limits: { memory: "8Gi" } } })).toContain("--maxmemory 6144mb");
    expect(command({ resources: null })).not.toContain("--maxmemory ");
  });

  test("Redis runs where its own values say", () => {
    const own = {
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "k", operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      priorityClassName: "high",
    };
    const podOf = (kind: string) =>
      (one(render({ redis: own }), kind) as unknown as {
        spec: { template: { spec: Record<string, unknown> } };
      }).spec.template.spec;
    expect(podOf("StatefulSet")).toMatchObject(own);
    for (const name of ["nodeSelector", "tolerations", "priorityClassName"]) {
      expect(podOf("Deployment")).not.toHaveProperty(name);
    }
  });

  test("replicas spread, survive disruptions and end gently", () => {
    const items = render({});
    const { replicas, strategy, template: pod } = one(items, "Deployment").spec as {
      replicas: number;
      strategy: { rollingUpdate: object };
      template: { spec: Record<string, unknown> & { containers: Record<string, unknown>[] } };
    };
    expect(replicas).toBe(2);
    expect(strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
    expect(pod.spec["terminationGracePeriodSeconds"]).toBe(45);
    expect(pod.spec["affinity"]).toHaveProperty("podAntiAffinity");
    expect(pod.spec["topologySpreadConstraints"]).toHaveLength(1);
    expect(Object.keys(pod.spec.containers[0] ?? {})).toEqual(
      expect.arrayContaining(["startupProbe", "livenessProbe", "readinessProbe", "lifecycle"]),
    );
    expect(one(items, "PodDisruptionBudget").spec).toMatchObject({ maxUnavailable: 1 });
  });

  /** The server's variables; those filled in by Kubernetes have a plausible text. */
  function environment(values: Values): Record<string, string> {
    const { template: pod } = one(render(values), "Deployment").spec as {
      template: {
        spec: { containers: { env: { name: string; value?: string; valueFrom?: object }[] }[] };
      };
    };
    const url = one(render(values), "Secret")?.data?.["url"];
    const filled: Record<string, string> = {
      SLUICE_STORE: url === undefined ? "redis://redis" : atob(url),
      SLUICE_ARTIFACTS: "s3://k:s@s3.example/b",
      SLUICE_ARCHIVE_STORE: "postgres://u:p@db.example/sluice",
    };
    return Object.fromEntries(
      (pod.spec.containers[0]?.env ?? []).map(({ name, value, valueFrom }) => [
        name,
        valueFrom === undefined ? value ?? "" : filled[name] ?? "filled-in",
      ]),
    );
  }

  test.each(Object.entries(CASES))(
    "the server takes its configuration: %s",
    (_name, { values }) => {
      const config = parseConfig([], environment(values));
      expect(config.host).toBe("0.0.0.0");
    },
  );

  test("every setting can be given as a value", async () => {
    const schema = JSON.parse(await readFile(VALUES_SCHEMA, "utf8"));
    // To update it: deno run -A tools/chart_values.ts
    expect(schema.properties.server).toEqual(serverSchema());
    const sample = sampleSettings();
    const config = parseConfig([], environment(CASES["every setting of the server"]?.values ?? {}));
    expect(Object.keys(sample).length).toBeGreaterThan(15);
    for (const [name, row] of serverSettings()) {
      const wanted = row.type === "duration" ? row.max : sample[name];
      expect([name, config[name as keyof typeof config]]).toEqual([name, wanted]);
    }
  });

  test.each<[string, Values, string]>([
    ["as it is said", { callbacks: { publicUrl: "https://x.example/a" } }, "https://x.example/a"],
    ["the host of the Ingress", CASES["ingress with TLS"]?.values ?? {}, "https://x.example"],
    [
      "that host without TLS",
      { ingress: { enabled: true, host: "x.example" } },
      "http://x.example",
    ],
    [
      "otherwise the Service",
      { ingress: { enabled: true } },
      "http://sluice.a-namespace-with-a-long-name.svc:2746",
    ],
    [
      "the Service, where the Ingress has no single host",
      { ingress: { enabled: true, host: "*.x.example" } },
      "http://sluice.a-namespace-with-a-long-name.svc:2746",
    ],
  ])("the address of callback URLs: %s", (_name, values, address) => {
    expect(parseConfig([], environment(values)).publicUrl).toBe(address);
  });

  test("rules, tokens, keys and manifests lie where the server looks for them", () => {
    const values = {
      auth: {
        tokensSecret: "tokens",
        access: [{ subjects: ["ci"], namespaces: ["a"], resources: ["workflows"], verbs: ["*"] }],
      },
      callbacks: { keysSecret: "callbacks" },
      manifestsConfigMap: "manifests",
    };
    const items = render(values);
    const { accessFile, callbackKeys, tokenFile, manifests } = parseConfig([], environment(values));
    const { template: pod } = one(items, "Deployment").spec as {
      template: {
        spec: {
          volumes: {
            name: string;
            configMap?: { name: string };
            secret?: { secretName: string };
          }[];
          containers: { volumeMounts: { name: string; mountPath: string }[] }[];
        };
      };
    };
    const sourceAt = (path: string) => {
      const mount = pod.spec.containers[0]?.volumeMounts.find(({ mountPath }) =>
        mountPath === path
      );
      const { configMap, secret } = pod.spec.volumes.find(({ name }) => name === mount?.name) ?? {};
      return configMap?.name ?? secret?.secretName;
    };
    expect(sourceAt(dirname(tokenFile))).toBe("tokens");
    expect(sourceAt(dirname(callbackKeys))).toBe("callbacks");
    expect(sourceAt(manifests)).toBe("manifests");
    const rules = one(items, "ConfigMap", sourceAt(dirname(accessFile))).data?.["access.yaml"] ??
      "";
    expect(parseAccessRules(rules)).toMatchObject([{ subjects: ["ci"], verbs: ["*"] }]);
  });

  test("names that YAML takes for something else stay names", () => {
    const args = ["template", "on", CHART, "-n", "123", ...NEWEST];
    const { status, stdout, stderr } = callHelm(...args, ...withValues({ nameOverride: "1e3" }));
    expect(stderr).toBe("");
    expect(status).toBe(0);
    for (const document of parseAllDocuments(stdout, { version: "1.1" })) {
      const { metadata, subjects = [] } = document.toJS() as Item & { subjects?: object[] };
      const { labels, namespace = "123" } = metadata as typeof metadata & { labels: object };
      expect(labels).toMatchObject({
        "app.kubernetes.io/name": "1e3",
        "app.kubernetes.io/instance": "on",
      });
      expect(namespace).toBe("123");
      for (const subject of subjects) expect(subject).toMatchObject({ namespace: "123" });
    }
    expect(stdout).toContain('value: "123"');
  });

  test("an artifact takes no more of the disk than evicts no pod", () => {
    const bound = (values: Values) => parseConfig([], environment(values)).maxArtifactBytes;
    expect(bound({})).toBe(2 ** 30);
    expect(bound({ temporaryStorage: "20G" })).toBe(5 * 10 ** 9 - (5 * 10 ** 9) % 2 ** 18);
    expect(bound({ server: { maxArtifactBytes: 3 * 2 ** 30 } })).toBe(3 * 2 ** 30);
    const deployment = (values: Values) => JSON.stringify(one(render(values), "Deployment"));
    expect(deployment({})).toContain('{"sizeLimit":"4Gi"}');
    expect(deployment({ temporaryStorage: "20G" })).toContain('{"sizeLimit":"20G"}');
  });

  test("a long time to end leaves the server as much as it may have", () => {
    expect(environment({ terminationGracePeriodSeconds: 45 })["SLUICE_DRAIN_TIMEOUT"]).toBe("35s");
    const { drainTimeout } = parseConfig([], environment({ terminationGracePeriodSeconds: 3_600 }));
    expect(drainTimeout).toBe(600_000);
  });

  test("the hosts of TLS are named where there are any", () => {
    const tls = (values: Values) => one(render(values), "Ingress").spec?.["tls"];
    expect(tls(CASES["ingress with TLS for all hosts"]?.values ?? {})).toEqual([
      { secretName: "tls" },
    ]);
    expect(tls(CASES["ingress with TLS"]?.values ?? {})).toEqual([
      { secretName: "tls", hosts: ["x.example"] },
    ]);
  });

  test("the chart's test speaks of the group that the server knows", () => {
    const group = (values: Values) => {
      const items = render(values);
      const text = one(items, "ConfigMap", "-test").data?.["workflow.yaml"] ?? "";
      const [rule] = one(items, "Role", "-test").rules ?? [];
      return [/^apiVersion: (.*)\/v1alpha1$/m.exec(text)?.[1], ...rule?.apiGroups ?? []];
    };
    expect(group({})).toEqual(["argoproj.io", "argoproj.io"]);
    // Also where manifests live in the store: the cluster is asked about rights on kinds of this group.
    for (const manifestSource of ["store", "kubernetes"]) {
      const values = { manifestSource, apiGroup: "flows.example" };
      expect(group(values)).toEqual(["flows.example", "flows.example"]);
      expect(parseConfig([], environment(values)).apiGroup).toBe("flows.example");
    }
  });

  test("the bound of events, the workers and the store reach the server", () => {
    expect(environment({ eventOperationQueueSize: 7, eventWorkerCount: 3 })).toMatchObject({
      SLUICE_EVENT_OPERATION_QUEUE_SIZE: "7",
      SLUICE_EVENT_WORKER_COUNT: "3",
      SLUICE_DURABILITY: "always",
      SLUICE_NAMESPACE: "a-namespace-with-a-long-name",
      SLUICE_STORE: "redis://:$(REDIS_PASSWORD)@sluice-redis:6379",
    });
    const { values } = CASES["Sentinel"] ?? { values: {} };
    expect(environment(values)["SLUICE_STORE"]).toBe("redis+sentinel://a:26379,b:26379/main");
    const long = environment({ fullnameOverride: "x".repeat(52) })["SLUICE_INSTANCE"];
    expect(long).toMatch(/^a-namespace-with-a-long-name-x+-[0-9a-f]{8}$/);
    expect(long?.length).toBeLessThanOrEqual(63);
  });

  test("the address of another Redis, which may hold a password, is in a Secret only", () => {
    const values = CASES["external Redis"]?.values ?? {};
    expect(environment(values)["SLUICE_STORE"]).toBe("rediss://:secret@redis.example:6380/0");
    expect(template(values)).not.toContain(":secret@");
    const reference = (items: Item[]) =>
      /"secretKeyRef":\{"name":"([^"]+)","key":"url"\}/
        .exec(JSON.stringify(one(items, "Deployment")))?.[1];
    expect(reference(render(values))).toBe(one(render(values), "Secret").metadata.name);
    const other = render(CASES["Redis by secret"]?.values ?? {});
    expect(reference(other)).toBe("redis-url");
    expect(one(other, "Secret")).toBeUndefined();
  });

  test("several processes start as the image does, and only their parent may start programs", () => {
    const command = (values: Values) => {
      const { template: pod } = one(render(values), "Deployment").spec as {
        template: { spec: { containers: { command?: string[] }[] } };
      };
      return pod.spec.containers[0]?.command;
    };
    expect(command({})).toBeUndefined();
    expect(environment({})).not.toHaveProperty("SLUICE_PROCESSES");
    const values = { processes: "auto" };
    expect(environment(values)).toMatchObject({
      SLUICE_PROCESSES: "auto",
      SLUICE_PROCESS_COMMAND: SERVER_COMMAND.join(" "),
    });
    const more = command(values)?.filter((word) => !SERVER_COMMAND.includes(word));
    expect(more).toEqual(["--allow-run=/usr/local/bin/deno"]);
    expect(command(values)?.filter((word) => !more?.includes(word)))
      .toEqual(SERVER_COMMAND);
  });

  test("rules and dashboard are those of the chart's files, and alerts link to the given runbook", () => {
    const rulesOf = (values: Values) => JSON.stringify(one(render(values), "PrometheusRule").spec);
    const { values } = CASES["monitoring"] ?? { values: {} };
    const dashboard = one(render(values), "ConfigMap", "-dashboard").data?.["sluice.json"] ?? "";
    expect(JSON.parse(dashboard)).toMatchObject({ title: "Sluice" });
    expect(rulesOf(values)).toContain('"runbook_url":"docs/runbook.md#sluicedown"');
    const runbookUrl = "https://docs.example.com/runbook.html";
    const prometheusRule = { enabled: true, runbookUrl };
    const linked = rulesOf({ metrics: { prometheusRule } });
    expect(linked).toContain(`"runbook_url":"${runbookUrl}#sluicedown"`);
    expect(linked).not.toContain("docs/runbook.md");
    expect(linked).toContain("{{ $labels.reason }}");
  });
});

describe.skipIf(helm.missing !== undefined || kubeconform.missing !== undefined)(
  title("chart as Kubernetes takes it", helm, kubeconform),
  () => {
    const rendered = join(folder, "rendered");
    let check: KubeCheck;
    beforeAll(() => {
      mkdirSync(rendered);
      for (const [name, { values }] of Object.entries(CASES)) {
        writeFileSync(join(rendered, `${name.replaceAll(/[^a-z]/gi, "_")}.yaml`), template(values));
      }
      check = createKubeCheck(kubeconform.path ?? "", folder);
    });

    test.each(KUBE_VERSIONS)("every case is valid for Kubernetes %s", (version) => {
      expect(check(version, [rendered])).toEqual({ status: 0, faults: [], stderr: "" });
    });

    test("the check sees a wrong member, a wrong type and an unknown kind", () => {
      const text = template({});
      for (
        const [from, to] of [
          ["terminationGracePeriodSeconds: 45", "terminationGraceSeconds: 45"],
          ["containerPort: 2746", 'containerPort: "2746"'],
          ["kind: PodDisruptionBudget", "kind: PodBudget"],
        ] as const
      ) {
        expect(text).toContain(from);
        const { status, faults } = check(KUBE_VERSIONS[0] ?? "", ["-"], text.replace(from, to));
        expect(status).toBe(1);
        expect(faults).toHaveLength(1);
      }
    });
  },
);

interface Security {
  privileged?: boolean;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  allowPrivilegeEscalation?: boolean;
  readOnlyRootFilesystem?: boolean;
  seccompProfile?: { type: string };
  capabilities?: { add?: string[]; drop?: string[] };
  sysctls?: unknown[];
}

interface PodSpec {
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  securityContext?: Security;
  initContainers?: ContainerSpec[];
  containers: ContainerSpec[];
  volumes?: Record<string, unknown>[];
}

interface ContainerSpec {
  name: string;
  securityContext?: Security;
  ports?: { hostPort?: number }[];
}

const VOLUMES =
  "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret";

/** What the restricted standard forbids for a pod, and in addition a writable root file system. */
function breaches(pod: PodSpec): string[] {
  const found: string[] = [];
  const say = (isWrong: boolean, what: string) => void (isWrong && found.push(what));
  const { securityContext: shared = {}, volumes = [], initContainers = [] } = pod;
  say(pod.hostNetwork === true || pod.hostPID === true || pod.hostIPC === true, "host's spaces");
  say(shared.sysctls !== undefined, "sysctls");
  for (const { name, ...source } of volumes) {
    say(Object.keys(source).some((kind) => !VOLUMES.split(" ").includes(kind)), `volume ${name}`);
  }
  for (
    const { name, securityContext: own = {}, ports = [] } of [...initContainers, ...pod.containers]
  ) {
    const merged = { ...shared, ...own };
    const { add = [], drop = [] } = own.capabilities ?? {};
    say(merged.runAsNonRoot !== true || merged.runAsUser === 0, `${name}: root`);
    say(
      !["RuntimeDefault", "Localhost"].includes(merged.seccompProfile?.type ?? ""),
      `${name}: seccomp`,
    );
    say(own.privileged === true || own.allowPrivilegeEscalation !== false, `${name}: escalation`);
    say(!drop.includes("ALL"), `${name}: capabilities kept`);
    say(add.some((capability) => capability !== "NET_BIND_SERVICE"), `${name}: capabilities added`);
    say(ports.some(({ hostPort }) => hostPort !== undefined), `${name}: host's port`);
    say(own.readOnlyRootFilesystem !== true, `${name}: writes its image`);
  }
  return found;
}
