/** What every view of a workflow's steps gets. */
import type { Workflow } from "../../../../spec/manifest.ts";
import type { TreeItem } from "../../model/tree.ts";

export interface ViewProps {
  workflow: Workflow;
  tree: readonly TreeItem[];
  /** Id of the node whose panel is open. */
  selected: string | undefined;
  /** Opens the panel of a node; undefined closes it. */
  select: (id: string | undefined) => void;
  /** While steps are chosen for a retry. */
  choice?: Choice | undefined;
}

export interface Choice {
  ids: ReadonlySet<string>;
  /** Chooses these, or gives them up if they are chosen. */
  turn: (ids: readonly string[]) => void;
}
