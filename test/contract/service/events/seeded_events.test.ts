/** The recorded conversations seed core events, whose times are old. */
import { expect, test } from "vitest";
import { startInstance } from "../../../support/api_server.ts";

test("a stream of events begins with those of a seed, whatever their age and however few members they have", async () => {
  const instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  try {
    const time = "2023-05-04T10:00:00Z";
    await instance.seed([
      { kind: "Event", metadata: { name: "bare", namespace: "shop" }, reason: "Seen" },
      {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "whole", namespace: "shop", creationTimestamp: time },
        involvedObject: { kind: "Workflow", namespace: "shop", name: "bread" },
        source: { component: "oven" },
        firstTimestamp: time,
        lastTimestamp: time,
        type: "Warning",
      },
    ]);
    const answer = await instance.fetch(
      new Request("http://localhost/api/v1/stream/events/shop?listOptions.timeoutSeconds=1"),
    );
    const frames = (await answer.text()).trim().split("\n").map((line) =>
      JSON.parse(line) as { result: { metadata: { resourceVersion?: string } } }
    );
    for (const { result } of frames) delete result.metadata.resourceVersion;
    const always = { eventTime: null, reportingComponent: "", reportingInstance: "" };
    expect(frames.map(({ result }) => result)).toEqual([
      {
        metadata: { name: "bare", namespace: "shop" },
        involvedObject: {},
        source: {},
        firstTimestamp: null,
        lastTimestamp: null,
        reason: "Seen",
        ...always,
      },
      {
        metadata: { name: "whole", namespace: "shop", creationTimestamp: time },
        involvedObject: { kind: "Workflow", namespace: "shop", name: "bread" },
        source: { component: "oven" },
        firstTimestamp: time,
        lastTimestamp: time,
        type: "Warning",
        ...always,
      },
    ]);
  } finally {
    await instance.stop();
  }
});
