/** `migrate argo`: brings an installation of Argo Workflows along. First it only tells what would happen. */
import { type Command, Option } from "commander";
import { defined } from "../../base/defined.ts";
import { ClientError } from "../../client/transport.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { collect, type Context, contextOf, example, UsageError } from "../context.ts";
import { say } from "../output.ts";
import { Archive } from "./archive_source.ts";
import { type ExecutorName, EXECUTORS } from "./check.ts";
import { openCluster } from "./cluster_source.ts";
import { openFiles } from "./file_source.ts";
import { importManifests, type ManifestImport } from "./import_manifests.ts";
import { importArchive, importWorkflows } from "./import_workflows.ts";
import { Progress } from "./progress.ts";
import { Report } from "./report.ts";
import { keepHeapSmall } from "./small_heap.ts";
import { CONTROLLER_CONFIG, type Selection } from "./source.ts";
import { Target } from "./target.ts";

interface MigrateOptions {
  context?: string;
  kubeconfig?: string;
  file?: string[];
  instanceId?: string;
  apiGroup: string;
  controllerConfigmap: string;
  archive?: string;
  archiveOnly?: boolean;
  archiveClusterName: string;
  archiveNodesTable: string;
  withWorkflows?: boolean;
  executor?: ExecutorName;
  apply?: boolean;
  overwrite?: boolean;
  activeCrons?: boolean;
  output?: "json";
}

/** Steps of Argo Workflows run in pods. */
const USUAL_EXECUTOR: ExecutorName = "kubernetes";

/** Registers `migrate`. `exit` receives the exit status of a command that ran. */
export function addMigrateCommand(program: Command, exit: (status: number) => void): void {
  const group = program.command("migrate").description("import from another service");
  group.command("argo")
    .description(
      "import templates, cron workflows, bindings, ConfigMaps and finished workflows of Argo Workflows; " +
        "without --apply it only reports what would become of each",
    )
    .option("--context <name>", "context of the kubeconfig")
    .option(
      "--kubeconfig <file>",
      "how to reach the cluster (otherwise KUBECONFIG, ~/.kube/config)",
    )
    .option("-f, --file <path>", "files or folders instead of a cluster; may be repeated", collect)
    .option("--instance-id <id>", "only what belongs to the controller with this instanceID")
    .option("--api-group <name>", "group of its kinds", STANDARD_NAMING.apiGroup)
    .option(
      "--controller-configmap <name>",
      "the ConfigMap with the settings of the controller",
      CONTROLLER_CONFIG,
    )
    .option("--with-workflows", "also finished workflows of the cluster or the files")
    .option("--archive <url>", "also the archive: postgres://… or mysql://…")
    .option("--archive-only", "the archive and nothing else")
    .option("--archive-cluster-name <name>", "clusterName of the archive", "default")
    .option("--archive-nodes-table <name>", "table of nodes that were offloaded", "argo_workflows")
    .addOption(
      new Option("--executor <name>", "what will run the steps, if the server does not say")
        .choices(EXECUTORS),
    )
    .option("--apply", "import; without it nothing is changed")
    .option("--overwrite", "replace objects of the server that differ")
    .option("--active-crons", "let cron workflows run at once instead of importing them suspended")
    .addOption(new Option("-o, --output <format>", "every object, as JSON").choices(["json"]))
    .addHelpText(...example(
      "sluice migrate argo",
      "sluice migrate argo -n team-a --with-workflows --apply",
      "kubectl get wftmpl,cwft,cwf,wfeb,cm -A -o yaml > argo.yaml; sluice migrate argo -f argo.yaml",
      "sluice migrate argo --archive postgres://argo:PASSWORD@db/argo --archive-only --apply",
    ))
    .action(async (options: MigrateOptions, command: Command) =>
      exit(await migrate(contextOf(command), options, givenNamespace(command)) ? 0 : 1)
    );
}

/** The namespace that was asked for; undefined when it is only the default, or `all`. */
function givenNamespace(command: Command): string | undefined {
  const { namespace } = command.optsWithGlobals<{ namespace: string }>();
  const isGiven = command.getOptionValueSourceWithGlobals("namespace") !== "default";
  return isGiven && namespace !== "all" ? namespace : undefined;
}

/** @returns whether everything that was meant to be imported is, or would be */
async function migrate(
  context: Context,
  options: MigrateOptions,
  namespace: string | undefined,
): Promise<boolean> {
  if (options.archiveOnly === true && options.archive === undefined) {
    throw new UsageError("--archive-only needs --archive");
  }
  const { file, kubeconfig, context: ofCluster } = options;
  if (file !== undefined && (kubeconfig ?? ofCluster) !== undefined) {
    throw new UsageError(
      "--file is read instead of a cluster: leave --kubeconfig and --context out",
    );
  }
  const isDryRun = options.apply !== true;
  const { instanceId, apiGroup, controllerConfigmap: controllerConfig, withWorkflows } = options;
  const selection = {
    apiGroup,
    controllerConfig,
    ...defined({ namespace, instanceId, withWorkflows }),
  };
  const archive = options.archive === undefined ? undefined : await Archive.open({
    address: options.archive,
    clusterName: options.archiveClusterName,
    nodesTable: options.archiveNodesTable,
  });
  const leaveHeap = keepHeapSmall();
  try {
    const { target, executor } = await findTarget(context, options);
    const progress = new Progress();
    const report = new Report(options.output === "json", isDryRun, () => progress.clear());
    const run = { target, report, progress, isDryRun, executor };
    if (options.archiveOnly !== true) await importInstallation(options, selection, archive, run);
    if (archive !== undefined) await importArchive(archive, selection, run);
    return report.end();
  } finally {
    leaveHeap();
    await archive?.close();
  }
}

async function importInstallation(
  { file, kubeconfig, context, withWorkflows }: MigrateOptions,
  selection: Selection,
  archive: Archive | undefined,
  run: Omit<ManifestImport, "source" | "controllerConfig">,
): Promise<void> {
  const source = file === undefined
    ? await openCluster(defined({ kubeconfig, context }), selection, run.report)
    : await openFiles(file, selection, run.report);
  try {
    await importManifests({ ...run, source, controllerConfig: selection.controllerConfig });
    const nodesOf = archive && ((uid: string, version: string) => archive.nodes(uid, version));
    if (withWorkflows === true) await importWorkflows(source, nodesOf, run);
    if (run.report.isEmpty) run.report.unseen(source.name, "nothing was found there");
  } finally {
    source.close();
  }
}

/** The server, and what runs steps there. A dry run does without a server that does not answer. */
async function findTarget(
  context: Context,
  options: MigrateOptions,
): Promise<{ target: Target | undefined; executor: ExecutorName }> {
  const target = new Target(context, {
    isDryRun: options.apply !== true,
    overwrite: options.overwrite === true,
    isActive: options.activeCrons === true,
  });
  const { executor } = options;
  try {
    const there = await target.executor();
    return { target, executor: executor ?? there ?? USUAL_EXECUTOR };
  } catch (error) {
    const isAway = error instanceof ClientError && error.status === 0;
    if (!isAway || options.apply === true) throw error;
    say(`${error.message}: cannot tell what is already there`);
    return { target: undefined, executor: executor ?? USUAL_EXECUTOR };
  }
}
