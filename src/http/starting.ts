/** The server before it is ready. */
import { unavailable } from "../base/problem.ts";

/** The answer to every request while the server is starting. */
export function starting(request: Request): Response {
  if (new URL(request.url).pathname === "/healthz") return new Response("ok");
  const { message } = unavailable("the server is starting; try again");
  return Response.json({ code: 14, message }, { status: 503, headers: { "retry-after": "1" } });
}
