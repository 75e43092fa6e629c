/** Lays out graphs beside the page, which stays responsive however large they are. */
import { withBlocks } from "./model/blocks.ts";
import { layered } from "./model/layered.ts";
import type { LayoutRequest } from "./model/layout.ts";
import { tidy } from "./model/tidy.ts";

/** Above so many nodes the layout has to be quick rather than tidy: dagre takes half a second for 300 nodes. */
const MANY = 100;

addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  postMessage(withBlocks(data, (rest) => rest.nodes.length > MANY ? layered(rest) : tidy(rest)));
});
