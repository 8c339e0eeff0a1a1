/** The settings that contain addresses which the service calls. */
interface UrlSettings {
  readonly oidc: Readonly<Record<string, { readonly jwksUrl: string }>>;
  readonly mail?: { readonly smtpUrl?: string };
}

/** The URL settings, such as `mail.smtpUrl`, that may only lead to public addresses. */
export type PublicOnly = ReadonlySet<string>;

/** Parses the stored list. @returns undefined when it is invalid */
export function parsePublicOnly(stored: string | null): PublicOnly | undefined {
  if (stored === null) return new Set();
  try {
    const list: unknown = JSON.parse(stored);
    return Array.isArray(list) && list.every((each) => typeof each === "string") ? new Set(list) : undefined;
  } catch {
    return undefined;
  }
}

export const smtpUrlSetting = "mail.smtpUrl";

export function jwksUrlSetting(providerName: string): string {
  return `oidc.${providerName}.jwksUrl`;
}

function urlSettings({ oidc, mail }: UrlSettings): ReadonlyMap<string, string> {
  const urls = new Map(Object.entries(oidc).map(([name, { jwksUrl }]) => [jwksUrlSetting(name), jwksUrl]));
  if (mail?.smtpUrl !== undefined) urls.set(smtpUrlSetting, mail.smtpUrl);
  return urls;
}

/** The settings whose URL a change replaces. */
export function changedUrls(before: UrlSettings, after: UrlSettings): ReadonlyMap<string, string> {
  const earlier = urlSettings(before);
  return new Map([...urlSettings(after)].filter(([setting, url]) => earlier.get(setting) !== url));
}

/**
 * Returns the URLs that may only lead to public addresses after a change. An unchanged URL keeps its restriction: an
 * owner who writes the settings back unchanged does not vouch for an editor's URL.
 *
 * @param mayReachInternal whether the author of the change may name internal addresses
 */
export function publicOnlyAfter(
  change: { readonly before: UrlSettings; readonly after: UrlSettings },
  publicOnly: PublicOnly,
  mayReachInternal: boolean,
): PublicOnly {
  const changed = changedUrls(change.before, change.after);
  const settings = [...urlSettings(change.after).keys()];
  return new Set(settings.filter((setting) => (changed.has(setting) ? !mayReachInternal : publicOnly.has(setting))));
}
