/** Time zones: UTC, fixed offsets, and the named ones through Intl. */

import { BoundedCache } from "../../base/bounded_cache.ts";
import { fault } from "./error.ts";
import { GoZone } from "./values.ts";

/** Coordinated universal time. */
export const UTC: GoZone = new GoZone("UTC", () => ({ offset: 0, abbreviation: "UTC" }));

/** A zone with one offset (seconds east); the abbreviation may be empty. */
export function fixedZone(name: string, offset: number): GoZone {
  return new GoZone(name, () => ({ offset, abbreviation: name }));
}

// A memo of a pure function; making a formatter costs much more than using it.
const loaded = new BoundedCache<string, GoZone>(64);

/**
 * Finds a zone by its name in the time zone database.
 * @throws {Fault} `unknown time zone …`
 */
export function loadZone(name: string): GoZone {
  if (name === "" || name === "UTC") return UTC;
  if (name === "Local") return new GoZone("Local", UTC.at);
  return loaded.get(name) ?? loaded.set(name, makeZone(name));
}

function makeZone(name: string): GoZone {
  const unknown = () => fault(`unknown time zone ${name}`);
  if (!/^[A-Z][\w+-]*(\/[A-Z][\w+-]*)*$/.test(name)) return unknown();
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      timeZoneName: "short",
    });
  } catch {
    return unknown();
  }
  const canonical = format.resolvedOptions().timeZone;
  if (canonical !== name && canonical.toLowerCase() === name.toLowerCase()) return unknown();
  return new GoZone(name, (seconds) => zoneAt(name, format, seconds));
}

function zoneAt(
  name: string,
  format: Intl.DateTimeFormat,
  seconds: number,
): { offset: number; abbreviation: string } {
  const { offset, english } = shownAt(format, seconds);
  // Intl has no names for most times before 1970, so the name of the same offset in 1972 is taken.
  const later = seconds >= 0 ? undefined : [0, 6]
    .map((month) => shownAt(format, Date.UTC(1972, month) / 1_000))
    .find((shown) => shown.offset === offset);
  return { offset, abbreviation: abbreviationOf(name, offset, (later ?? { english }).english) };
}

/** The offset of a zone, and its name in English. */
function shownAt(
  format: Intl.DateTimeFormat,
  seconds: number,
): { offset: number; english: string } {
  // Intl knows 100 million days around 1970.
  const ms = Math.min(Math.max(seconds, -8.64e12), 8.64e12) * 1_000;
  const parts = new Map(format.formatToParts(ms).map((part) => [part.type, part.value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type) ?? 0);
  const year = parts.get("era") === "BC" ? 1 - part("year") : part("year");
  const shown = new Date(0);
  shown.setUTCFullYear(year, part("month") - 1, part("day"));
  shown.setUTCHours(part("hour"), part("minute"), part("second"));
  const offset = Math.round((shown.getTime() - ms) / 1_000);
  return { offset, english: parts.get("timeZoneName") ?? "" };
}

/** Abbreviations for standard and summer time that Intl does not have in English, by standard offset in hours. */
const ABBREVIATIONS: readonly (readonly [string, RegExp])[] = [
  [
    "1:CET 2:CEST",
    /^(Europe\/(Amsterdam|Andorra|Belgrade|Berlin|Bratislava|Brussels|Budapest|Busingen|Copenhagen|Gibraltar|Ljubljana|Luxembourg|Madrid|Malta|Monaco|Oslo|Paris|Podgorica|Prague|Rome|San_Marino|Sarajevo|Skopje|Stockholm|Tirane|Vaduz|Vatican|Vienna|Warsaw|Zagreb|Zurich)|Africa\/(Algiers|Ceuta|Tunis)|Arctic\/Longyearbyen|Atlantic\/Jan_Mayen|Poland|CET|MET)$/,
  ],
  [
    "2:EET 3:EEST",
    /^(Europe\/(Athens|Bucharest|Chisinau|Helsinki|Kaliningrad|Kiev|Kyiv|Mariehamn|Nicosia|Riga|Sofia|Tallinn|Tiraspol|Uzhgorod|Vilnius|Zaporozhye)|Asia\/(Beirut|Famagusta|Gaza|Hebron|Nicosia)|Africa\/(Cairo|Tripoli)|Egypt|Libya|EET)$/,
  ],
  ["0:WET 1:WEST", /^(Europe\/Lisbon|Atlantic\/(Canary|Faeroe|Faroe|Madeira)|Portugal|WET)$/],
  ["0:GMT 1:BST", /^(Europe\/(London|Belfast|Guernsey|Isle_of_Man|Jersey)|GB|GB-Eire)$/],
  ["0:GMT 1:IST", /^(Europe\/Dublin|Eire)$/],
  ["3:MSK", /^(Europe\/(Moscow|Simferopol|Kirov|Volgograd)|W-SU)$/],
  ["2:IST 3:IDT", /^(Asia\/(Jerusalem|Tel_Aviv)|Israel)$/],
  ["5.5:IST", /^Asia\/(Kolkata|Calcutta)$/],
  ["5:PKT", /^Asia\/Karachi$/],
  ["7:WIB", /^Asia\/(Jakarta|Pontianak)$/],
  ["8:WITA", /^Asia\/(Makassar|Ujung_Pandang)$/],
  ["9:WIT", /^Asia\/Jayapura$/],
  ["8:CST", /^(Asia\/(Shanghai|Chongqing|Chungking|Harbin|Taipei|Macao|Macau)|PRC|ROC)$/],
  ["8:HKT", /^(Asia\/Hong_Kong|Hongkong)$/],
  ["8:PST", /^Asia\/Manila$/],
  ["9:JST", /^(Asia\/Tokyo|Japan)$/],
  ["9:KST", /^(Asia\/(Seoul|Pyongyang)|ROK)$/],
  ["8:AWST", /^Australia\/(Perth|West)$/],
  ["9.5:ACST 10.5:ACDT", /^Australia\/(Adelaide|Broken_Hill|Darwin|North|South|Yancowinna)$/],
  [
    "10:AEST 11:AEDT",
    /^(Australia\/(ACT|Brisbane|Canberra|Currie|Hobart|Lindeman|Melbourne|NSW|Queensland|Sydney|Tasmania|Victoria)|Antarctica\/Macquarie)$/,
  ],
  ["12:NZST 13:NZDT", /^(Pacific\/Auckland|Antarctica\/(McMurdo|South_Pole)|NZ)$/],
  ["10:ChST", /^Pacific\/(Guam|Saipan)$/],
  ["-11:SST", /^(Pacific\/(Midway|Pago_Pago|Samoa)|US\/Samoa)$/],
  ["2:SAST", /^Africa\/(Johannesburg|Maseru|Mbabane)$/],
  [
    "1:WAT",
    /^Africa\/(Bangui|Brazzaville|Douala|Kinshasa|Lagos|Libreville|Luanda|Malabo|Ndjamena|Niamey|Porto-Novo)$/,
  ],
  [
    "2:CAT",
    /^Africa\/(Blantyre|Bujumbura|Gaborone|Harare|Juba|Khartoum|Kigali|Lubumbashi|Lusaka|Maputo|Windhoek)$/,
  ],
  [
    "3:EAT",
    /^(Africa\/(Addis_Ababa|Asmara|Asmera|Dar_es_Salaam|Djibouti|Kampala|Mogadishu|Nairobi)|Indian\/(Antananarivo|Comoro|Mayotte))$/,
  ],
  [
    "0:GMT",
    /^(Africa\/(Abidjan|Accra|Bamako|Banjul|Bissau|Conakry|Dakar|Freetown|Lome|Monrovia|Nouakchott|Ouagadougou)|Atlantic\/(Reykjavik|St_Helena)|Iceland|(Etc\/)?GMT([+-]?0)?)$/,
  ],
  // Intl calls them GMT, as it does every zone that is at no distance from Greenwich.
  ["0:+00", /^(Atlantic\/Azores|Antarctica\/Troll|America\/Scoresbysund)$/],
  [
    "-4:AST -3:ADT",
    /^(America\/(Anguilla|Antigua|Aruba|Barbados|Blanc-Sablon|Curacao|Dominica|Glace_Bay|Goose_Bay|Grenada|Guadeloupe|Halifax|Martinique|Moncton|Montserrat|Port_of_Spain|Puerto_Rico|Santo_Domingo|St_Kitts|St_Lucia|St_Thomas|St_Vincent|Thule|Tortola)|Atlantic\/Bermuda|Canada\/Atlantic)$/,
  ],
  ["-3.5:NST -2.5:NDT", /^(America\/St_Johns|Canada\/Newfoundland)$/],
  ["-10:HST -9:HDT", /^(America\/(Adak|Atka)|US\/Aleutian)$/],
  [
    "-7:MST",
    /^(America\/(Dawson|Hermosillo|Mazatlan|Whitehorse)|Canada\/Yukon|Mexico\/BajaSur)$/,
  ],
  ["-5:CST -4:CDT", /^(America\/Havana|Cuba)$/],
];

function abbreviationOf(name: string, offset: number, english: string): string {
  const hours = String(offset / 3_600);
  for (const [pairs, zones] of ABBREVIATIONS) {
    if (!zones.test(name)) continue;
    const found = pairs.split(" ").find((pair) => pair.slice(0, pair.indexOf(":")) === hours);
    if (found !== undefined) return found.slice(found.indexOf(":") + 1);
  }
  // Before zones there was the mean time of a place.
  if (offset % 60 !== 0) return "LMT";
  if (/^[A-Z]{3,5}$/.test(english)) return english;
  return offsetText(offset);
}

/** `+02`, `-0330`: how the time zone database abbreviates zones without letters. */
function offsetText(offset: number): string {
  const minutes = Math.floor(Math.abs(offset) / 60);
  const two = (n: number) => String(n).padStart(2, "0");
  const tail = minutes % 60 === 0 ? "" : two(minutes % 60);
  return `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}${tail}`;
}
