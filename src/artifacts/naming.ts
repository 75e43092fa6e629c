/** What went wrong with an artifact, by its name and place. */
import { defined } from "../base/defined.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Artifact } from "../spec/manifest.ts";

/** Puts an artifact's name and place before what went wrong there. */
export async function naming<Result>(
  artifact: Artifact,
  place: { name: string },
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    const message = reasonOf(error);
    const code = error instanceof Problem ? error.code : ProblemCode.Unknown;
    throw new Problem(code, `Artifact "${artifact.name}" in ${place.name}: ${message}`, {
      cause: error,
      ...(error instanceof Problem &&
        { status: error.status, ...defined({ retryAfterSeconds: error.retryAfterSeconds }) }),
    });
  }
}

/** What a caller is told: a system error would name folders of this machine. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path, syscall } = error as { code?: unknown; path?: unknown; syscall?: unknown };
  const isOfFile = typeof code === "string" && (path !== undefined || syscall === "open");
  return isOfFile ? `the storage refuses it (${code})` : error.message;
}
