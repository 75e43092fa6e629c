/** Title and description, which a manifest has as annotations. */
import type { JSX } from "preact";
import type { ObjectMeta } from "../../../spec/manifest.ts";
import { descriptionOf, titleIn } from "../model/stored.ts";
import { LongWords } from "./long_words.tsx";

export function About({ of }: { of: ObjectMeta }): JSX.Element {
  const [title, description] = [titleIn(of), descriptionOf(of)];
  return (
    <>
      {title !== "" && <LongWords text={title} look="description given-title" />}
      {description !== "" && <LongWords text={description} look="description" />}
    </>
  );
}
