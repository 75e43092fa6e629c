/**
 * Clients that run workflows of the async-job kind against real servers, whatever happens to those, and the ledger of
 * what they saw: which workflows were accepted and completed, whether a finished node ever changed, and how often a
 * step was resumed.
 */

const API = "/api/v1/workflows/default";

function manifest(name: string): object {
  const shell = (text: string) => ({ image: "alpine", command: ["sh", "-c"], args: [text] });
  return {
    metadata: { name },
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          steps: [
            [{ name: "trigger", template: "trigger" }],
            [{
              name: "wait",
              template: "wait",
              arguments: {
                parameters: [{ name: "uuid", value: "{{steps.trigger.outputs.result}}" }],
              },
            }],
            [{ name: "finish", template: "finish" }],
          ],
        },
        { name: "trigger", container: shell(`echo job-of-${name}`) },
        { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} },
        { name: "finish", container: shell("true") },
      ],
    },
  };
}

interface Node {
  displayName: string;
  type: string;
  phase: string;
  finishedAt: string | null;
}

export interface Ledger {
  /** Node id → phase and time of its end. */
  finished: Map<string, string>;
  /** Number of answers 200 to a resume, by workflow. */
  resumed: Map<string, number>;
  violations: string[];
}

export function emptyLedger(): Ledger {
  return { finished: new Map(), resumed: new Map(), violations: [] };
}

/** Repeats a request until the server answers it, whatever the answer. */
async function ask(base: () => string, path: string, init?: RequestInit) {
  for (;;) {
    try {
      const response = await fetch(base() + path, {
        ...init,
        headers: { "content-type": "application/json" },
        signal: AbortSignal.timeout(20_000),
      });
      const body = await response.json() as Record<string, unknown>;
      if (response.status !== 503 && response.status !== 504) {
        return { status: response.status, body };
      }
    } catch {
      // No answer: the server was killed, and nothing is known about the request.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Runs one workflow to its end. */
export async function runJob(base: () => string, name: string, ledger: Ledger): Promise<void> {
  const created = await ask(base, API, {
    method: "POST",
    body: JSON.stringify({ namespace: "default", workflow: manifest(name) }),
  });
  if (created.status !== 200 && created.status !== 409) {
    ledger.violations.push(`${name}: create ${created.status} ${JSON.stringify(created.body)}`);
    return;
  }
  for (;;) {
    const { status, body } = await ask(base, `${API}/${name}`);
    if (status !== 200) {
      ledger.violations.push(`${name}: accepted and gone (${status})`);
      return;
    }
    const { phase, nodes = {} } = body["status"] as { phase: string; nodes?: Record<string, Node> };
    for (const [id, node] of Object.entries(nodes)) {
      if (!node.finishedAt) continue;
      const text = `${node.phase} ${node.finishedAt}`;
      const before = ledger.finished.get(id) ?? text;
      if (before !== text) ledger.violations.push(`${name}: ${id} was ${before}, is ${text}`);
      ledger.finished.set(id, text);
    }
    if (phase === "Succeeded") {
      const names = Object.values(nodes).map((node) => node.displayName).sort();
      const wanted = ["[0]", "[1]", "[2]", "finish", name, "trigger", "wait"].sort();
      if (names.join() !== wanted.join()) ledger.violations.push(`${name}: nodes ${names}`);
      return;
    }
    if (phase === "Failed" || phase === "Error") {
      ledger.violations.push(`${name}: ${phase} ${JSON.stringify(body["status"])}`);
      return;
    }
    const waits = Object.values(nodes).some((node) =>
      node.type === "Suspend" && node.phase === "Running"
    );
    if (waits) {
      const nodeFieldSelector = `inputs.parameters.uuid.value=job-of-${name}`;
      const answer = await ask(base, `${API}/${name}/resume`, {
        method: "PUT",
        body: JSON.stringify({ namespace: "default", name, nodeFieldSelector }),
      });
      if (answer.status === 200) {
        const times = (ledger.resumed.get(name) ?? 0) + 1;
        ledger.resumed.set(name, times);
        if (times > 1) ledger.violations.push(`${name}: resumed ${times} times`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
