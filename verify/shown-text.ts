/** Removes secrets, because a report may end up in a public log. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const withoutKeys = secrets.reduce((shown, secret) => shown.replaceAll(secret, "<appkey>"), text);
  return withoutKeys.replaceAll(/((?:Service |"accessToken":"|ticket=|whsec_)[^\s"]{12})[^\s"]+/gi, "$1…");
}

/** A text as a report shows it. */
export function shorten(text: string, charactersMax = 400): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}… (${text.length} characters)`;
}
