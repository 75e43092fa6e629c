/** The documentation as a site: the same Markdown files, with navigation and search. `deno task docs` builds it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const ROOT = join(import.meta.dirname ?? "", "../..");

interface Entry {
  text: string;
  link: string;
}

/** A page with its own heading as its name. */
function page(file: string): Entry {
  const [, text = file] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
  return { text: text.replaceAll("`", ""), link: `/${file.replace(/\.md$/, "")}` };
}

function pagesOf(folder: string): Entry[] {
  return readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".md")).sort()
    .map((name) => page(`${folder}/${name}`));
}

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
/** Released versions with a site of their own, newest first. */
const released: string[] = JSON.parse(
  readFileSync(join(import.meta.dirname ?? "", "versions.json"), "utf8"),
);

const group = (text: string, items: Entry[]) => ({ text, collapsed: false, items });

export default {
  title: "Sluice",
  description: "Workflows that outlive processes",
  srcDir: ROOT,
  srcExclude: ["**/node_modules/**", "src/**", "test/**", "helm/**", "bench/**", "loadtest/**"],
  rewrites: { "README.md": "index.md" },
  outDir: join(ROOT, "dist/docs"),
  vite: { publicDir: join(ROOT, "docs/public") },
  cacheDir: join(ROOT, "node_modules/.cache/vitepress"),
  /** Where the site is below its server: `/`, or the folder of a version. */
  base: process.env.DOCS_BASE ?? "/",
  cleanUrls: false,
  // Links to files of the repository, which are no pages.
  ignoreDeadLinks: [/\/(Dockerfile|helm\/.*|examples\/.*)$/],
  markdown: {
    languageAlias: { expr: "js", when: "js", depends: "js", template: "yaml" },
    config(md) {
      // Double braces are template variables here, not Vue's.
      for (const name of ["text", "code_inline", "html_inline"]) {
        const rule = md.renderer.rules[name];
        md.renderer.rules[name] = (...given) => (rule?.(...given) ?? "").replaceAll("{{", "&#123;&#123;");
      }
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Tutorials", link: "/docs/tutorials/async-job" },
      { text: "API", link: "/docs/reference/routes" },
      {
        text: version,
        items: [
          { text: "Changes", link: "/CHANGELOG" },
          ...released.map((one) => ({ text: one, link: `/${one}/`, target: "_self" })),
        ],
      },
    ],
    sidebar: [
      group("Start", [{ text: "Sluice", link: "/" }, ...pagesOf("docs/tutorials")]),
      group("Use", [
        "docs/packages.md",
        "docs/clients.md",
        "docs/events.md",
        "docs/callbacks.md",
        "docs/webhooks.md",
        "docs/ui.md",
        "docs/expressions.md",
        "docs/testing-workflows.md",
        "docs/argo-ui.md",
      ].map(page)),
      group("Run", [
        "docs/image.md",
        "docs/executors.md",
        "docs/kubernetes.md",
        "docs/growing.md",
        "docs/archive-store.md",
        "docs/coming-from-argo.md",
        "docs/history.md",
        "docs/upgrading.md",
        "docs/authentication.md",
        "docs/observability.md",
        "docs/guarantees.md",
        "docs/runbook.md",
        "docs/performance.md",
        "SECURITY.md",
      ].map(page)),
      group("Reference", [
        page("docs/api.md"),
        page("docs/variables.md"),
        ...pagesOf("docs/reference"),
        page("docs/compatibility.md"),
      ]),
      group("Inside", [
        page("docs/architecture.md"),
        page("docs/machines.md"),
        ...pagesOf("docs/decisions"),
        page("CONTRIBUTING.md"),
      ]),
    ],
  },
};
