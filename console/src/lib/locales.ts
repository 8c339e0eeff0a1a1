/** For numbers, units and words, because the interface is in English. */
export const numberLocale = "en-u-nu-latn";

/**
 * For dates: English words, the Gregorian calendar and Latin digits, whatever the browser prefers, so that two operators read
 * the same date. The browser's region determines the order of day and month, and the 12 or 24 hour clock.
 */
export const dateLocale = dateLocaleFor(navigator.language);

function dateLocaleFor(language: string): string {
  const { region = "001" } = new Intl.Locale(language).maximize();
  const { locale } = new Intl.DateTimeFormat(`en-${region}`).resolvedOptions();
  const isKnown = locale !== "en"; // others get the order of the United States
  const { hourCycle = "h23" } = new Intl.DateTimeFormat(language, { hour: "numeric" }).resolvedOptions();
  return `${isKnown ? locale : "en-001"}-u-ca-gregory-hc-${hourCycle}-nu-latn`;
}
