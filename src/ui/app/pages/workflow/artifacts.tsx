/** Artifacts of a step: to download, and to look at in a frame without rights. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { addressOf } from "../../data/root.ts";
import { isOnlyArchived } from "../../model/archived.ts";
import { TEXTS } from "../../texts.ts";

interface ArtifactsProps {
  title: string;
  workflow: Workflow;
  node: NodeStatus;
  direction: "inputs" | "outputs";
}

export function Artifacts(
  { title, workflow, node, direction }: ArtifactsProps,
): JSX.Element | null {
  const [shown, setShown] = useState<string | undefined>(undefined);
  const artifacts = node[direction]?.artifacts ?? [];
  if (artifacts.length === 0) return null;
  const { namespace = "", name = "", uid = "" } = workflow.metadata;
  const hrefOf = (artifact: string) => {
    const place = isOnlyArchived(workflow) ? ["archived-workflows", uid] : ["workflows", name];
    const parts = [namespace, ...place, node.id, direction, artifact];
    return addressOf(`/artifact-files/${parts.map(encodeURIComponent).join("/")}`);
  };
  return (
    <section>
      <h3>{title}</h3>
      <ul class="artifacts">
        {artifacts.map((artifact) => (
          <li key={artifact.name}>
            <span class="wide-name">{artifact.name}</span>
            {artifact.deleted === true
              ? <span class="faint">{TEXTS.panel.deleted}</span>
              : (
                <span class="buttons">
                  <a class="button small" href={hrefOf(artifact.name)} download="">
                    {TEXTS.panel.download}
                  </a>
                  <button
                    type="button"
                    class="small"
                    aria-expanded={shown === artifact.name}
                    onClick={() => setShown(shown === artifact.name ? undefined : artifact.name)}
                  >
                    {TEXTS.panel.preview}
                  </button>
                </span>
              )}
            {shown === artifact.name && (
              <iframe
                sandbox=""
                src={hrefOf(artifact.name)}
                title={TEXTS.panel.previewOf(artifact.name)}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
