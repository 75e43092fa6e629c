/** The `sprig` map: the generic functions of sprig as expressions see them, without `env` and `expandenv`. */
import { fault } from "../values/error.ts";
import { DATE_FUNCTIONS } from "./sprig_date.ts";
import { DICT_FUNCTIONS } from "./sprig_dict.ts";
import { HASH_FUNCTIONS } from "./sprig_hash.ts";
import { LIST_FUNCTIONS } from "./sprig_list.ts";
import { LOGIC_FUNCTIONS } from "./sprig_logic.ts";
import { NUMBER_FUNCTIONS } from "./sprig_number.ts";
import { PATH_FUNCTIONS } from "./sprig_path.ts";
import { RANDOM_FUNCTIONS } from "./sprig_random.ts";
import { REGEX_FUNCTIONS } from "./sprig_regex.ts";
import { TEXT_FUNCTIONS } from "./sprig_text.ts";
import { VERSION_FUNCTIONS } from "./sprig_version.ts";
import { GoFunction, newMap, setOwn, type ValueMap } from "../values/values.ts";

/** Functions that would generate keys, take seconds, or use the network. They exist, but fail when called. */
const REFUSED = [
  ...["bcrypt", "htpasswd", "derivePassword", "encryptAES", "decryptAES", "genPrivateKey"],
  ...["buildCustomCert", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey"],
  ...["genSignedCert", "genSignedCertWithKey", "getHostByName"],
];

function refused(name: string): GoFunction {
  return new GoFunction(
    name,
    () =>
      fault(
        `sprig.${name} is not available: expressions have no access to keys, certificates and the network`,
      ),
  );
}

/** A fresh `sprig` map: function name → function. */
export function sprigMap(): ValueMap {
  const map = newMap();
  const functions = [
    TEXT_FUNCTIONS,
    NUMBER_FUNCTIONS,
    LIST_FUNCTIONS,
    DICT_FUNCTIONS,
    LOGIC_FUNCTIONS,
    REGEX_FUNCTIONS,
    DATE_FUNCTIONS,
    PATH_FUNCTIONS,
    HASH_FUNCTIONS,
    RANDOM_FUNCTIONS,
    VERSION_FUNCTIONS,
    REFUSED.map(refused),
  ].flat();
  for (const called of functions) setOwn(map, called.name, called);
  return map;
}
