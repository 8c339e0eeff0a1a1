import type { Application, Client } from "./actors.ts";
import type { Format } from "./formats.ts";
import type { Random } from "./random.ts";

/** Values that honest clients send. */

const words = [
  "Coffee with a view",
  "Grüße aus Wien",
  "東京タワー",
  "مرحبا",
  "👋 hi",
  "x",
  "level-won",
  "100 % \\ 'quoted' _",
];

export function plausibleText(random: Random, maxLength = 4_000): string {
  const text = random.chance(0.5) ? `${random.pick(words)} ${random.word(4)}` : random.word(1 + random.below(12));
  return [...text].slice(0, maxLength).join("");
}

export function plausibleDate(random: Random): string | number {
  const ms = 1_700_000_000_000 + random.below(90_000) * 1_000_000;
  const iso = new Date(ms).toISOString();
  return random.pick([
    `/Date(${ms})/`,
    ms,
    iso,
    iso.slice(0, 10),
    iso.slice(0, 10).replaceAll("-", "/"),
    `/Date(${-ms})/`,
  ]);
}

function plausiblePlace(random: Random): string {
  return `${(random.next() * 180 - 90).toFixed(4)},${random.pick(["", " "])}${(random.next() * 360 - 180).toFixed(4)}`;
}

/** @param ids the known ids of a prefix */
export function plausibleValue(format: Format, ids: (prefix: string) => readonly string[], random: Random): unknown {
  switch (format.kind) {
    case "id": {
      if (format.words.length > 0 && random.chance(0.4)) return random.pick(format.words);
      const known = format.prefixes.flatMap((prefix) => ids(prefix));
      return random.pick(known) ?? random.pick(format.words) ?? `${format.prefixes[0]}_${random.word(26)}`;
    }
    case "choice":
      return oddCase(random.pick(format.words) ?? "", random);
    case "date":
      return plausibleDate(random);
    case "dateRange":
      return random.pick([
        "/Date(0)/-",
        "2020-01-01-2030-01-01",
        "-/Date(1900000000000)/",
        "2030-01-01-",
        "1990/1/1-2031/12/31",
        "(null)-(null)",
      ]);
    case "location":
      return random.chance(0.2) ? { lat: 48.2, lng: "16.3" } : plausiblePlace(random);
    case "locationRange":
      return random.pick([
        `${plausiblePlace(random)},${random.below(3_000_000)}`,
        "-89,-179-89,179",
        "10,100-60,-100",
        "35,15,20000000",
      ]);
    case "number": {
      const { minimum = 0, maximum = 1_000, isInteger } = format;
      const number = minimum + random.next() * (Math.min(maximum, minimum + 1_000) - minimum);
      const rounded = isInteger ? Math.round(number) : number;
      return random.chance(0.2) ? String(rounded) : rounded;
    }
    case "flag":
      return random.pick([true, false, "true", "FALSE", 0, 1, "1"]);
    case "list":
      return [];
    case "members":
      return { [plausibleText(random, 20)]: random.pick([1, "two", true, 2.5]) };
    case "json":
      return random.pick([1, "text", true, { a: [1, { b: null }] }, [1, 2, 3], -0.5, ""]);
    case "scalarOrMembers":
      return random.pick([1, "two", true, { [plausibleText(random, 20)]: 1 }]);
    default:
      return plausibleText(random, format.kind === "text" ? format.maxLength : undefined);
  }
}

/** In capitals now and then, for parameters that ignore case. */
export function oddCase(text: string, random: Random): string {
  return random.chance(0.15) ? random.pick([text.toUpperCase(), text.toLowerCase()]) : text;
}

/** Ids for a client: mostly its own, sometimes shared or hidden ones of other clients. */
export function idsFor(client: Client, mayTouchSealed: boolean, random: Random) {
  return (prefix: string): readonly string[] => {
    const sealed = client.sealed.of(prefix);
    const own = [...client.own.of(prefix), ...(mayTouchSealed ? sealed : [])];
    const fixed = { usr: [client.userId], dev: [client.deviceId], app: [client.application.appid] }[prefix];
    if (fixed !== undefined && random.chance(0.7)) return fixed.filter((id) => id !== "");
    if (own.length > 0 && random.chance(0.85)) return own;
    const all = client.application.all.of(prefix);
    return mayTouchSealed ? all : all.filter((id) => !sealed.includes(id));
  };
}

export function idsOf(application: Application) {
  return (prefix: string): readonly string[] => (prefix === "app" ? [application.appid] : application.all.of(prefix));
}
