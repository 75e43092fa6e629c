"""Drives a running server with Hera, the Python library that users have scripts for.

Usage: python hera_walk.py http://127.0.0.1:2746 [TOKEN]
Prints one line for each step and ends with status 1 at the first that is not as expected.
"""

import sys
import time

import requests
from hera.events.models import Item
from hera.events.service import EventsService
from hera.exceptions import AlreadyExists, BadRequest, NotFound
from hera.shared import global_config
from hera.workflows import (
    Artifact,
    ClusterWorkflowTemplate,
    Container,
    CronWorkflow,
    NoneArchiveStrategy,
    Parameter,
    Script,
    Step,
    Steps,
    Suspend,
    Workflow,
    WorkflowsService,
    WorkflowTemplate,
)
from hera.workflows import models as m

NAMESPACE = "hera"


def step(text):
    print(f"ok  {text}", flush=True)


def expect(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error as caught:
        return caught
    raise AssertionError(f"{error.__name__} was not raised")


def waiting_workflow(**names):
    """A step that prints an id, and one that waits for a callback about it."""
    with Workflow(namespace=NAMESPACE, entrypoint="main", **names) as workflow:
        trigger = Script(name="trigger", image="alpine", command=["sh"], source="echo job-42", add_cwd_to_sys_path=False)
        wait = Suspend(name="wait", intermediate_parameters=[Parameter(name="uuid")])
        with Steps(name="main"):
            trigger(name="trigger")
            wait(name="wait", arguments={"uuid": "{{steps.trigger.outputs.result}}"})
    return workflow


def until(condition, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


def main(host, token=None):
    global_config.host = host
    global_config.token = token
    service = WorkflowsService(host=host, token=token, namespace=NAMESPACE)
    events = EventsService(host=host, token=token, namespace=NAMESPACE)
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    assert service.get_version().version
    assert service.get_info() is not None
    assert service.get_user_info() is not None
    step("version, info and user info")

    workflow = waiting_workflow(generate_name="async-")
    assert workflow.lint().metadata.generate_name == "async-"
    broken = Workflow(name="broken", namespace=NAMESPACE, entrypoint="none", templates=[Container(name="a", image="alpine")])
    assert "none" in str(expect(BadRequest, broken.create))
    step("lint, and a refusal that says why")

    created = workflow.create()
    name = created.metadata.name
    assert created.metadata.uid and name.startswith("async-")
    fixed = Workflow(name=name, namespace=NAMESPACE, entrypoint="a", templates=[Container(name="a", image="alpine")])
    expect(AlreadyExists, fixed.create)
    expect(NotFound, service.get_workflow, "nowhere")
    step("create, already exists, not found")

    def suspended():
        nodes = service.get_workflow(name).status.nodes or {}
        return [n for n in nodes.values() if n.type == "Suspend" and n.phase == "Running"]

    node = until(suspended)[0]
    assert node.inputs.parameters[0].value == "job-42"
    items = service.list_workflows(label_selector="workflows.argoproj.io/completed=false").items
    assert name in [item.metadata.name for item in items]
    step("list with a label selector, the step waits with the id")

    selector = "inputs.parameters.uuid.value=job-42"
    expect(NotFound, service.resume_workflow, name, m.WorkflowResumeRequest(node_field_selector="displayName=zzz"))
    service.stop_workflow(name, m.WorkflowStopRequest(node_field_selector=selector, message="the job failed"))
    failed = until(lambda: service.get_workflow(name).status.phase == "Failed" and service.get_workflow(name))
    assert any(n.message == "the job failed" for n in failed.status.nodes.values())
    service.retry_workflow(name, m.WorkflowRetryRequest())
    until(suspended)
    service.resume_workflow(name, m.WorkflowResumeRequest(node_field_selector=selector))
    until(lambda: service.get_workflow(name).status.phase == "Succeeded")
    step("stop with a message, retry, resume")

    assert service.workflow_logs(name, container="main") is not None
    url = f"{host}/api/v1/workflows/{NAMESPACE}/{name}/log"
    entry = requests.get(url, {"logOptions.container": "main"}, headers=headers).json()["result"]
    assert entry["content"] == "job-42" and entry["podName"].startswith(f"{name}-trigger-"), entry
    again = service.resubmit_workflow(name, m.WorkflowResubmitRequest())
    assert again.metadata.labels["workflows.argoproj.io/resubmitted-from-workflow"] == name
    service.suspend_workflow(again.metadata.name, m.WorkflowSuspendRequest())
    service.terminate_workflow(again.metadata.name, m.WorkflowTerminateRequest())
    step("logs, resubmit, suspend, terminate")

    quick = Workflow(
        generate_name="quick-",
        namespace=NAMESPACE,
        entrypoint="a",
        templates=[Container(name="a", image="alpine", command=["true"])],
    )
    assert quick.create(wait=True, poll_interval=1).status.phase == "Succeeded"
    step("create and wait")

    template = WorkflowTemplate(
        name="greet",
        namespace=NAMESPACE,
        entrypoint="a",
        templates=[Container(name="a", image="alpine", command=["echo", "hi"])],
    )
    template.lint()
    template.create()
    template.update()
    submitted = service.submit_workflow(
        m.WorkflowSubmitRequest(resource_kind="WorkflowTemplate", resource_name="greet"),
    )
    assert submitted.spec.workflow_template_ref.name == "greet"
    cluster = ClusterWorkflowTemplate(
        name="greet-all",
        entrypoint="a",
        templates=[Container(name="a", image="alpine", command=["echo", "hi"])],
    )
    cluster.create()
    assert [t.metadata.name for t in service.list_workflow_templates().items] == ["greet"]
    step("templates: lint, create, update, list, submit from one")

    # Hera has no call that makes a binding, as the reference has none.
    binding = {
        "metadata": {"name": "on-order"},
        "spec": {
            "event": {"selector": 'discriminator == "order" && payload.id != ""'},
            "submit": {
                "workflowTemplateRef": {"name": "greet"},
                "metadata": {"labels": {"order": "payload.id"}},
            },
        },
    }
    bindings = f"{host}/api/v1/workflow-event-bindings/{NAMESPACE}"
    assert requests.post(bindings, json={"binding": binding}, headers=headers).ok
    assert events.receive_event("order", Item({"id": "o-7"})) is not None

    def ordered():
        found = service.list_workflows(label_selector="order=o-7").items or []
        return found[0] if found and found[0].status.phase == "Succeeded" else None

    made = until(ordered)
    assert made.metadata.labels["workflows.argoproj.io/workflow-event-binding"] == "on-order"
    assert requests.delete(f"{bindings}/on-order", headers=headers).ok
    step("an event becomes a workflow by a binding")

    artifact = Workflow(
        generate_name="files-",
        namespace=NAMESPACE,
        entrypoint="a",
        templates=[
            Container(
                name="a",
                image="alpine",
                command=["sh", "-c", "echo kept > out.txt"],
                outputs=[Artifact(name="out", path="out.txt", archive=NoneArchiveStrategy())],
            )
        ],
    ).create(wait=True, poll_interval=1)
    name = artifact.metadata.name
    assert "kept" in service.get_output_artifact(name, name, "out")
    assert "kept" in events.get_artifact_file("workflows", name, name, "out", "outputs")
    uid = artifact.metadata.uid
    assert "kept" in service.get_output_artifact_by_uid(uid, name, "out")
    assert uid in [item.metadata.uid for item in service.list_archived_workflows().items]
    assert service.get_archived_workflow(uid).metadata.name == name
    step("artifacts by name, uid and as files; the archive")

    cron = CronWorkflow(
        name="nightly",
        namespace=NAMESPACE,
        entrypoint="a",
        schedules=["0 3 * * *"],
        templates=[Container(name="a", image="alpine", command=["true"])],
    )
    cron.create()
    service.suspend_cron_workflow("nightly", m.CronWorkflowSuspendRequest())
    assert service.get_cron_workflow("nightly").spec.suspend is True
    service.delete_cron_workflow("nightly")
    step("cron workflows: create, suspend, get, delete")

    service.delete_workflow_template("greet")
    service.delete_cluster_workflow_template("greet-all")
    for item in service.list_workflows().items or []:
        service.delete_workflow(item.metadata.name)
    assert not service.list_workflows().items
    step("delete everything")


if __name__ == "__main__":
    main(*sys.argv[1:])
