/**
 * Completion in shells. The scripts ask this program what can come next, so they know every option and the names on the server,
 * and are never out of date.
 */
import process from "node:process";
import { type Command, Option } from "commander";
import { type Context, contextFrom, example, type GlobalOptions } from "./context.ts";
import { print } from "./output.ts";
import { RESOURCES, type ResourceWord } from "./resources.ts";

/** How long to wait for names from the server. */
const MAX_WAIT_MS = 2000;
/** Most names that are offered. */
const MAX_NAMES = 500;
/** What a name may be. The shell would run others, such as `$(…)`, and a server may answer anything. */
const NAME = /^[A-Za-z0-9][\w.-]*$/;

const SHELLS: Record<string, (self: string) => string> = {
  bash: (self) =>
    `_sluice() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    ${self} __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null
  )
}
complete -o default -F _sluice sluice`,
  zsh: (self) =>
    `#compdef sluice
_sluice() {
  local -a found
  found=("\${(@f)$(${self} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
if [[ "$funcstack[1]" = _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi`,
  fish: (self) =>
    `function __sluice_words
  set -l given (commandline -opc)
  set -l found (${self} __complete -- $given[2..-1] (commandline -ct) 2>/dev/null)
  if set -q found[1]; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c sluice -f -a '(__sluice_words)'`,
};

/** This program as a shell can call it, even if `sluice` is an alias. */
function ownCommand(): string {
  const script = process.argv[1] ?? "sluice";
  const words = "deno" in process.versions
    ? [process.execPath, "run", "-A", "-q", script]
    : [process.execPath, script];
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

/** The place in the command line after some words. */
interface Place {
  command: Command;
  /** The option that waits for its value. */
  open: Option | undefined;
  /** Values of the program's options so far. */
  globals: Partial<GlobalOptions>;
  /** Number of words after the name of the command that are not options. */
  positionals: number;
}

function walk(program: Command, words: readonly string[]): Place {
  const place: Place = { command: program, open: undefined, globals: {}, positionals: 0 };
  const take = (option: Option, value: string) =>
    Object.assign(place.globals, { [option.attributeName()]: value });
  for (const word of words) {
    if (place.open !== undefined) {
      take(place.open, word);
      place.open = undefined;
    } else if (word.startsWith("-")) {
      const [name = "", value] = word.split("=", 2);
      const option = optionsAt(place.command).find((one) =>
        one.long === name || one.short === name
      );
      if (option === undefined || !(option.required || option.optional)) continue;
      if (value === undefined) place.open = option;
      else take(option, value);
    } else {
      const next = place.command.commands.find((one) =>
        one.name() === word || one.aliases().includes(word)
      );
      if (next === undefined) place.positionals++;
      else place.command = next;
    }
  }
  return place;
}

function optionsAt(command: Command): Option[] {
  const own = [...command.options];
  for (let at = command.parent; at !== null; at = at.parent) own.push(...at.options);
  return own;
}

/** What can come next after some words. The last word is still being written. */
async function candidates(program: Command, words: readonly string[]): Promise<string[]> {
  const { command, open, globals, positionals } = walk(program, words.slice(0, -1));
  const current = words.at(-1) ?? "";
  let found: string[];
  if (command.name() === "server") found = await serverWords(words.at(-2) ?? "", current);
  else if (open !== undefined) found = [...open.argChoices ?? []];
  else if (current.startsWith("-")) {
    found = [
      "--help",
      ...optionsAt(command).filter(({ hidden }) => !hidden).map(({ long }) => long ?? ""),
    ];
  } else if (command.commands.length > 0) {
    found = command.createHelp().visibleCommands(command).map((one) => one.name());
  } else if (command.name() === "completion") found = Object.keys(SHELLS);
  else {
    const [argument] = command.registeredArguments;
    const takesMore = argument !== undefined && (positionals === 0 || argument.variadic);
    const isNames = argument?.name() === "name" || argument?.name() === "names";
    found = takesMore && isNames
      ? await names(command, contextFrom(withDefaults(program, globals)))
      : [];
  }
  return found.filter((one) => one.startsWith(current));
}

/** Flags of the server, or what the one before takes. It parses its command line by itself, from a table. */
async function serverWords(before: string, current: string): Promise<string[]> {
  const { configRows } = await import("../platform/config.ts");
  if (current.startsWith("-")) return configRows().map(({ flag }) => flag);
  const value = configRows().find(({ flag }) => flag === before)?.value ?? "";
  return value.includes("|") ? value.split("|") : [];
}

function withDefaults(program: Command, globals: Partial<GlobalOptions>): GlobalOptions {
  return { ...program.opts<GlobalOptions>(), ...globals };
}

/** Names on the server that the command may take; none when the server does not answer. */
async function names(command: Command, { client, namespace }: Context): Promise<string[]> {
  const group = command.parent?.name() ?? "";
  const signal = AbortSignal.timeout(MAX_WAIT_MS);
  const params = { namespace };
  try {
    const { items } = group in RESOURCES
      ? await client.call(RESOURCES[group as ResourceWord].list, { params, signal })
      : group === "archive"
      ? await client.call("ArchivedWorkflowService_ListArchivedWorkflows", {
        query: { namespace, "listOptions.limit": MAX_NAMES },
        signal,
      })
      : await client.call("WorkflowService_ListWorkflows", {
        params,
        query: { "listOptions.limit": MAX_NAMES, fields: "items.metadata.name" },
        signal,
      });
    return (items ?? []).flatMap(({ metadata: { name = "" } }) => NAME.test(name) ? name : [])
      .slice(0, MAX_NAMES);
  } catch {
    return [];
  }
}

/** Registers `completion`. */
export function addCompletionCommand(program: Command): void {
  program.command("completion").description(
    "completion script of a shell, with the names on the server",
  )
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText(...example(
      "source <(sluice completion bash)",
      "sluice completion fish > ~/.config/fish/completions/sluice.fish",
    ))
    .action((shell: string, _options: unknown, command: Command) => {
      const script = SHELLS[shell];
      if (script === undefined) {
        command.error(`error: no completion for ${shell}: choose bash, zsh or fish`);
      } else print(script(ownCommand()));
    });
  program.command("__complete", { hidden: true }).argument("[words...]")
    .action(async (words: string[]) => {
      for (const one of await candidates(program, words)) print(one);
    });
}
