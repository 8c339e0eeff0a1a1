/** Returns the canonical form of a BCP 47 tag; undefined for any other text. */
export function languageTag(text: string): string | undefined {
  if (text.length > tagCharactersMax) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined; // it is no tag
  }
}

const tagCharactersMax = 64;

/** Returns the language of the header Accept-Language that its client prefers: the first tag. */
export function acceptedLanguage(header: string | undefined): string | undefined {
  const first = header?.split(",", 1)[0]?.split(";", 1)[0]?.trim() ?? "";
  return languageTag(first);
}

/** Looks a tag up among others by RFC 4647 section 3.4: `zh-Hant-TW`, then `zh-Hant`, then `zh`. */
export function lookUpLanguage<T>(byTag: Readonly<Record<string, T>>, tag: string | null | undefined): T | undefined {
  const values = new Map(Object.entries(byTag).map(([name, value]) => [name.toLowerCase(), value]));
  const parts = (tag ?? "").toLowerCase().split("-");
  for (; parts.length > 0; parts.pop()) {
    if (parts.at(-1)?.length === 1) continue; // what introduces an extension is not the end of a range
    const found = values.get(parts.join("-"));
    if (found !== undefined) return found;
  }
  return undefined;
}
