/** Commands about the server itself: version, server. */
import process from "node:process";
import type { Command } from "commander";
import { VERSION } from "../base/version.ts";
import { contextOf, example } from "./context.ts";
import { print } from "./output.ts";

/** Registers `version` and `server`. */
export function addServerCommands(program: Command): void {
  program.command("version").description("version of this program and of the server")
    .option("--short", "version of this program only")
    .addHelpText(...example("sluice version --short"))
    .action(async (options: { short?: boolean }, command: Command) => {
      print(`sluice: ${VERSION}`);
      if (options.short) return;
      const answer = await contextOf(command).client.call("InfoService_GetVersion", {});
      print(`server: ${answer["version"]}`);
    });
  program.command("server").description(
    "run the service in the foreground; `sluice` alone does so too, and `sluice server --help` lists the flags",
  )
    .allowUnknownOption().helpOption(false).argument("[flags...]")
    .action(async () => {
      const flags = process.argv.slice(2);
      // Intentionally a dynamic import: only this command needs the whole service.
      const { runServer } = await import("../main.ts");
      // At once: the channel to the parent of several processes would keep this one until the parent kills it.
      process.exit(await runServer(flags.slice(flags.indexOf("server") + 1), process.env));
    });
}
