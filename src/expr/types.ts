/** Static types: what the compiler knows about an expression before it runs. */

/** A static type. `unknown` is a value whose type only the run will show. */
export type StaticType =
  | { readonly kind: "unknown" | "nil" | "bool" | "int" | "float" | "string" | "uint" | "bytes" }
  | { readonly kind: "time" | "duration" | "month" | "weekday" | "zone" }
  | { readonly kind: "array"; readonly element: StaticType }
  | { readonly kind: "map" }
  | { readonly kind: "func"; readonly signature?: Signature };

/** What is known of a function before it is called. */
export interface Signature {
  readonly params: readonly StaticType[];
  /** The last parameter may come any number of times. */
  readonly variadic?: boolean;
  readonly result: StaticType;
}

/** Name of the type as Go writes it, for messages. */
export function typeText(type: StaticType): string {
  switch (type.kind) {
    case "unknown":
      return "unknown";
    case "float":
      return "float64";
    case "uint":
      return "uint8";
    case "bytes":
      return "[]uint8";
    case "array":
      return type.element.kind === "unknown" ? "[]interface {}" : `[]${typeText(type.element)}`;
    case "map":
      return "map[string]interface {}";
    case "time":
      return "time.Time";
    case "duration":
      return "time.Duration";
    case "month":
      return "time.Month";
    case "weekday":
      return "time.Weekday";
    case "zone":
      return "*time.Location";
    case "func":
      return "func(...interface {}) (interface {}, error)";
    case "nil":
    case "bool":
    case "int":
    case "string":
      return type.kind;
  }
}
