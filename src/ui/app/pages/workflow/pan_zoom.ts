/** Moves and scales what a canvas shows, by pointer, wheel and keys. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  firstView,
  fitScale,
  OVERVIEW,
  type Point,
  READABLE,
  type Size,
  viewAt,
  type ViewBox,
  wholeView,
} from "../../model/layout.ts";

const SMALLEST = 0.05;
const LARGEST = 3;
/** Below this scale words can't be read at all. */
const TINY = 0.35;
const STEP = 60;
/** Pixels that a press may move and still be a click. */
const CLICK = 4;

interface Handlers {
  onPointerDown(event: PointerEvent): void;
  onPointerMove(event: PointerEvent): void;
  onClickCapture(event: MouseEvent): void;
  onKeyDown(event: KeyboardEvent): void;
}

/** What lies in the canvas and a little around it, in the coordinates of the content. */
export interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** How much is drawn beyond each side, as a share of the canvas. */
const AROUND = 0.5;
/** After so long without a move the content is drawn sharp, ms. */
const REST_MS = 150;

export interface PanZoom {
  handlers: Handlers;
  zoom: (by: number) => void;
  fit: () => void;
  /** Brings a point of the content to the middle, so large that it can be read. */
  show: (point: Point) => void;
  /** The same for a point that is not in the canvas. */
  reveal: (point: Point) => void;
  /** Brings a point to the middle and leaves the scale as it is. */
  moveTo: (point: Point) => void;
  /** Moves by shares of the canvas, not beyond the content. */
  moveBy: (right: number, down: number) => void;
  /** What is worth drawing; undefined before the content is there. */
  area: Area | undefined;
}

/**
 * Moves the content as a whole, by a transform of its element that needs no drawing; what has to be drawn changes when the view
 * leaves the area.
 * @param frame in the overview, around what is shown
 * @param size of the content
 * @param point of the content that is shown first, where not all of it can be read at once
 */
export function usePanZoom(
  box: { current: HTMLDivElement | null },
  content: { current: HTMLElement | SVGElement | null },
  frame: { current: HTMLElement | null },
  size: Size | undefined,
  point: Point,
): PanZoom {
  const view = useRef<ViewBox>({ x: 0, y: 0, scale: 1 });
  const [area, setArea] = useState<Area | undefined>(undefined);
  /** Another layout, or another size of the canvas, shows the same again: what is shown first, all of it, or what somebody looks at. */
  const mode = useRef<"first" | "whole" | "own">("first");
  const draw = (next: ViewBox) => {
    view.current = next;
    if (box.current === null || content.current === null) return;
    content.current.style.transform = `translate(${next.x}px, ${next.y}px) scale(${next.scale})`;
    box.current.classList.toggle("tiny", next.scale < TINY);
    const seen = seenIn(box.current, next, 0);
    if (size !== undefined) markPart(box.current, frame.current, seen, size);
    const wide = seenIn(box.current, next, AROUND);
    setArea((known) => isGood(known, seen, wide) ? known : wide);
    restLater(box.current);
  };
  const drawAgain = () => {
    if (box.current === null || size === undefined) return;
    const room = roomOf(box.current);
    // What somebody looked at may be folded now.
    if (mode.current === "own" && !isInSight(view.current, size, room)) mode.current = "first";
    if (mode.current === "own") draw(view.current);
    else draw(mode.current === "first" ? firstView(size, room, point) : wholeView(size, room));
  };
  const fit = () => {
    mode.current = "whole";
    drawAgain();
  };
  const look = (next: ViewBox) => {
    mode.current = "own";
    draw(next);
  };
  useLayoutEffect(drawAgain, [size?.width, size?.height]);
  useResize(box, drawAgain);
  const moves = movesOf(box, size, view, look);
  const { zoomAt, move, middle } = moves;
  useWheel(box, zoomAt);
  const handlers = { ...useDrag(move), onKeyDown: keys(zoomAt, move, fit, middle) };
  return { ...moves, handlers, zoom: (by) => zoomAt(by, middle()), fit, area };
}

/** The ways from what is shown to something else. */
function movesOf(
  box: { current: HTMLElement | null },
  size: Size | undefined,
  view: { current: ViewBox },
  look: (next: ViewBox) => void,
) {
  const lookAt = (at: Point, scale: number) => {
    if (box.current !== null && size !== undefined) {
      look(viewAt(at, size, roomOf(box.current), scale));
    }
  };
  const show = (at: Point) => lookAt(at, Math.max(READABLE, view.current.scale));
  return {
    show,
    moveTo: (at: Point) => lookAt(at, view.current.scale),
    moveBy(right: number, down: number) {
      if (box.current === null) return;
      const { x, y, scale } = view.current;
      const { width, height } = roomOf(box.current);
      lookAt({
        x: ((0.5 + right) * width - x) / scale,
        y: ((0.5 + down) * height - y) / scale,
      }, scale);
    },
    reveal(at: Point) {
      if (box.current === null) return;
      const { left, top, right, bottom } = seenIn(box.current, view.current, 0);
      if (at.x < left || at.x > right || at.y < top || at.y > bottom) show(at);
    },
    zoomAt(by: number, at: Point) {
      const { x, y, scale } = view.current;
      const next = Math.min(LARGEST, Math.max(SMALLEST, scale * by));
      const share = next / scale;
      look({ x: at.x - (at.x - x) * share, y: at.y - (at.y - y) * share, scale: next });
    },
    move(dx: number, dy: number) {
      const { x, y, scale } = view.current;
      look({ x: x + dx, y: y + dy, scale });
    },
    middle: () => ({
      x: (box.current?.clientWidth ?? 0) / 2,
      y: (box.current?.clientHeight ?? 0) / 2,
    }),
  };
}

/** Marks that only a part of the content is in the canvas, and where in the overview that part lies. */
function markPart(box: HTMLElement, frame: HTMLElement | null, seen: Area, size: Size): void {
  const isTall = seen.top > 1 || seen.bottom < size.height - 1;
  box.classList.toggle("tall", isTall);
  box.classList.toggle("part", isTall || seen.left > 1 || seen.right < size.width - 1);
  if (frame === null) return;
  const scale = fitScale(size, OVERVIEW);
  frame.style.transform = `translate(${seen.left * scale}px, ${seen.top * scale}px)`;
  frame.style.width = `${(seen.right - seen.left) * scale}px`;
  frame.style.height = `${(seen.bottom - seen.top) * scale}px`;
}

function isInSight({ x, y, scale }: ViewBox, content: Size, room: Size): boolean {
  return x < room.width && y < room.height && x + content.width * scale > 0 &&
    y + content.height * scale > 0;
}

function roomOf({ clientWidth, clientHeight }: HTMLElement): Size {
  return { width: clientWidth, height: clientHeight };
}

/** The part of the content in the canvas. @param around how much more on each side, as a share of the canvas */
function seenIn(box: HTMLElement, { x, y, scale }: ViewBox, around: number): Area {
  const [width, height] = [box.clientWidth / scale, box.clientHeight / scale];
  const [left, top] = [-x / scale, -y / scale];
  return {
    left: left - width * around,
    top: top - height * around,
    right: left + width * (1 + around),
    bottom: top + height * (1 + around),
  };
}

/** Tells whether what is drawn holds all that is seen, and not far more than is wanted. */
function isGood(drawn: Area | undefined, seen: Area, wanted: Area): boolean {
  if (drawn === undefined) return false;
  const isInside = drawn.left <= seen.left && drawn.top <= seen.top &&
    drawn.right >= seen.right && drawn.bottom >= seen.bottom;
  return isInside && drawn.right - drawn.left < 2 * (wanted.right - wanted.left);
}

const resting = new WeakMap<HTMLElement, ReturnType<typeof setTimeout>>();

/** While it moves, the browser may move the picture that it has. */
function restLater(box: HTMLElement): void {
  box.classList.add("moving");
  clearTimeout(resting.get(box));
  resting.set(box, setTimeout(() => box.classList.remove("moving"), REST_MS));
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

/** Calls when the element gets another size: the window did, or a screen was turned. */
function useResize(box: { current: HTMLElement | null }, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (box.current === null) return;
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box.current]);
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
