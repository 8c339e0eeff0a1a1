import type { IncomingMessage, ServerResponse } from "node:http";
import { browserNameOf } from "../lib/browser-names.ts";

/** The browser that sent a call, for operators' operations that use cookies. */
export interface Browser {
  /** The port in the `Host` header; part of cookie names, because cookies do not distinguish ports. */
  readonly port: string;
  readonly isSecure: boolean;
  /** False if the browser reports that a page of another origin made the call. */
  readonly isSameOrigin: boolean;
  /** The value of `X-Rollcall-Console`; undefined without the header, and for any unknown value. */
  readonly consoleCall: "1" | "poll" | undefined;
  /** `Sec-Fetch-Site`, which browsers send over https and on this machine. */
  readonly site: string | undefined;
  readonly origin: string | undefined;
  /** The origin that the browser called; undefined if the `Host` header is invalid. */
  readonly calledOrigin: string | undefined;
  /** Whether the call is a GET or HEAD. */
  readonly isRead: boolean;
  /** A fixed name for a browser and its system: `Firefox on Linux`. */
  readonly name: string;
  /** @returns undefined without a cookie of this name, and with several, because one of them may be forged */
  readCookie(name: string): string | undefined;
  /** @param attributes in the syntax of RFC 6265 */
  setCookie(name: string, value: string, attributes: readonly string[]): void;
}

export function browserOf(request: IncomingMessage, response: ServerResponse, isSecure: boolean): Browser {
  const { host = "", cookie = "", origin } = request.headers;
  const site = request.headers["sec-fetch-site"]?.toString();
  const consoleCall = request.headers["x-rollcall-console"];
  return {
    port: /:(\d{1,5})$/.exec(host)?.[1] ?? (isSecure ? "443" : "80"),
    isSecure,
    isSameOrigin: site === undefined || site === "same-origin",
    consoleCall: consoleCall === "1" || consoleCall === "poll" ? consoleCall : undefined,
    site,
    origin,
    calledOrigin: originOf(`${isSecure ? "https" : "http"}://${host}`),
    isRead: request.method === "GET" || request.method === "HEAD",
    get name() {
      return browserNameOf(request.headers["user-agent"]);
    },
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

/** Returns the origin of a URL as browsers write it in `Origin`. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
