/** The first match counts: most browsers also claim to be the ones below them. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\bChrom(?:e|ium)\/|\bCriOS\/|\bHeadlessChrome\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, "Android"],
  [/\b(?:iPhone|iPad|iPod)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** Bounds the work, because the client chooses the length of the header. */
const charactersMax = 512;

/**
 * Names the browser of a `User-Agent` header and its system: `Firefox on Linux`. The result has at most 64 characters
 * of fixed words, never text that a client sent.
 */
export function browserNameOf(userAgent: string | undefined): string {
  const given = (userAgent ?? "").slice(0, charactersMax);
  const browser = find(browsers, given) ?? "Another client";
  const system = find(systems, given);
  return system === undefined ? browser : `${browser} on ${system}`;
}

function find(names: typeof browsers, text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1];
}
