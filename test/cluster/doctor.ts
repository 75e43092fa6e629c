/** `sluice doctor` against the real API server: it names each missing right with the rule, and these rules repair it. */
import { parse } from "yaml";
import type { JsonObject } from "../../src/base/json.ts";
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import type { Release } from "./release.ts";
import { must, until } from "./transcript.ts";

export interface Finding {
  check: string;
  status: string;
  message: string;
  advice?: string;
}

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/** What the command line shows, and its exit status. */
export async function examine(release: Release): Promise<{ status: number; findings: Finding[] }> {
  const { status, out } = await release.sluice(["doctor", "-o", "json"]);
  must(out.includes('"findings"'), `doctor says: ${out}`);
  return { status, findings: JSON.parse(out.slice(out.indexOf("{"))).findings };
}

/** Runs the step; returns what it saw. @throws {Error} if a missing right is not named, or its rule does not help */
export async function doctorFindsRights(release: Release, client: KubeClient): Promise<string> {
  const { namespace } = release;
  const role =
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/${release.name}-workflows`;
  const { rules } = await client.call<{ rules: Rule[] }>({ path: role });
  const write = (next: Rule[]) =>
    client.call({
      method: "PATCH",
      path: role,
      body: { rules: next } as unknown as JsonObject,
    });
  const cluster = async () => {
    const { status, findings } = await examine(release);
    return { status, found: findings.filter(({ check }) => check === "cluster") };
  };
  const whole = () =>
    until("doctor without a fault", 30, async () => {
      const { status, findings } = await examine(release);
      const isWhole = status === 0 && findings.every((one) => one.status === "ok");
      if (!isWhole) throw new Error(JSON.stringify(findings));
      return true;
    });
  const takeBack = await release.letExamine();
  try {
    await whole();
    await write(
      rules.filter(({ resources }) => !resources.includes("pods/log")).map((rule) =>
        rule.resources.includes("pods")
          ? { ...rule, verbs: rule.verbs.filter((verb) => !["delete", "patch"].includes(verb)) }
          : rule
      ),
    );
    const { status, found } = await until("missing rights", 30, async () => {
      const seen = await cluster();
      return seen.found.length === 2 ? seen : undefined;
    });
    must(status === 1, `exit status ${status} although rights are missing`);
    const told = found.map(({ message }) => message);
    const place = `in namespace ${namespace}`;
    must(
      told.join() ===
        `the server may not delete, patch pods ${place},the server may not get pods/log ${place}`,
      `doctor names ${told.join("; ")}`,
    );
    const { rules: left } = await client.call<{ rules: Rule[] }>({ path: role });
    const advised = found.flatMap(({ advice = "" }) =>
      parse(advice.slice(advice.indexOf("- {"))) as Rule[]
    );
    await write([...left, ...advised]);
    await whole();
    return "two missing rights named one by one with their rules; with exactly these rules added nothing is missing";
  } finally {
    await write(rules);
    await takeBack();
  }
}
