/** Scenarios that only count what was lost or doubled: they may run beside other tests. */
import { testShortForms } from "./short_form.ts";

testShortForms(false);
