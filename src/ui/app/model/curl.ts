/** Commands to copy into a terminal. */

/** A word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export interface WaitingStep {
  namespace: string;
  workflow: string;
  nodeId: string;
}

/** The call that resumes a waiting step. @param server address of the server, without a slash at its end */
export function resumeCall(
  { namespace, workflow, nodeId }: WaitingStep,
  { server, hasLogin }: { server: string; hasLogin: boolean },
): string {
  const url = `${server}/api/v1/workflows/${encodeURIComponent(namespace)}/` +
    `${encodeURIComponent(workflow)}/resume`;
  const body = JSON.stringify({ nodeFieldSelector: `id=${nodeId}` });
  return [
    `curl -X PUT ${shellWord(url)}`,
    ...(hasLogin ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    "-H 'Content-Type: application/json'",
    `-d ${shellWord(body)}`,
  ].join(" \\\n  ");
}
