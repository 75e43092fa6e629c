/** The calls that resume a waiting step or make it fail, to copy into a terminal or a program. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeStatus } from "../../../../spec/manifest.ts";
import { type CallbackUrls, makeCallbackUrls, type Ref } from "../../data/actions.ts";
import { ROOT } from "../../data/root.ts";
import { session } from "../../data/session.ts";
import { useStore } from "../../data/use_store.ts";
import { failByUrl, failCall, resumeByUrl, resumeCall } from "../../model/curl.ts";
import type { SuppliedOutput } from "../../model/supplied_outputs.ts";
import { absoluteText } from "../../model/times.ts";
import { CopyButton } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";

interface WaitingCallProps {
  workflow: Ref;
  node: NodeStatus;
  /** What whoever resumes it supplies. */
  outputs: readonly SuppliedOutput[];
  /** The visitor may resume the step. */
  isAllowed: boolean;
}

export function WaitingCall(
  { workflow, node, outputs, isAllowed }: WaitingCallProps,
): JSX.Element {
  const hasLogin = useStore(session, ({ who }) => who !== undefined);
  const step = { namespace: workflow.namespace, workflow: workflow.name, nodeId: node.id };
  const target = { server: location.origin + ROOT.replace(/\/$/, ""), hasLogin };
  return (
    <details class="curl">
      <summary>{TEXTS.wait.call}</summary>
      <p>{TEXTS.wait.resumeCall}</p>
      <Command text={resumeCall(step, outputs, target)} />
      <p>{TEXTS.wait.failCall}</p>
      <Command text={failCall(step, target)} />
      {isAllowed && (
        <CallbackCall
          key={node.id}
          workflow={workflow}
          node={node}
          outputs={outputs}
        />
      )}
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

/** The same by URLs that need no login. They are made when they are asked for. */
function CallbackCall(
  { workflow, node, outputs }: Omit<WaitingCallProps, "isAllowed">,
): JSX.Element {
  const [urls, setUrls] = useState<CallbackUrls | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    setUrls(await makeCallbackUrls(workflow, node));
    setBusy(false);
  };
  if (urls === undefined) {
    return (
      <p class="buttons">
        <button type="button" disabled={isBusy} onClick={() => void make()}>
          {TEXTS.wait.makeUrls}
        </button>
      </p>
    );
  }
  return (
    <>
      <p role="status">{TEXTS.wait.urlsAreFor(absoluteText(Date.parse(urls.expiresAt)))}</p>
      <Command text={resumeByUrl(urls.resume, outputs)} />
      <Command text={failByUrl(urls.stop)} />
    </>
  );
}
