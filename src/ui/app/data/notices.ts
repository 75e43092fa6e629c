/** What actions did, for the visitor to read. */
import { createStore } from "@xstate/store";

export interface Notice {
  id: number;
  isError: boolean;
  text: string;
  /** More lines, such as one for each workflow that was refused. */
  details: string[];
  /** A page about it, from the root. */
  link?: { path: string; text: string } | undefined;
}

let last = 0;
/** How long a notice that is no error stays, ms. Errors stay until they are closed. */
const SHOWN_MS = 8_000;
const MOST = 4;

export const notices = createStore({
  context: { shown: [] as Notice[] },
  on: {
    added: ({ shown }, { notice }: { notice: Notice }) => ({
      shown: [...shown, notice].slice(-MOST),
    }),
    closed: ({ shown }, { id }: { id: number }) => ({
      shown: shown.filter((one) => one.id !== id),
    }),
  },
});

/** Shows a notice. */
export function notify(
  text: string,
  more: Partial<Pick<Notice, "isError" | "details" | "link">> = {},
): void {
  const notice: Notice = { id: ++last, isError: false, text, details: [], ...more };
  notices.trigger.added({ notice });
  if (!notice.isError) {
    setTimeout(() => notices.trigger.closed({ id: notice.id }), SHOWN_MS);
  }
}
