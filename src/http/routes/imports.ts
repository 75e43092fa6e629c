/** Routes that take objects of another installation as they are. */
import { importConfigMap } from "../../service/manifests/import_config_map.ts";
import { importWorkflow } from "../../service/workflows/import.ts";
import {
  CONFIG_MAP_IMPORT,
  type ConfigMapImportBody,
  IMPORTED,
  WORKFLOW_IMPORT,
  type WorkflowImportBody,
} from "../requests.ts";
import { param, type Route, unary } from "../route.ts";

const tag = "imports";
const answer = { type: "object", schema: IMPORTED } as const;

/** Every route of imports. */
export const IMPORT_ROUTES: readonly Route[] = [
  unary<WorkflowImportBody>({
    method: "POST",
    path: "/api/v1/imports/{namespace}/workflow",
    operation: "ImportService_ImportWorkflow",
    tag,
    summary: "Take a finished workflow of another installation into the archive",
    body: WORKFLOW_IMPORT,
    answer,
    run: async ({ service, caller, body, ...call }) => ({
      ...await importWorkflow(service, caller, param(call, "namespace"), body.workflow, body),
    }),
  }),
  unary<ConfigMapImportBody>({
    method: "POST",
    path: "/api/v1/imports/{namespace}/config-map",
    operation: "ImportService_ImportConfigMap",
    tag,
    summary: "Take a config map that workflows refer to",
    body: CONFIG_MAP_IMPORT,
    answer,
    run: async ({ service, caller, body, ...call }) => ({
      ...await importConfigMap(service, caller, param(call, "namespace"), body.configMap, body),
    }),
  }),
];
