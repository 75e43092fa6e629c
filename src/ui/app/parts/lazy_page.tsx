/** Pages whose scripts are loaded when they are first opened. */
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Trouble } from "../data/api.ts";
import { troubleOfScript } from "../data/scripts.ts";
import type { PageProps } from "../paths.ts";
import { LoadState } from "./basics.tsx";

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
        setTrouble(await troubleOfScript(error));
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
