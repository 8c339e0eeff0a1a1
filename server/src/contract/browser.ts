import type { IncomingMessage, ServerResponse } from "node:http";

/** The browser behind a call, for operator operations that use cookies. */
export interface Browser {
  /** The port in the `Host` header; part of cookie names, because cookies do not distinguish ports. */
  readonly port: string;
  readonly isSecure: boolean;
  /** False when the browser reports that a page of another origin made the call. */
  readonly isSameOrigin: boolean;
  /** @returns undefined without a cookie of this name, and with several, since one of them may be forged */
  readCookie(name: string): string | undefined;
  /** @param attributes appended to the value, in the syntax of RFC 6265 */
  setCookie(name: string, value: string, attributes: readonly string[]): void;
}

export function browserOf(request: IncomingMessage, response: ServerResponse, isSecure: boolean): Browser {
  const { host = "", cookie = "" } = request.headers;
  const site = request.headers["sec-fetch-site"];
  return {
    port: /:(\d{1,5})$/.exec(host)?.[1] ?? (isSecure ? "443" : "80"),
    isSecure,
    isSameOrigin: site === undefined || site === "same-origin",
    readCookie(name) {
      const values = cookie.split(";").flatMap((pair) => {
        const [given = "", ...rest] = pair.trim().split("=");
        return given === name ? [rest.join("=")] : [];
      });
      return values.length === 1 ? values[0] : undefined;
    },
    setCookie(name, value, attributes) {
      response.appendHeader("set-cookie", [`${name}=${value}`, ...attributes].join("; "));
    },
  };
}
