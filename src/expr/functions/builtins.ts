/** All built-in functions that take no predicate. */

import type { BuiltinTable } from "./builtin.ts";
import { CONVERT_BUILTINS } from "./builtins_convert.ts";
import { LIST_BUILTINS } from "./builtins_list.ts";
import { NUMBER_BUILTINS } from "./builtins_number.ts";
import { TEXT_BUILTINS } from "./builtins_text.ts";

/** Built-in functions by name. */
export const BUILTINS: BuiltinTable = new Map([
  ...TEXT_BUILTINS,
  ...NUMBER_BUILTINS,
  ...LIST_BUILTINS,
  ...CONVERT_BUILTINS,
]);
