/** The members that a manifest has, and what is claimed about each of them. */
import { isJsonObject } from "../base/json.ts";
import type { Schema, StructSchema } from "./schema/schema.ts";
import { type Claim, CLAIMS } from "./support.ts";

/** One member that a manifest has. */
export interface FoundMember {
  struct: StructSchema;
  member: string;
  /** From the object on: `spec.templates[0].plugin`. */
  path: string;
  /** It is there only because the reference writes it always, also when nobody has set it: `resources: {}`. */
  isFiller: boolean;
}

/** Calls `visit` for every known member of a value, outer ones first. Unknown members are passed over. */
export function visitMembers(
  value: unknown,
  schema: Schema,
  visit: (found: FoundMember) => void,
  path = "",
): void {
  if (schema.kind === "struct" && isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      const found = schema.findField(key);
      if (found === undefined) continue;
      const here = path === "" ? found.name : `${path}.${found.name}`;
      const isFiller = found.field.always && isEmpty(inner);
      visit({ struct: schema, member: found.name, path: here, isFiller });
      visitMembers(inner, found.field.schema, visit, here);
    }
  } else if (schema.kind === "map" && isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      visitMembers(inner, schema.values, visit, `${path}.${key}`);
    }
  } else if ((schema.kind === "list" || schema.kind === "stepGroup") && Array.isArray(value)) {
    const items = schema.kind === "list" ? schema.items : schema.step;
    value.forEach((inner, index) => visitMembers(inner, items, visit, `${path}[${index}]`));
  }
}

function isEmpty(value: unknown): boolean {
  return value === "" || value === null ||
    (isJsonObject(value) && Object.keys(value).length === 0);
}

/** The claims about a member; there is exactly one for each member of the schema. */
export function claimsFor(struct: StructSchema, member: string): Claim[] {
  const exact = about(shortName(struct));
  const own = exact.length > 0 ? exact : about(struct.name);
  const named = own.filter(({ members }) => members.split(" ").includes(member));
  return named.length > 0 ? named : own.filter(({ members }) => members === "*");
}

/** The name of a struct in the claims: `Template`, `core.Container`. */
export function shortName({ goType }: StructSchema): string {
  return goType.replace(/^v1alpha1\./, "").replace(/^v1\./, "core.");
}

function about(name: string): Claim[] {
  return CLAIMS.filter(({ of }) => of.split(" ").includes(name));
}
