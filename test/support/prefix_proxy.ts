/** A proxy that serves a server below a prefix, which it removes: what stands before many installations. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface PrefixProxy {
  /** Of the server as browsers see it, with the prefix and without a slash at its end. */
  url: string;
  /** Where the server is, such as `http://127.0.0.1:2746`. */
  lead(to: string): void;
  close(): void;
}

/** @param prefix such as `/some/prefix` */
export async function openPrefixProxy(prefix: string): Promise<PrefixProxy> {
  let target = "";
  const proxy = createServer((asked, answer) => {
    const { method = "GET", url = "/", headers } = asked;
    if (!url.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end();
      return;
    }
    const onward = request(target + url.slice(prefix.length), { method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    asked.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`,
    lead: (to) => void (target = to),
    close() {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
