/** `doctor`: whether the server, and this program with it, stand on firm ground. */
import type { Command } from "commander";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { VERSION } from "../base/version.ts";
import { type Context, contextOf, example, isNotFound } from "./context.ts";
import { outputOption, type OutputOptions, print, printObject } from "./output.ts";

/** This machine's clock may differ from the server's by this much beyond the time of the call, ms. */
const MAX_SKEW_MS = 5_000;

/** One finding, as the server's and the program's own. */
interface Finding {
  check: string;
  status: string;
  message: string;
  advice?: string;
}

const SIGNS: Record<string, string> = { ok: "✔", warning: "!", failed: "✖", skipped: "-" };

/** What only this side can see: its own version and its own clock. */
export function ownFindings(
  server: { version: string; time: number },
  own: { version: string; askedAt: number; now: number },
): Finding[] {
  const isSame = server.version === own.version;
  const version: Finding = isSame
    ? { check: "version", status: "ok", message: `server and command line are ${own.version}` }
    : {
      check: "version",
      status: "warning",
      message: `the server is ${server.version}, the command line ${own.version}`,
      advice: "use the command line of the server's version",
    };
  // The server looked at its clock somewhere between the call and the answer.
  const ahead = Math.max(server.time - own.now, own.askedAt - server.time, 0);
  const clock: Finding = ahead <= MAX_SKEW_MS
    ? { check: "own clock", status: "ok", message: "this machine's clock agrees with the server's" }
    : {
      check: "own clock",
      status: "warning",
      message: `this machine's clock differs from the server's by ${Math.round(ahead / 1000)} s`,
      advice: "run a time service here: ages and --older are counted by this clock",
    };
  return [version, clock];
}

function findingsOf(answer: JsonObject): Finding[] {
  const { findings } = answer;
  return (Array.isArray(findings) ? findings : []).filter(isJsonObject).map((one) => ({
    check: String(one["check"]),
    status: String(one["status"]),
    message: String(one["message"]),
    ...(one["advice"] !== undefined && { advice: String(one["advice"]) }),
  }));
}

/** @returns the exit status: 1 if a check failed */
async function doctor({ client, now }: Context, { output }: OutputOptions): Promise<number> {
  const askedAt = now();
  const answer = await client.call("InfoService_Examine", {}).catch((error) => {
    if (isNotFound(error)) throw new Error("The server is too old to be examined; update it first");
    throw error;
  });
  const server = { version: String(answer["version"]), time: Date.parse(String(answer["time"])) };
  const own = { version: VERSION, askedAt, now: now() };
  const findings = [...findingsOf(answer), ...ownFindings(server, own)];
  if (output === undefined) {
    for (const { check, status, message, advice } of findings) {
      print(`${SIGNS[status] ?? "?"} ${check}: ${message}`);
      if (advice !== undefined) print(`    → ${advice}`);
    }
  } else printObject({ findings } as unknown as Json, output === "json" ? "json" : "yaml");
  return findings.some(({ status }) => status === "failed") ? 1 : 0;
}

/** Registers `doctor`. `exit` receives the exit status. */
export function addDoctorCommand(program: Command, exit: (status: number) => void): void {
  program.command("doctor").description(
    "examine the server's store, clock, replicas, cluster, artifacts and webhooks; exit status 1 if a check fails",
  )
    .addOption(outputOption("json", "yaml"))
    .addHelpText(...example("sluice doctor", "sluice doctor -o json"))
    .action(async (options: OutputOptions, command: Command) => {
      exit(await doctor(contextOf(command), options));
    });
}
