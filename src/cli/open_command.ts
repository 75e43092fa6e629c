/** `sluice open`: the page of a workflow, in a browser. */
import { spawn } from "node:child_process";
import process from "node:process";
import type { Command } from "commander";
import { type Context, contextOf, example } from "./context.ts";
import { print, say } from "./output.ts";

/** A program that has not failed by then has opened the page, ms. */
const PATIENCE_MS = 3_000;

interface OpenOptions {
  print?: boolean;
}

/** Finds the workflow, and opens its page. Without a browser its address is printed. */
async function open(context: Context, name: string, options: OpenOptions): Promise<void> {
  const { metadata } = await context.client.call("WorkflowService_GetWorkflow", {
    params: { namespace: context.namespace, name },
    query: { fields: "metadata" },
  });
  const address = pageAddress(context.client.server, context.namespace, metadata.name ?? name);
  if (options.print !== true && await openBrowser(address)) say(`Opened ${address}`);
  else print(address);
}

/** The address of a workflow's page. */
export function pageAddress(server: string, namespace: string, name: string): string {
  return `${server}/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The program that opens an address in the user's browser, with its arguments; undefined: there is no screen. */
export function browserCommand(
  address: string,
  platform: string,
  env: Record<string, string | undefined>,
): [program: string, args: string[]] | undefined {
  switch (platform) {
    case "darwin":
      return ["open", [address]];
    case "win32":
      // The first argument in quotes would be a title; & would end the command.
      return ["cmd", ["/c", "start", '""', address.replaceAll("&", "^&")]];
    default: {
      const hasScreen = [
        env["DISPLAY"],
        env["WAYLAND_DISPLAY"],
        env["BROWSER"],
        env["WSL_DISTRO_NAME"],
      ]
        .some((one) => one !== undefined && one !== "");
      return hasScreen ? ["xdg-open", [address]] : undefined;
    }
  }
}

/** Resolves to false when no browser could be asked. */
function openBrowser(address: string): Promise<boolean> {
  const command = browserCommand(address, process.platform, process.env);
  if (command === undefined) return Promise.resolve(false);
  const [program, args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    const timer = setTimeout(() => end(true), PATIENCE_MS);
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      // A browser in the foreground goes on without this program.
      child.unref();
      resolve(isOpen);
    };
    child.once("error", () => end(false));
    child.once("exit", (status) => end(status === 0));
  });
}

/** Registers the command. */
export function addOpenCommand(program: Command): void {
  program.command("open <name>")
    .description("open the page of a workflow in a browser; @latest is the newest")
    .option("--print", "only print its address")
    .addHelpText(...example("sluice open @latest", "sluice open my-wf --print"))
    .action(async (name: string, options: OpenOptions, command: Command) =>
      await open(contextOf(command), name, options)
    );
}
