/** Lets a long list appear in slices, so that no single picture takes long. */
import { useEffect, useState } from "preact/hooks";

const SLICE = 80;

/** How many of so many rows to draw now; the next ones follow with the next pictures. */
export function useGrowing(count: number): number {
  const [allowed, setAllowed] = useState(SLICE);
  useEffect(() => {
    if (allowed >= count) return;
    // After the picture, so that input comes between two slices.
    const timer = setTimeout(() => setAllowed(allowed + SLICE), 16);
    return () => clearTimeout(timer);
  }, [allowed, count]);
  return Math.min(allowed, count);
}
