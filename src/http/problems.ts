/** Errors on the wire. Only this file knows the form of error bodies. */
import { Problem, ProblemCode } from "../base/problem.ts";
import { writeJson } from "../base/json_text.ts";

/** Reason phrases of the statuses that stream errors name. */
const STATUS_TEXT: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  409: "Conflict",
  413: "Request Entity Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** The answer when a path and method have no route under `/api`. */
export function noSuchRoute(): Problem {
  return new Problem(ProblemCode.Unimplemented, "Not Implemented");
}

/**
 * The answer to a gRPC call, in the form in which gRPC clients show the message. The `argo` client speaks gRPC unless it
 * is told otherwise, and would else print only that it got an unexpected 404.
 */
export function noGrpc(): Response {
  const message = "This server speaks HTTP with JSON, no gRPC: set ARGO_HTTP1=true";
  return new Response(null, {
    headers: {
      "content-type": "application/grpc",
      "grpc-status": String(ProblemCode.Unimplemented),
      "grpc-message": message,
    },
  });
}

/** Anything that was thrown as a problem. The caller sees no details of a defect. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(ProblemCode.Internal, "internal error; the server's log has the cause", {
    cause: error,
  });
}

/** Body of an error: exactly `code` and `message`. */
function problemBody(problem: Problem): { code: number; message: string } {
  return { code: problem.code, message: problem.message };
}

/** Error frame of a stream. */
export function problemFrame(problem: Problem): { error: Record<string, unknown> } {
  return {
    error: {
      grpc_code: problem.code,
      http_code: problem.status,
      message: problem.message,
      http_status: STATUS_TEXT[problem.status] ?? "Internal Server Error",
    },
  };
}

/** Answer of a unary call that was refused. */
export function problemResponse(problem: Problem): Response {
  const headers = new Headers({ "content-type": "application/json" });
  addRetryAfter(headers, problem);
  // The rest of the request is not read.
  if (problem.status === 408) headers.set("connection", "close");
  if (problem.status === 415) headers.set("accept-encoding", "identity");
  return new Response(writeJson(problemBody(problem)), { status: problem.status, headers });
}

/** Adds `Retry-After` when a repeat may succeed. */
export function addRetryAfter(headers: Headers, problem: Problem): void {
  if (problem.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(problem.retryAfterSeconds));
  }
}
