/** Asks a process over the inspector of V8. */

export interface Inspector {
  ask(method: string, params?: unknown): Promise<unknown>;
  close(): void;
}

/** @param port the process was started with `--inspect=127.0.0.1:<port>` */
export async function openInspector(port: number): Promise<Inspector> {
  const list = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
  const socket = new WebSocket(list[0].webSocketDebuggerUrl);
  await new Promise((done) => socket.addEventListener("open", done, { once: true }));
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  return {
    ask(method, params = {}) {
      return new Promise((done) => {
        waiting.set(++last, done);
        socket.send(JSON.stringify({ id: last, method, params }));
      });
    },
    close: () => socket.close(),
  };
}
