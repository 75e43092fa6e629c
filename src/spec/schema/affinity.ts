/** On which nodes of a cluster pods may run, near which others, and away from which. */
import { core, LABEL_SELECTOR } from "./kubernetes.ts";
import { always, int32, list, namedString, orNull, string, type StructSchema } from "./schema.ts";

const strings = list(string);
const text = always(string);

const requirements = list(core("NodeSelectorRequirement", () => ({
  key: text,
  operator: always(namedString("v1.NodeSelectorOperator")),
  values: strings,
})));

const nodeTerm = core("NodeSelectorTerm", () => ({
  matchExpressions: requirements,
  matchFields: requirements,
}));

const podTerm = core("PodAffinityTerm", () => ({
  labelSelector: LABEL_SELECTOR,
  namespaces: strings,
  topologyKey: text,
  namespaceSelector: LABEL_SELECTOR,
  matchLabelKeys: strings,
  mismatchLabelKeys: strings,
}));

const weighted = core("WeightedPodAffinityTerm", () => ({
  weight: always(int32),
  podAffinityTerm: always(podTerm),
}));

const podTerms = () => ({
  requiredDuringSchedulingIgnoredDuringExecution: list(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(weighted),
});

export const AFFINITY: StructSchema = core("Affinity", () => ({
  nodeAffinity: core("NodeAffinity", () => ({
    requiredDuringSchedulingIgnoredDuringExecution: core("NodeSelector", () => ({
      nodeSelectorTerms: orNull(list(nodeTerm)),
    })),
    preferredDuringSchedulingIgnoredDuringExecution: list(core("PreferredSchedulingTerm", () => ({
      weight: always(int32),
      preference: always(nodeTerm),
    }))),
  })),
  podAffinity: core("PodAffinity", podTerms),
  podAntiAffinity: core("PodAntiAffinity", podTerms),
}));
