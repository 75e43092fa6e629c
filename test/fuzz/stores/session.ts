/**
 * A service whose store is damaged between two of its lives. Namespace `v` holds what is damaged, namespace `n` what must
 * not be harmed by it.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../src/base/json.ts";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { startInstance } from "../../support/api_server.ts";
import { ScriptedExecutor } from "../../support/scripted_executor.ts";
import { Undeclared } from "../kind.ts";
import type { RawStore } from "./raw_store.ts";

/** How long an answer, or what follows from a request, may take, ms: the machine may be busy. */
const PATIENCE_MS = 5_000;

/** Whose records are damaged. */
export const VICTIM = "v";
const NEIGHBOUR = "n";
const VICTIMS = ["w0", "w1", "w2"];

type Instance = Awaited<ReturnType<typeof startInstance>>;

const hold = { name: "hold", suspend: {} };
const SPEC: JsonObject = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "p", value: "1" }] },
  // Leaves a timer.
  activeDeadlineSeconds: 100_000,
  templates: [
    { name: "main", steps: [[{ name: "a", template: "run" }], [{ name: "b", template: "hold" }]] },
    { name: "run", container: { image: "i" }, synchronization: { mutexes: [{ name: "m" }] } },
    hold,
  ],
};
const SHORT: JsonObject = { entrypoint: "hold", templates: [hold] };

/** One life of the service over the store. */
export class Life {
  readonly #instance: Instance;

  private constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** @param options.isIdle nobody works on events */
  static async begin(raw: RawStore, { isIdle = false } = {}): Promise<Life> {
    // What runs goes on without an end: its rows are there to be damaged.
    const executor = new ScriptedExecutor((task) =>
      task.nodeName.includes("n1") ? { phase: "Succeeded" } : undefined
    );
    return new Life(
      await startInstance({
        store: await raw.open(),
        gatekeeper: { server: true, authenticators: [] },
        executors: [executor],
        eventWorkers: isIdle ? 0 : 1,
      }),
    );
  }

  end(): Promise<void> {
    return this.#instance.stop();
  }

  /** An answer that is a declared one. */
  async ask(method: string, path: string, body?: Json): Promise<{ status: number; body: Json }> {
    const request = new Request(`http://localhost/api/v1/${path}`, {
      method,
      // Its answer is kept.
      headers: method === "POST"
        ? { "idempotency-key": `/${path.split("/")[1]}/${crypto.randomUUID()}` }
        : {},
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const what = `${method} ${path}`;
    const response = await within(what, Promise.resolve(this.#instance.fetch(request)));
    const text = await within(what, response.text());
    if (response.status >= 500) {
      throw new Undeclared(`${what}: ${response.status} ${text.slice(0, 300)}`);
    }
    return { status: response.status, body: text === "" ? null : JSON.parse(text) as Json };
  }

  async expect(method: string, path: string, body?: Json): Promise<Json> {
    const answer = await this.ask(method, path, body);
    if (answer.status === 200) return answer.body;
    throw new Undeclared(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** Waits until something is so. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    while (!await holds()) {
      if (performance.now() > end) throw new Undeclared(`${what} does not happen`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Makes what is to be damaged, and its neighbours. */
  async seed(): Promise<void> {
    for (const namespace of [VICTIM, NEIGHBOUR]) {
      await this.expect("POST", `workflow-templates/${namespace}`, {
        template: { metadata: { name: "t" }, spec: SHORT },
      });
      await this.expect("POST", `workflow-event-bindings/${namespace}`, {
        binding: {
          metadata: { name: "b" },
          spec: {
            event: { selector: "payload.go == true" },
            submit: {
              workflowTemplateRef: { name: "t" },
              metadata: { generateName: '"from-event-"' },
            },
          },
        },
      });
      await this.expect("POST", `cron-workflows/${namespace}`, {
        cronWorkflow: {
          metadata: { name: "c" },
          spec: { schedules: ["0 0 1 1 *"], workflowSpec: SHORT },
        },
      });
    }
    for (const name of VICTIMS) await this.#create(VICTIM, name, SPEC);
    await this.#create(NEIGHBOUR, "n1", SPEC);
    await this.until("the neighbour's first step", async () => {
      const { status } = await this.expect(
        "GET",
        `workflows/${NEIGHBOUR}/n1`,
      ) as unknown as Workflow;
      return Object.values(status?.nodes ?? {}).some(({ type }) => type === "Suspend");
    });
  }

  /** An event of one of the namespaces. */
  async event(namespace: string): Promise<void> {
    await this.expect("POST", `events/${namespace}/d`, { go: true });
  }

  /** The neighbours see nothing, and what is damaged can be listed, read and deleted. */
  async check(): Promise<string> {
    const lists = [
      ...["workflows", "workflow-templates", "cron-workflows", "workflow-event-bindings"],
      "event-deliveries",
    ];
    for (const list of lists) await this.expect("GET", `${list}/${VICTIM}`);
    await this.expect("GET", "workflows/");
    const { items } = await this.expect("GET", `workflows/${NEIGHBOUR}`) as { items: Json };
    if (!JSON.stringify(items).includes('"n1"')) {
      throw new Undeclared("the neighbour is not listed");
    }
    await this.expect("PUT", `workflows/${NEIGHBOUR}/n1/resume`, {});
    await this.until("the neighbour's end", async () => {
      const { status } = await this.expect(
        "GET",
        `workflows/${NEIGHBOUR}/n1`,
      ) as unknown as Workflow;
      return status?.phase === "Succeeded";
    });
    const kept = await this.#checkVictims();
    await this.#create(VICTIM, "after", SPEC);
    await this.event(NEIGHBOUR);
    await this.until("the workflow of a new event", () => this.#hasEventWorkflow(NEIGHBOUR));
    return kept;
  }

  /** Whether an event made a workflow in a namespace. */
  async #hasEventWorkflow(namespace: string): Promise<boolean> {
    const { items } = await this.expect("GET", `workflows/${namespace}`) as { items: Json };
    return JSON.stringify(items ?? []).includes("workflow-event-binding");
  }

  /** An event that was accepted before the damage leads to its workflow. */
  async checkEvent(namespace: string): Promise<void> {
    await this.until(
      "the workflow of an accepted event",
      () => this.#hasEventWorkflow(namespace),
    );
  }

  async #checkVictims(): Promise<string> {
    let kept = 0;
    for (const name of VICTIMS) {
      const path = `workflows/${VICTIM}/${name}`;
      const { status } = await this.ask("GET", path);
      if (status === 200) kept++;
      await this.ask("PUT", `${path}/terminate`, {});
      await this.ask("DELETE", `${path}?force=true`);
      await this.until(
        `the end of ${name}`,
        async () => (await this.ask("GET", path)).status !== 200,
      );
    }
    return kept === VICTIMS.length ? "kept" : "lost";
  }

  async #create(namespace: string, name: string, spec: JsonObject): Promise<void> {
    const workflow = { metadata: { name }, spec };
    const answer = await this.expect("POST", `workflows/${namespace}`, { workflow });
    if (!isJsonObject(answer)) throw new Undeclared(`${name} was not created`);
  }
}

/** @throws {Undeclared} when it takes too long */
async function within<T>(what: string, answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Undeclared(`${what} is not answered`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
