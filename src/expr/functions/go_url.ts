/** URLs as Go's `net/url` parses and writes them: it accepts more texts than the web standard does. */
import { goQuote } from "../values/go_quote.ts";
import { utf8Bytes, utf8String } from "../values/utf8.ts";

/** The parts of a URL. Path and fragment are unescaped, the query is not; `userinfo` is absent if there is no `@`. */
export interface Url {
  scheme: string;
  opaque: string;
  userinfo?: string;
  host: string;
  path: string;
  query: string;
  fragment: string;
}

/** A text with its `%XX` decoded; or the escape that is wrong. */
function unescape(text: string): { text: string } | { wrong: string } {
  if (!text.includes("%")) return { text };
  const wrong = /%(?![0-9a-fA-F]{2})[^]{0,2}/.exec(text);
  if (wrong !== null) return { wrong: wrong[0] };
  const bytes: number[] = [];
  for (const part of text.split(/(%[0-9a-fA-F]{2})/)) {
    if (/^%[0-9a-fA-F]{2}$/.test(part)) bytes.push(parseInt(part.slice(1), 16));
    else bytes.push(...utf8Bytes(part));
  }
  return { text: utf8String(Uint8Array.from(bytes)) };
}

/** A text in which everything that the pattern does not allow is escaped. */
function escape(text: string, allowed: RegExp): string {
  let result = "";
  for (const byte of utf8Bytes(text)) {
    const char = String.fromCharCode(byte);
    result += byte < 0x80 && allowed.test(char)
      ? char
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return result;
}

const PATH_CHARS = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const FRAGMENT_CHARS = /[A-Za-z0-9\-_.~$&+,/:;=?@!()*]/;
const HOST_CHARS = /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/;
const USER_CHARS = /[A-Za-z0-9\-_.~$&+,;=]/;

/** User and password in their escaped form; undefined when a character is not allowed there. */
export function userinfoOf(text: string): string | undefined {
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(text)) return undefined;
  const colon = text.indexOf(":");
  const parts = colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
  const escaped: string[] = [];
  for (const part of parts) {
    const plain = unescape(part);
    if ("wrong" in plain) return undefined;
    escaped.push(escape(plain.text, USER_CHARS));
  }
  return escaped.join(":");
}

/**
 * Parses a URL.
 * @param fail gets the reason, as Go words it, and does not return
 */
export function parseUrl(text: string, fail: (reason: string) => never): Url {
  const hash = text.indexOf("#");
  const whole = hash < 0 ? text : text.slice(0, hash);
  const refuse = (reason: string): never => fail(`parse ${goQuote(whole)}: ${reason}`);
  const plain = (part: string): string => {
    const result = unescape(part);
    return "wrong" in result ? refuse(`invalid URL escape ${goQuote(result.wrong)}`) : result.text;
  };
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f]/.test(whole)) refuse("net/url: invalid control character in URL");
  const url: Url = { scheme: "", opaque: "", host: "", path: "", query: "", fragment: "" };
  if (hash >= 0) url.fragment = plain(text.slice(hash + 1));
  if (whole === "*") return { ...url, path: "*" };

  if (whole.startsWith(":")) refuse("missing protocol scheme");
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(whole);
  let rest = scheme === null ? whole : whole.slice(scheme[0].length);
  url.scheme = (scheme?.[1] ?? "").toLowerCase();
  const question = rest.indexOf("?");
  if (question >= 0) {
    url.query = rest.slice(question + 1);
    rest = rest.slice(0, question);
  }
  if (!rest.startsWith("/")) {
    if (url.scheme !== "") return { ...url, opaque: rest };
    if (/^[^/]*:/.test(rest)) refuse("first path segment in URL cannot contain colon");
  }
  if (rest.startsWith("//") && (url.scheme !== "" || !rest.startsWith("///"))) {
    const slash = rest.indexOf("/", 2);
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
    rest = slash < 0 ? "" : rest.slice(slash);
    const at = authority.lastIndexOf("@");
    if (at >= 0) {
      url.userinfo = userinfoOf(authority.slice(0, at)) ?? refuse("net/url: invalid userinfo");
    }
    const host = authority.slice(at + 1);
    const port = /:([^:\]]*)$/.exec(
      host.startsWith("[") ? host.slice(host.lastIndexOf("]")) : host,
    );
    if (host.startsWith("[") && !host.includes("]")) refuse("missing ']' in host");
    if (port !== null && !/^[0-9]*$/.test(port[1] ?? "")) {
      refuse(`invalid port ${goQuote(port[0])} after host`);
    }
    const wrong = [...host].find((char) => char < "\x80" && char !== "%" && !HOST_CHARS.test(char));
    if (wrong !== undefined) refuse(`invalid character ${goQuote(wrong)} in host name`);
    // Only bytes beyond ASCII and the percent sign may be escaped in a host; what follows that sign in brackets is a zone.
    const ascii = /^\[.*%25/.test(host) ? null : /%(?!25)[0-7][0-9a-f]/i.exec(host);
    if (ascii !== null) refuse(`invalid URL escape ${goQuote(ascii[0])}`);
    url.host = plain(host);
  }
  url.path = plain(rest);
  return url;
}

/** Writes a URL. */
export function formatUrl(url: Url): string {
  let text = url.scheme === "" ? "" : `${url.scheme}:`;
  if (url.opaque !== "") text += url.opaque;
  else {
    const hasAuthority = url.host !== "" || url.userinfo !== undefined;
    if (url.scheme !== "" || hasAuthority) {
      if (hasAuthority || url.path !== "") text += "//";
      if (url.userinfo !== undefined) text += `${url.userinfo}@`;
      text += escape(url.host, HOST_CHARS);
    }
    const path = url.path === "*" ? "*" : escape(url.path, PATH_CHARS);
    if (path !== "" && !path.startsWith("/") && url.host !== "") text += "/";
    if (text === "" && /^[^/]*:/.test(path)) text = "./";
    text += path;
  }
  if (url.query !== "") text += `?${url.query}`;
  return url.fragment === "" ? text : `${text}#${escape(url.fragment, FRAGMENT_CHARS)}`;
}
