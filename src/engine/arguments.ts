/** Arguments of a step after its references were resolved. */
import type { Artifact, Parameter } from "../spec/manifest.ts";

/** A parameter that may stand for the absent output of a skipped producer. */
export interface GivenParameter extends Parameter {
  isAbsent?: boolean;
}

/** What a step passes to its template. */
export interface GivenArguments {
  parameters?: GivenParameter[];
  artifacts?: Artifact[];
}
