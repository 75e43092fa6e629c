/**
 * The phrases that layout 3 replaces in stored texts: what nearly every header, node and index entry has between its values.
 * A store is read by this list, so it never changes: another list needs another layout.
 */

/** Stands for the name of the actor to which the text belongs. */
export const NAME_CODE = "\x02";

const LABEL = "workflows.argoproj.io/";

/** Where several begin in the same way, the longest one is taken. */
export const PHRASES: readonly string[] = [
  // Headers.
  `{"schema":2,"metadata":{"name":"${NAME_CODE}","`,
  `{"schema":2,"metadata":{"generateName":"`,
  `","name":"${NAME_CODE}","labels":{"${LABEL}`,
  `workflow-template":"`,
  `","${LABEL}phase":"Running","${LABEL}completed":"false"},"namespace":"`,
  `","${LABEL}phase":"Succeeded","${LABEL}completed":"true"},"namespace":"`,
  `","uid":"`,
  `","generation":1,"creationTimestamp":"`,
  `Z","annotations":{"${LABEL}pod-name-format":"v2"}},"phase":"Running","machine":"`,
  `Z","annotations":{"${LABEL}pod-name-format":"v2"}},"phase":"Succeeded","machine":"`,
  `","sequence":`,
  `,"isPrepared":true,"startedAt":`,
  `,"hasMoved":true,"conditions":[{"type":"PodRunning","status":"False"}],"progress":"`,
  // Nodes.
  `{"schema":2,"id":"${NAME_CODE}`,
  `","name":"${NAME_CODE}`,
  `","displayName":"`,
  `","role":"member","order":`,
  `","role":"group","order":`,
  `,"owner":"${NAME_CODE}`,
  `","boundary":"${NAME_CODE}","step":"`,
  `","parents":["${NAME_CODE}`,
  `"],"templateName":"`,
  `","templateScope":"local/","type":"`,
  `","templateScope":"local/","inputs":{"parameters":[{"name":"`,
  `","value":"`,
  `Succeeded","startedAt":`,
  `,"finishedAt":`,
  `Running","startedAt":`,
  // From here on, codes have two characters.
  `"}]},"type":"`,
  `,"progress":"0/1"}`,
  `,"progress":"1/1"`,
  `HTTP","phase":"`,
  `Suspend","phase":"`,
  `Pod","phase":"`,
  `Steps","phase":"`,
  `DAG","phase":"`,
  `","boundary":"${NAME_CODE}","index":`,
  `,"parents":["${NAME_CODE}"],"templateScope":"local/","type":"StepGroup","phase":"`,
  `,"after":["${NAME_CODE}`,
  `"],"templateScope":"local/","type":"StepGroup","phase":"`,
  `","role":"root","order":0,"templateName":"`,
  `,"nodeFlag":{}}`,
  `,"outputs":{"result":"`,
  `,"outputs":{"parameters":[{"name":"`,
  `,"outputs":{"exitCode":"0"`,
  `"},"starts":1}`,
  `,"starts":1}`,
  `,"taskResultSynced":true`,
  `,"resourcesDuration":{"`,
  `Pending","startedAt":`,
  `Failed","startedAt":`,
  `Error","startedAt":`,
  `","message":"`,
  `Omitted"`,
  `Skipped"`,
  `TaskGroup","phase":"`,
  `Retry","phase":"`,
  `","role":"attempt","order":`,
  `","role":"loop","order":`,
  `,"nodeFlag":{"retried":true}`,
  // Arguments.
  `{"schema":2,"spec":{"parameters":[{"name":"`,
  `"}]},"storedWorkflowTemplateSpec":{"parameters":[{"name":"`,
  `"},{"name":"`,
  // Index entries.
  `","Running",`,
  `","Succeeded",`,
  `,null,{"~`,
  `","~phase":"Running","~completed":"false"}`,
  `","~phase":"Succeeded","~completed":"true"}`,
  `"~phase":"Running","~completed":"false"}`,
  `"~phase":"Succeeded","~completed":"true"}`,
  // Other labels, and headers of other forms.
  `","${LABEL}phase":"`,
  `","${LABEL}completed":"`,
  LABEL,
  `},"namespace":"`,
  `","creationTimestamp":"`,
];
