/** Moves and scales what a canvas shows, by pointer, wheel and keys. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface ViewBox {
  x: number;
  y: number;
  scale: number;
}

const SMALLEST = 0.05;
const LARGEST = 3;
/** Larger than this nothing is shown at first: a graph of two steps does not fill the screen. */
const LARGEST_FIT = 1;
const STEP = 60;
/** Pixels that a press may move and still be a click. */
const CLICK = 4;

interface Handlers {
  onPointerDown(event: PointerEvent): void;
  onPointerMove(event: PointerEvent): void;
  onClickCapture(event: MouseEvent): void;
  onKeyDown(event: KeyboardEvent): void;
}

/** @param content its size; when it first appears it is made to fit */
export function usePanZoom(
  box: { current: HTMLDivElement | null },
  content: { width: number; height: number } | undefined,
): { view: ViewBox; handlers: Handlers; zoom: (by: number) => void; fit: () => void } {
  const [view, setView] = useState<ViewBox>({ x: 0, y: 0, scale: 1 });
  const isOwn = useRef(false);
  const fit = () => {
    isOwn.current = false;
    if (box.current === null || content === undefined) return;
    setView(fitted(box.current, content));
  };
  const zoomAt = (by: number, at: { x: number; y: number }) => {
    isOwn.current = true;
    setView(({ x, y, scale }) => {
      const next = Math.min(LARGEST, Math.max(SMALLEST, scale * by));
      const share = next / scale;
      return { x: at.x - (at.x - x) * share, y: at.y - (at.y - y) * share, scale: next };
    });
  };
  const middle = () => ({
    x: (box.current?.clientWidth ?? 0) / 2,
    y: (box.current?.clientHeight ?? 0) / 2,
  });
  useEffect(() => {
    if (!isOwn.current) fit();
  }, [content?.width, content?.height]);
  useWheel(box, zoomAt);
  const move = (dx: number, dy: number) => {
    isOwn.current = true;
    setView(({ x, y, scale }) => ({ x: x + dx, y: y + dy, scale }));
  };
  const handlers = { ...useDrag(move), onKeyDown: keys(zoomAt, move, fit, middle) };
  return { view, handlers, zoom: (by) => zoomAt(by, middle()), fit };
}

/** Moves with a pressed pointer. A press that has moved is no click on what lies under it. */
function useDrag(
  move: (dx: number, dy: number) => void,
): Pick<Handlers, "onPointerDown" | "onPointerMove" | "onClickCapture"> {
  const drag = useRef<{ x: number; y: number; moved: number } | undefined>(undefined);
  return {
    onPointerDown({ button, clientX, clientY }) {
      if (button === 0) drag.current = { x: clientX, y: clientY, moved: 0 };
    },
    onPointerMove({ buttons, clientX, clientY }) {
      const from = drag.current;
      if (from === undefined || buttons === 0) return;
      const [dx, dy] = [clientX - from.x, clientY - from.y];
      const moved = from.moved + Math.abs(dx) + Math.abs(dy);
      drag.current = { x: clientX, y: clientY, moved };
      if (moved > CLICK) move(dx, dy);
    },
    onClickCapture(event) {
      if ((drag.current?.moved ?? 0) > CLICK) event.stopPropagation();
      drag.current = undefined;
    },
  };
}

interface Point {
  x: number;
  y: number;
}

function keys(
  zoomAt: (by: number, at: Point) => void,
  move: (dx: number, dy: number) => void,
  fit: () => void,
  middle: () => Point,
): Handlers["onKeyDown"] {
  return ({ key, shiftKey }) => {
    if (key === "+" || key === "=") zoomAt(1.25, middle());
    else if (key === "-") zoomAt(0.8, middle());
    else if (key === "0") fit();
    else if (shiftKey && key === "ArrowLeft") move(STEP, 0);
    else if (shiftKey && key === "ArrowRight") move(-STEP, 0);
    else if (shiftKey && key === "ArrowUp") move(0, STEP);
    else if (shiftKey && key === "ArrowDown") move(0, -STEP);
  };
}

function fitted(box: HTMLElement, content: { width: number; height: number }): ViewBox {
  const { clientWidth, clientHeight } = box;
  const scale = Math.max(
    SMALLEST,
    Math.min(
      LARGEST_FIT,
      clientWidth / Math.max(1, content.width),
      clientHeight / Math.max(1, content.height),
    ),
  );
  return {
    scale,
    x: Math.max(0, (clientWidth - content.width * scale) / 2),
    y: Math.max(0, (clientHeight - content.height * scale) / 2),
  };
}

/** The wheel scales only with Ctrl or ⌘ (or two fingers), so that the page still scrolls. */
function useWheel(
  box: { current: HTMLElement | null },
  zoomAt: (by: number, at: { x: number; y: number }) => void,
): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const turn = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      zoomAt(Math.exp(-event.deltaY / 300), { x: event.clientX - left, y: event.clientY - top });
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [box.current]);
}
