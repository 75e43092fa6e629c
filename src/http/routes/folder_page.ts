/** The page of an artifact that is a folder. */
import { escapeHtml } from "./html.ts";

/** A page with links to the content of a folder. */
export function folderPage(entries: readonly string[]): string {
  const item = (href: string, text: string) => `<li><a href="${href}">${text}</a></li>\n`;
  const links = entries.map((name) => {
    const bare = name.replace(/\/$/, "");
    return item(`./${encodeURIComponent(bare)}${name.slice(bare.length)}`, escapeHtml(name));
  });
  return `<html><body><ul>\n${item("..", "..")}${links.join("")}</ul></body></html>\n`;
}
