import { useEffect, useRef, useState } from "preact/hooks";

/** Width of an element as it is drawn, px, and the ref to give it. */
export function useWidth(): [box: { current: HTMLDivElement | null }, width: number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    if (box.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box.current]);
  return [box, width];
}
