/** Pages whose scripts are loaded when they are first opened. */
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Trouble, troubleOf } from "../data/api.ts";
import { addressOf } from "../data/root.ts";
import type { PageProps } from "../paths.ts";
import { LoadState } from "./basics.tsx";

const FRESH_MS = 10_000;

/** A page that `load` brings. */
export function lazyPage(
  load: () => Promise<ComponentType<PageProps>>,
): ComponentType<PageProps> {
  let found: ComponentType<PageProps> | undefined;
  return function LazyPage(props: PageProps): JSX.Element {
    const [isFound, setFound] = useState(found !== undefined);
    const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
    const bring = async () => {
      try {
        found = await load();
        setFound(true);
      } catch (error) {
        setTrouble(await whyNot(error));
      }
    };
    useEffect(() => {
      if (!isFound) void bring();
    }, []);
    const Page = found;
    if (Page !== undefined) return <Page {...props} />;
    return (
      <div class="page">
        <LoadState trouble={trouble} isLoaded={false} again={bring} />
      </div>
    );
  };
}

/** No connection; or the server was replaced, and has the scripts of another version: then a new document has their names. */
async function whyNot(error: unknown): Promise<Trouble> {
  try {
    await fetch(addressOf("/healthz"));
  } catch {
    return { kind: "unreachable", message: "" };
  }
  // A document that is new already would find nothing else.
  if (performance.now() > FRESH_MS) location.reload();
  return troubleOf(error);
}
