import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/**
 * Detects requests that Node parses but proxies may interpret differently: they could disagree with us about where the
 * request ends or which host it is for (RFC 9112, sections 3.2 and 6.1).
 *
 * @returns undefined for an unambiguous request
 */
export function framingFault({ headers, httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (headers.host === undefined && httpVersion === "1.1") return "The Host header is missing.";
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) {
    return "HTTP/1.0 has no Transfer-Encoding.";
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1 ? "The Host header must be sent once." : undefined;
}

/** Whether a body arrives in another form than the client's own, such as gzip. */
export function isEncoded({ "content-encoding": encoding = "" }: IncomingHttpHeaders): boolean {
  return encoding.split(",").some((each) => !["", "identity"].includes(each.trim().toLowerCase()));
}
