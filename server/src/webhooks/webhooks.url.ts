import { isUsualUrl, type Outgoing, OutgoingError } from "../http/outgoing/outgoing.ts";
import { outOfRange } from "./webhooks.fields.ts";

/** The time for which a registration waits for name servers. The URL is checked again at every attempt. */
const lookUpMs = 2_000;

const urlRule =
  "must be an https:// URL without a password or a fragment, at port 443 or from 1024 on, that leads to public addresses only";

/**
 * Checks the URL of a webhook. A name that cannot be resolved now is accepted, because every attempt checks it.
 *
 * @throws ApiError ParameterOutOfRange, which does not say whether anything answers there
 */
export async function requireWebhookUrl(url: string, outgoing: Outgoing): Promise<void> {
  const parsed = /[\s\p{Cc}#]/u.test(url) ? null : URL.parse(url);
  const isHttp = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  if (!isHttp || /^[^/]*\/\/[^/?]*[@\\]/.test(url)) throw outOfRange("url", urlRule);
  try {
    await outgoing.findWebhookAddresses(url, AbortSignal.timeout(lookUpMs));
  } catch (error) {
    const isRefused = error instanceof OutgoingError && error.problem === "refused";
    if (isRefused || !isUsualUrl(url)) throw outOfRange("url", urlRule);
  }
}
