/** Parts of pods and claims that only Kubernetes reads are decoded by their types, as the reference does. */
import { expect, it } from "vitest";
import { decodeManifest } from "./decode_manifest.ts";

const volume = (source: object) => ({ volumes: [{ name: "v", ...source }] });
const container = (members: object) => ({ templates: [{ name: "t", container: members }] });
const claim = (members: object) => ({ volumeClaimTemplates: [members] });

const rows: [string, object, string][] = [
  ["a disk's partition", volume({ gcePersistentDisk: { pdName: "d", partition: "1" } }), "int32"],
  ["an address", volume({ iscsi: { targetPortal: 1, iqn: "i", lun: 0 } }), "string"],
  ["monitors", volume({ cephfs: { monitors: "m" } }), "[]string"],
  ["a certificate", volume({ projected: { sources: [{ clusterTrustBundle: [] }] } }), "v1.Cluster"],
  ["a device", container({ volumeDevices: [{ name: "d", devicePath: 1 }] }), "string"],
  ["a resize", container({ resizePolicy: [{ resourceName: 1 }] }), "v1.ResourceName"],
  ["a profile", { securityContext: { appArmorProfile: { type: 1 } } }, "v1.AppArmorProfileType"],
  ["Windows", { securityContext: { windowsOptions: { hostProcess: "x" } } }, "bool"],
  ["a claim's source", claim({ spec: { dataSource: { kind: 1 } } }), "string"],
  ["a claim's state", claim({ status: { accessModes: "x" } }), "[]v1.Persistent"],
];

it.each(rows)("%s of a wrong type is refused", (_name, spec, type) => {
  expect(() => decodeManifest("Workflow", { spec })).toThrow(` of type ${type}`);
});

it("quantities in a claim's state are read", () => {
  const spec = claim({ status: { capacity: { storage: "much" } } });
  expect(() => decodeManifest("Workflow", { spec })).toThrow("quantities must match");
});

it("what is right is kept, with what the reference always shows", () => {
  const spec = volume({ scaleIO: { gateway: "g", system: "s", other: 1 } });
  expect(decodeManifest("Workflow", { spec }).spec.volumes).toEqual([
    { name: "v", scaleIO: { gateway: "g", system: "s", secretRef: null } },
  ]);
});

it("the ConfigMap of a cache has a name only", () => {
  const cache = { configMap: { name: "c", key: "k" } };
  const spec = {
    templates: [{ name: "t", suspend: {}, memoize: { key: "a", maxAge: "", cache } }],
  };
  expect(decodeManifest("Workflow", { spec }).spec.templates?.[0]?.memoize?.cache).toEqual({
    configMap: { name: "c" },
  });
});
