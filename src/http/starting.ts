/** The server before it can work. */
import { unavailable } from "../base/problem.ts";

/** The answer to everything while the parts are being put together. */
export function starting(request: Request): Response {
  if (new URL(request.url).pathname === "/healthz") return new Response("ok");
  const { message } = unavailable("the server is starting; try again");
  return Response.json({ code: 14, message }, { status: 503, headers: { "retry-after": "1" } });
}
