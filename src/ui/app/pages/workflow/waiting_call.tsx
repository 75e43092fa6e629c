/** The call that resumes a waiting step, to copy into a terminal or a program. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeStatus } from "../../../../spec/manifest.ts";
import { type CallbackUrl, makeCallbackUrl, type Ref } from "../../data/actions.ts";
import { ROOT } from "../../data/root.ts";
import { session } from "../../data/session.ts";
import { useStore } from "../../data/use_store.ts";
import { resumeCall, shellWord } from "../../model/curl.ts";
import { absoluteText } from "../../model/times.ts";
import { CopyButton } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";

interface WaitingCallProps {
  workflow: Ref;
  node: NodeStatus;
  /** The visitor may resume the step. */
  isAllowed: boolean;
}

export function WaitingCall({ workflow, node, isAllowed }: WaitingCallProps): JSX.Element {
  const hasLogin = useStore(session, ({ who }) => who !== undefined);
  const step = { namespace: workflow.namespace, workflow: workflow.name, nodeId: node.id };
  const server = { server: location.origin + ROOT.replace(/\/$/, ""), hasLogin };
  return (
    <details class="curl">
      <summary>{TEXTS.wait.call}</summary>
      <Command text={resumeCall(step, server)} />
      {isAllowed && <CallbackCall key={node.id} workflow={workflow} node={node} />}
    </details>
  );
}

function Command({ text }: { text: string }): JSX.Element {
  return (
    <>
      <pre class="code" tabIndex={0}><code>{text}</code></pre>
      <CopyButton text={text} what={TEXTS.copy.command} />
    </>
  );
}

/** The same by a URL that needs no login. It is made when it is asked for. */
function CallbackCall({ workflow, node }: Omit<WaitingCallProps, "isAllowed">): JSX.Element {
  const [url, setUrl] = useState<CallbackUrl | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    setUrl(await makeCallbackUrl(workflow, node));
    setBusy(false);
  };
  if (url === undefined) {
    return (
      <button type="button" disabled={isBusy} onClick={() => void make()}>
        {TEXTS.wait.makeUrl}
      </button>
    );
  }
  return (
    <>
      <p role="status">{TEXTS.wait.urlIsFor(absoluteText(Date.parse(url.expiresAt)))}</p>
      <Command text={`curl -X POST ${shellWord(url.resume)}`} />
    </>
  );
}
