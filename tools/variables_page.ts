/** Writes `docs/variables.md` from the catalogue of template variables. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { VARIABLES, type VariableScope } from "../src/spec/validation/variables.ts";

/** Headings of the page, in its order. */
const SCOPES: Readonly<Record<VariableScope, string>> = {
  workflow: "Everywhere in a workflow",
  exit: "Exit handlers and workflow hooks",
  template: "Inside the template that declares it",
  pod: "Templates that run as a task on an executor",
  steps: "Later steps of the same template",
  tasks: "DAG tasks that come after the one named",
  loop: "The looping step or task",
  retry: "Templates with a retry strategy, and its expression",
  metrics: "Metrics of a template",
  http: "`successCondition` of http templates (expressions, no tags)",
  cron: "`when` and `stopStrategy` of cron workflows",
  data: "Transformations of data templates (expressions, no tags)",
};

export const VARIABLES_PAGE: string = join(import.meta.dirname, "../docs/variables.md");

/** The page as Markdown. */
export function variablesPage(): string {
  const lines = [
    "# Template variables",
    "",
    "Write a variable as `{{name}}` in a string, or use it in `{{= expression }}`. Lint refuses names that can't exist in that place.",
    "In an expression too, a value is text, whatever it holds: `asInt` and `asFloat` make a number of it, `fromJSON` a list or map. The beginning of a longer name, such as `workflow.labels`, is a map there. Only the last three tables have values of other types.",
    "Generated from `src/spec/validation/variables.ts` by `deno run -A tools/variables_page.ts`.",
  ];
  for (const [scope, title] of Object.entries(SCOPES)) {
    lines.push("", `## ${title}`, "", "| Name | Holds | Meaning |", "| --- | --- | --- |");
    for (const { name, type, meaning } of VARIABLES.filter((row) => row.scope === scope)) {
      lines.push(`| \`${name}\` | ${type} | ${meaning} |`);
    }
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) await writeFile(VARIABLES_PAGE, variablesPage());
