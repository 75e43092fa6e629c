/** Where a path of a container is on this machine, links followed as the container would follow them. */
import { dirname, resolve } from "node:path/posix";
import { invalid } from "../../base/problem.ts";
import { findInside } from "../../platform/files/inside.ts";
import { LinkInPath, type Place } from "../../platform/files/place.ts";

/** Linux follows as many. */
const MAX_LINKS = 40;

/**
 * A link's text is a path of the container, so it is looked up there again: on this machine no link is ever followed.
 *
 * @param path Absolute, as the container sees it.
 * @param placeOf Place of such a path here; undefined when there is none.
 * @returns Undefined when nothing is there.
 */
export async function followLinks(
  path: string,
  placeOf: (path: string) => Promise<Place | undefined>,
): Promise<Place | undefined> {
  let wanted = path;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const place = await placeOf(wanted);
    if (place === undefined) return undefined;
    try {
      return await findInside(place) === undefined ? undefined : place;
    } catch (error) {
      if (!(error instanceof LinkInPath)) throw error;
      const names = wanted.split("/");
      const link = names.slice(0, names.length - error.rest.length).join("/");
      wanted = resolve("/", dirname(link), error.target, ...error.rest);
    }
  }
  throw invalid(`${path} has more than ${MAX_LINKS} links on its way`);
}
