import { type Browser, originOf } from "../contract/browser.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import { createCookie } from "./operator-cookie.ts";

/** The properties of an operator's call that decide whether its session cookie is accepted. */
export interface CookieCall {
  readonly browser: Browser;
  /** Whether the operation is a GET that answers with bytes, which a browser saves without a script. */
  readonly isDownload: boolean;
}

/**
 * The session cookies of the console, and the protection against calls of other origins (spec/console#session-cookies).
 */
export interface OperatorSessionCookies {
  /**
   * The token in the cookie of the call.
   * @returns undefined if there is no cookie, or if it is not accepted
   * @throws ApiError AuthFailed that names PUBLIC_URL, if only `Origin` causes the refusal
   */
  read(call: CookieCall): { readonly token: string; readonly isPoll: boolean } | undefined;
  /**
   * Whether a sign-in requests a cookie as the console does.
   * @throws ApiError AuthFailed for another origin
   */
  mayBegin(browser: Browser | undefined): browser is Browser;
  /** @param isPersistent false for a cookie that expires when the browser closes */
  set(browser: Browser, token: string, isPersistent: boolean): void;
  clear(browser: Browser | undefined): void;
}

export function createOperatorSessionCookies(settings: {
  readonly publicUrl: string | undefined;
  readonly operatorSessionMs: number;
}): OperatorSessionCookies {
  const { publicUrl, operatorSessionMs } = settings;
  const cookie = createCookie("rollcall", publicUrl);
  const publicOrigin = publicUrl === undefined ? undefined : originOf(publicUrl);

  /** @throws ApiError AuthFailed that names PUBLIC_URL */
  function isFromOwnPage({ site, origin, calledOrigin, isRead }: Browser): boolean {
    if (site !== undefined) return site === "same-origin";
    if (origin === undefined) return isRead;
    if (origin === publicOrigin || origin === calledOrigin) return true;
    throw new ApiError("AuthFailed", `${errorRow("AuthFailed").message} ${foreignOrigin}`);
  }

  return {
    read({ browser, isDownload }) {
      const token = cookie.read(browser);
      if (token === undefined || token === "") return undefined;
      const isNamed = browser.consoleCall !== undefined;
      if (!isNamed && !(isDownload && browser.site === "same-origin")) return undefined;
      return isFromOwnPage(browser) ? { token, isPoll: browser.consoleCall === "poll" } : undefined;
    },

    mayBegin(browser): browser is Browser {
      if (browser?.consoleCall === undefined) return false;
      if (isFromOwnPage(browser)) return true;
      throw new ApiError("AuthFailed");
    },

    set: (browser, token, isPersistent) =>
      cookie.set(browser, token, isPersistent ? Math.floor(operatorSessionMs / 1_000) : undefined),

    clear(browser) {
      if (browser !== undefined) cookie.clear(browser);
    },
  };
}

const foreignOrigin =
  "The session cookie counts only for pages of this server: Origin is neither that of PUBLIC_URL nor that of Host.";
