/** What few command lines need, so it is loaded only for those: the headings of the whole help, and flags in another form. */
import type { Command } from "commander";

/** Under which heading the help lists a command. Those that are not here are about the command line itself. */
const GROUPS: Readonly<Record<string, string>> = {
  "Workflows:": "submit list get wait watch logs cp open suspend resume stop terminate retry " +
    "resubmit node delete archive",
  "Stored manifests:": "template cluster-template cron binding subscription apply",
  "Events, callbacks and webhooks:": "event callback callback-keys webhook",
  "Writing manifests:": "lint test convert expr",
  "Running a server:": "server doctor store migrate sync token",
};

/** Puts the commands of a program under their headings. */
export function groupCommands(program: Command): void {
  for (const [heading, words] of Object.entries(GROUPS)) {
    const names = words.split(" ");
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(heading);
    }
  }
}

/** Writes `--x=true` and `--x=false` of options without a value as `--x` and `--no-x`. */
export function plainFlags(program: Command, argv: readonly string[]): string[] {
  const all = [program, ...program.commands.flatMap((one) => [one, ...one.commands])]
    .flatMap(({ options }) => options);
  return argv.flatMap((word) => {
    const found = /^--([a-z0-9-]+)=(true|false)$/.exec(word);
    if (found === null) return [word];
    const [, name = "", value] = found;
    const named = all.filter(({ long }) => long === `--${name}` || long === `--no-${name}`);
    if (named.length === 0 || named.some(({ required, optional }) => required || optional)) {
      return [word];
    }
    const long = value === "true" ? `--${name}` : `--no-${name}`;
    // There is no such option because it is the default.
    return named.some((option) => option.long === long) ? [long] : [];
  });
}
