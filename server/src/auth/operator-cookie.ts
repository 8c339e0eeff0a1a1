import type { Browser } from "../contract/browser.ts";

/** A cookie for operators of this deployment, which scripts cannot read and other sites cannot send. */
export interface Cookie {
  read(browser: Browser): string | undefined;
  /** @param maxAgeSeconds without it, the cookie expires when the browser closes */
  set(browser: Browser, value: string, maxAgeSeconds?: number): void;
  clear(browser: Browser): void;
}

/**
 * The name contains the port that the browser called, because cookies do not distinguish ports. The prefix prevents
 * other services on the host from setting the cookie, and the path prevents them from receiving it; `__Host-` requires
 * the path `/`.
 */
export function createCookie(name: string, publicUrl: string | undefined): Cookie {
  const path = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/+$/, "");

  function nameFor({ isSecure, port }: Browser): string {
    const prefix = isSecure ? (path === "" ? "__Host-" : "__Secure-") : "";
    return `${prefix}${name}-${port}`;
  }

  function set(browser: Browser, value: string, maxAgeSeconds?: number): void {
    browser.setCookie(nameFor(browser), value, [
      `Path=${path === "" ? "/" : `${path}/_/api`}`,
      ...(maxAgeSeconds === undefined ? [] : [`Max-Age=${maxAgeSeconds}`]),
      "HttpOnly",
      "SameSite=Strict",
      ...(browser.isSecure ? ["Secure"] : []),
    ]);
  }

  return {
    read: (browser) => browser.readCookie(nameFor(browser)),
    set,
    clear: (browser) => set(browser, "", 0),
  };
}
