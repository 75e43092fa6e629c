/** Checks facts. They come out of mailboxes, where one may be damaged; it must not harm a workflow. */
import { isJsonObject } from "../../base/json.ts";
import { OUTPUTS } from "../../spec/schema/template.ts";
import type { Fact, TaskOutcome } from "../command.ts";
import {
  type Check,
  isList,
  isMap,
  isNumber,
  isOf,
  isRecord,
  isText,
  isTruth,
  type Members,
} from "./shape.ts";

const isOutcome = isRecord<TaskOutcome>({
  phase: isText,
  message: isText,
  isLate: isTruth,
  outputs: isOf(OUTPUTS),
  resourcesDuration: isMap(isNumber),
  hostNodeName: isText,
  containers: isMap(isRecord<NonNullable<TaskOutcome["containers"]>[string]>(
    { phase: isText, message: isText, exitCode: isText },
    ["phase"],
  )),
}, ["phase"]);

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/** Check of one type of fact. All members but the optional ones must be present. */
function fact<T extends Fact["type"]>(
  members: Omit<Members<Of<T>>, "type">,
  optional: readonly string[] = [],
): Check {
  const needed = Object.keys(members).filter((name) => !optional.includes(name));
  const all = { ...members, type: isText } as Members<Of<T>>;
  return isRecord<Of<T>>(all, needed as (keyof Of<T> & string)[]);
}

const FACTS: { [T in Fact["type"]]: Check } = {
  "task-started": fact<"task-started">(
    { task: isText, podIP: isText, hostNodeName: isText, ready: isTruth },
    ["podIP", "hostNodeName", "ready"],
  ),
  "task-progress": fact<"task-progress">({ task: isText, progress: isText }),
  "task-pending": fact<"task-pending">({ task: isText, message: isText }),
  "task-ended": fact<"task-ended">({ task: isText, outcome: isOutcome }),
  "timer-fired": fact<"timer-fired">({ timer: isText }),
  "locks-granted": fact<"locks-granted">({ holder: isText }),
  "locks-waiting": fact<"locks-waiting">(
    { holder: isText, message: isText, waiting: isText, holders: isMap(isList(isText)) },
    ["holders"],
  ),
};

/** Tells whether a command claims to be a fact. */
export function claimsFact(body: unknown): boolean {
  return isJsonObject(body) && typeof body["type"] === "string" &&
    Object.hasOwn(FACTS, body["type"]);
}

/** Tells whether a command is a complete fact. */
export function isFact(body: unknown): body is Fact {
  return claimsFact(body) && FACTS[(body as Fact).type](body);
}
