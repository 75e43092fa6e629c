/**
 * Messages that deliberately differ from the reference's: they name this product, fit the call, and show no traces of a
 * programming language. Both wordings become the same text before the comparison.
 */
const WORDINGS: readonly (readonly [common: string, ...wordings: RegExp[]])[] = [
  [
    "token not valid",
    /token not valid\. see https:\S+/g,
    /token not valid: send a token .* before it/g,
    /token not valid: the event is signed, .* or send a token/g,
  ],
  ["", /currently, set only targets suspend nodes: (?=no suspend nodes)/g],
  [
    "set needs a selector",
    /'set' currently only targets suspend nodes, use a node field selector to target them/g,
    /say which waiting suspend steps are to be set: nodeFieldSelector is empty/g,
  ],
  [
    "still there",
    /Workflow already exists on cluster, use argo retry \S+ instead/g,
    /Workflow \S+ is still there: retry it instead of its archived copy/g,
  ],
  [
    "recursion too deep",
    /Maximum recursion depth exceeded\. See https:\S+/g,
    /Maximum recursion depth exceeded: templates call each other more than \d+ levels deep/g,
  ],
  [
    "not a boolean",
    /unable to cast expression result '.*' to bool/gs,
    /the expression must give true or false, not (\[.*?\]|.*?)(?=\]?$)/gs,
  ],
  ["", /; write FIELD=VALUE or .*$/gs],
  ["", /; [^;]* has ended already: \w+$/gs],
  ["", /; nothing is to be set: .*$/gs],
  ["", /; no node has a field '[^']*': .*$/gs],
  ["Stopped", /Stopped with strategy 'Stop'(?:: .*)?$/gs],
  ["Resumed", /Resumed by: map\[[^\]]*\]/g, /Resumed by: .*$/gs],
  ["raw output", /(timed out waiting for the condition: |step \S+: )?raw output parameter/g],
];

/** A message in the words that the reference and this product share. */
export function inCommonWords(message: string): string {
  return WORDINGS.reduce(
    (text, [common, ...wordings]) =>
      wordings.reduce((one, wording) => one.replace(wording, common), text),
    message,
  );
}
