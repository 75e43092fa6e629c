/** Arguments of a step whose references are resolved. */
import type { Artifact, Parameter } from "../../spec/manifest.ts";

/** A parameter. It is absent when it stands for an output of a skipped step. */
export interface GivenParameter extends Parameter {
  isAbsent?: boolean;
}

/** What a step passes to its template. */
export interface GivenArguments {
  parameters?: GivenParameter[];
  artifacts?: Artifact[];
}
