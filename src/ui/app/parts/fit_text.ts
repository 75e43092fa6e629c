/** Shortens texts to the room that they have in a drawing, where the browser does not. */

/** Tells how wide a text is, px. */
export type Measure = (text: string) => number;

/** @returns the text, or its beginning and its end, which tell most, with `…` between them */
export function fitText(text: string, width: number, measure: Measure): string {
  if (measure(text) <= width) return text;
  const letters = [...text];
  const wide = measure(text) / letters.length;
  for (let most = Math.min(letters.length, Math.ceil(1.5 * width / wide)) - 1; most > 0; most--) {
    const start = Math.ceil(most * 0.6);
    const shorter = `${letters.slice(0, start).join("")}…${
      letters.slice(letters.length - (most - start)).join("")
    }`;
    if (measure(shorter) <= width) return shorter;
  }
  return "…";
}

/** @returns the first of the texts that has room, or else the last one shortened */
export function fitFirst(texts: readonly string[], width: number, measure: Measure): string {
  const fitting = texts.find((text) => measure(text) <= width);
  return fitting ?? fitText(texts.at(-1) ?? "", width, measure);
}

/** Measures texts of this weight and size in the font of the page. */
export function measureAs(font: string): Measure {
  let canvas: CanvasRenderingContext2D | null | undefined;
  return (text) => {
    if (canvas === undefined) {
      canvas = document.createElement("canvas").getContext("2d");
      if (canvas) canvas.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
    }
    return canvas?.measureText(text).width ?? 0;
  };
}
