/** A manifest to begin with, for a binding that takes events like one that came. */

/** Members of payloads that tell one kind of event from another. */
const TELLING = ["action", "type", "event", "kind", "state", "status", "object_kind"];
/** Parameters that are proposed. */
const MOST_PARAMETERS = 5;
/** What can stand in an expression, and be the name of a parameter, as it is. */
const MEMBER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
/** What looks so, but means something else in YAML or in an expression. */
const WORDS = ["null", "nil", "true", "false", "in", "not", "and", "or", "let", "if", "else"];
/** What can stand in a text of an expression as it is. */
const PLAIN = /^[A-Za-z0-9 ._:/@-]{1,60}$/;

/** @returns YAML, with one of the event's own values in each part of the selector */
export function bindingFor(discriminator: string, payload: unknown): string {
  const isObject = typeof payload === "object" && payload !== null && !Array.isArray(payload);
  const members = Object.entries(isObject ? payload : {}).filter(([name]) =>
    MEMBER.test(name) && !WORDS.includes(name.toLowerCase())
  );
  const parts = [
    ...(PLAIN.test(discriminator) ? [`discriminator == "${discriminator}"`] : []),
    ...members.filter(([name, value]) =>
      TELLING.includes(name) && typeof value === "string" && PLAIN.test(value)
    ).map(([name, value]) => `payload.${name} == "${value}"`),
  ];
  const names = members.map(([name]) => name).filter((name) => !TELLING.includes(name));
  return `metadata:
  name: my-binding
spec:
  event:
    selector: '${parts.length === 0 ? "true" : parts.join(" && ")}'
  submit:
    workflowTemplateRef:
      name: my-template
${parametersOf(names.slice(0, MOST_PARAMETERS))}`;
}

function parametersOf(names: readonly string[]): string {
  if (names.length === 0) return "";
  const each = names.map((name) =>
    `        - name: ${name}
          valueFrom:
            event: payload.${name}
`
  );
  return `    arguments:
      parameters:
${each.join("")}`;
}
