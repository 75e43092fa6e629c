/**
 * Writes `docs/compatibility.md`: the support for every member of the manifests, and where Sluice deliberately differs from
 * the reference. The claims are data (`support.ts`, `decisions.ts`); the evidence for a member is looked up in the tests.
 */
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "../src/base/json.ts";
import { parseDocuments } from "../src/spec/parse.ts";
import type { Schema, StructSchema } from "../src/spec/schema/schema.ts";
import { KIND_SCHEMAS } from "../src/spec/schema/kinds.ts";
import { API_DECISIONS, QUIRK_DECISIONS } from "./decisions.ts";
import { type Claim, CLAIMS, type Support } from "./support.ts";

const ROOT = join(import.meta.dirname, "..");
export const COMPATIBILITY_PAGE: string = join(ROOT, "docs/compatibility.md");

/** One member of one struct. */
export interface Row {
  struct: StructSchema;
  member: string;
  /** There must be exactly one. */
  claims: Claim[];
}

/** Every struct that a manifest can hold, once, in order of first use. */
export function structs(): StructSchema[] {
  const found = new Map<string, StructSchema>();
  const visit = (schema: Schema): void => {
    switch (schema.kind) {
      case "struct":
        if (found.has(schema.goType)) return;
        found.set(schema.goType, schema);
        for (const { schema: member } of schema.fields().values()) visit(member);
        return;
      case "list":
        return visit(schema.items);
      case "map":
        return visit(schema.values);
      case "stepGroup":
        return visit(schema.step);
      default:
        return;
    }
  };
  for (const schema of KIND_SCHEMAS.values()) visit(schema);
  return [...found.values()];
}

/** Every member with its claims. */
export function rows(): Row[] {
  return structs().flatMap((struct) => {
    const exact = CLAIMS.filter(({ of }) => of.split(" ").includes(shortName(struct)));
    const own = exact.length > 0
      ? exact
      : CLAIMS.filter(({ of }) => of.split(" ").includes(struct.name));
    return [...struct.fields().keys()].map((member) => {
      const named = own.filter(({ members }) => members.split(" ").includes(member));
      return { struct, member, claims: named.length > 0 ? named : own.filter(isRest) };
    });
  });
}

/** `Template`, `core.Container`. */
export function shortName({ goType }: StructSchema): string {
  return goType.replace(/^v1alpha1\./, "").replace(/^v1\./, "core.");
}

function isRest({ members }: Claim): boolean {
  return members === "*";
}

/** Members in the manifests that tests run, as `Struct.member` → manifest. */
function shownMembers(): Map<string, string> {
  const shown = new Map<string, string>();
  for (const folder of ["examples", "test/fixtures/manifests"]) {
    for (const name of readdirSync(join(ROOT, folder)).filter((one) => one.endsWith(".yaml"))) {
      for (const { value } of parseDocuments(readFileSync(join(ROOT, folder, name), "utf8"))) {
        for (const manifest of manifestsIn(value)) {
          const schema = KIND_SCHEMAS.get(String(manifest["kind"]));
          if (schema === undefined) continue;
          collect(manifest, schema, (member) => {
            if (!shown.has(member)) shown.set(member, name.replace(/(\.test)?\.yaml$/, ""));
          });
        }
      }
    }
  }
  return shown;
}

function manifestsIn(value: unknown): Record<string, unknown>[] {
  if (!isJsonObject(value)) return [];
  if (value.kind !== undefined) return [value];
  const others = Array.isArray(value.manifests) ? value.manifests : [];
  return [value.workflow, ...others].filter(isJsonObject);
}

function collect(value: unknown, schema: Schema, add: (member: string) => void): void {
  if (schema.kind === "struct" && isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      const field = schema.findField(key);
      if (field === undefined) continue;
      add(`${schema.goType}.${field.name}`);
      collect(inner, field.field.schema, add);
    }
  } else if (schema.kind === "map" && isJsonObject(value)) {
    for (const inner of Object.values(value)) collect(inner, schema.values, add);
  } else if ((schema.kind === "list" || schema.kind === "stepGroup") && Array.isArray(value)) {
    const items = schema.kind === "list" ? schema.items : schema.step;
    for (const inner of value) collect(inner, items, add);
  }
}

function evidence(
  { struct, member, claims: [claim] }: Row,
  manifests: ReadonlyMap<string, string>,
): string {
  const manifest = manifests.get(`${struct.goType}.${member}`);
  if (manifest !== undefined) return `manifest \`${manifest}\``;
  return claim?.shown === undefined ? "" : `\`${claim.shown}\``;
}

const MARK = { y: "yes", n: "–" } as const;

function cells(support: Support): string {
  switch (support) {
    case "server":
      return "yes | yes | yes";
    case "none":
      return "– | – | –";
    default:
      return [...support].map((one) => MARK[one as "y" | "n"]).join(" | ");
  }
}

/** The page as Markdown. */
export function compatibilityPage(): string {
  const all = rows();
  const manifests = shownMembers();
  const lines = [
    "# Compatibility",
    "",
    "How each executor supports every member of the manifests of Argo Workflows 4.1, and where Sluice differs on purpose.",
    "Generated by `deno run -A tools/compatibility.ts` from `tools/support.ts` and `tools/decisions.ts`. A test compares the claims with the",
    "schema, the sources and the pods that are made. Whoever adds a member, or begins or stops reading one, must change its claim.",
    "",
    "In the tables, – means that the member is accepted and shown but has no effect, or is refused with a message if the note says so. The last column names a manifest",
    "in `examples` or `test/fixtures/manifests` that has the member and is run by a test, or an executor test that sets it. It is empty if there is neither.",
    "The conformance cases also show the rules of validation and the node trees (`deno task conformance`).",
    "",
    summary(all),
    "",
    "## Decisions where the reference is probably wrong",
    "",
    "A test in `test/fixtures/manifests/decisions.test.yaml`, or the test named, shows each of them.",
    "",
    "| Subject | The reference | Sluice | | Why |",
    "| --- | --- | --- | --- | --- |",
    ...QUIRK_DECISIONS.map(({ subject, reference, sluice, choice, why }) =>
      `| ${subject} | ${reference} | ${sluice} | ${choice} | ${why} |`
    ),
    "",
    "## The API",
    "",
    "Differences made on purpose. The request or test in the last column shows each of them. Messages are the reference's.",
    "",
    "| Place | The reference | Sluice | Shown by |",
    "| --- | --- | --- | --- |",
    ...API_DECISIONS.map(({ place, reference, sluice, check, shown }) =>
      `| ${place} | ${reference} | ${sluice} | ${
        check === undefined
          ? `\`${shown?.split(":")[0]}\``
          : `\`${check.method} ${check.path}\` → ${check.status}`
      } |`
    ),
    "",
    "## Members",
  ];
  for (const struct of structs()) {
    const own = all.filter((row) => row.struct === struct);
    if (own.length === 0) continue;
    lines.push("", `### ${shortName(struct)}`, "");
    lines.push("| Member | process | container | kubernetes | Note | Shown by |");
    lines.push("| --- | --- | --- | --- | --- | --- |");
    for (const row of own) {
      const [claim] = row.claims;
      if (claim === undefined) continue;
      lines.push(
        `| \`${row.member}\` | ${cells(claim.is)} | ${claim.note ?? ""} | ${
          evidence(row, manifests)
        } |`,
      );
    }
  }
  return `${lines.join("\n")}\n`;
}

function summary(all: readonly Row[]): string {
  const count = (at: number) =>
    all.filter(({ claims: [claim] }) =>
      claim !== undefined && (claim.is === "server" || claim.is[at] === "y")
    ).length;
  const none = all.filter(({ claims: [claim] }) => claim?.is === "none").length;
  return `Of ${all.length} members, ${count(0)} take effect with the process executor, ${
    count(1)
  } with the container executor, ${count(2)} with the kubernetes executor; ${none} with none.`;
}

if (import.meta.main) await writeFile(COMPATIBILITY_PAGE, compatibilityPage());
