/** Which code of a process runs, by the coverage of V8, asked over its inspector. */
import { openInspector } from "./inspector.ts";

interface Range {
  startOffset: number;
  endOffset: number;
  /** How often it ran. */
  count: number;
}

interface ScriptCoverage {
  scriptId: string;
  url: string;
  functions: { functionName: string; ranges: Range[] }[];
}

/** What ran of a file. */
export interface Covered {
  /** Below the folder of the program: `src/…`. */
  file: string;
  /** Functions and lines that ran often enough. Lines that are blank or have only a comment do not count. */
  functions: number;
  lines: number;
  /** How often its functions were called in all. */
  calls: number;
}

const SOURCES = "/src/";

/**
 * Counts the code below `src` that runs at least so often.
 * @param begin starts what has to be counted; V8 counts nothing exactly that it has compiled before
 */
export async function cover(
  port: number,
  least: number,
  begin: () => Promise<unknown>,
): Promise<Covered[]> {
  const inspector = await openInspector(port);
  await inspector.ask("Debugger.enable");
  await inspector.ask("Profiler.enable");
  await inspector.ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  await begin();
  const { result } = await inspector.ask("Profiler.takePreciseCoverage") as {
    result: ScriptCoverage[];
  };
  const covered: Covered[] = [];
  for (const { scriptId, url, functions } of result) {
    if (!url.includes(SOURCES)) continue;
    const { scriptSource } = await inspector.ask("Debugger.getScriptSource", { scriptId }) as {
      scriptSource: string;
    };
    const counts = functions.map(({ ranges }) => ranges[0]?.count ?? 0);
    covered.push({
      file: url.slice(url.indexOf(SOURCES) + 1),
      functions: counts.filter((count) => count >= least).length,
      lines: linesThatRan(scriptSource, functions.flatMap(({ ranges }) => ranges), least),
      calls: counts.reduce((sum, count) => sum + count, 0),
    });
  }
  inspector.close();
  return covered.filter(({ lines }) => lines > 0);
}

function linesThatRan(source: string, ranges: Range[], least: number): number {
  const counts = new Uint32Array(source.length);
  // A range within another one comes after it, and says more.
  const outerFirst = ranges.toSorted((a, b) =>
    a.startOffset - b.startOffset || b.endOffset - a.endOffset
  );
  for (const { startOffset, endOffset, count } of outerFirst) {
    counts.fill(count, startOffset, endOffset);
  }
  let lines = 0;
  let at = 0;
  for (const line of source.split("\n")) {
    const end = at + line.length;
    const hasCode = !/^\s*(?:$|\/\/|\/?\*)/.test(line);
    for (let i = at; hasCode && i < end; i++) {
      if (source[i] === " " || (counts[i] ?? 0) < least) continue;
      lines++;
      break;
    }
    at = end + 1;
  }
  return lines;
}
