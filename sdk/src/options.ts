import type { IdentityOptions } from "./identity/options.ts";
import { isInsecure, normalizeAddress } from "./lib/address.ts";
import type { Timeouts, TransportOptions } from "./transport/options.ts";
import { ConfigurationError } from "./wire/errors.ts";

export interface RollcallOptions extends IdentityOptions, Omit<TransportOptions, "clock" | "timeouts"> {
  /** The address of the service: https, but for this machine. */
  readonly url: string;
  readonly timeouts?: Timeouts & {
    /** Of a sign-in or sign-up with all its attempts; 30 s by default. */
    readonly signInMs?: number | undefined;
  };
  /** Allows addresses without TLS, where tokens and passwords can be read on the way. */
  readonly insecure?: boolean;
}

const signInMsDefault = 30_000;
const repeatsMax = 10;

/** Options that have been checked. */
export interface CheckedOptions extends RollcallOptions {
  readonly signInMs: number;
}

/** @throws ConfigurationError that names the option, and never its value where that is secret */
export function checkOptions(options: RollcallOptions): CheckedOptions {
  const { appid, appkey, insecure = false, instance, renewal, methods, retry, scheme, timeouts = {} } = options;
  requireRuntime();
  const url = checkAddress("url", options.url, insecure);
  const roots = (options.roots ?? []).map((root) => checkAddress("roots", root, insecure));
  require(typeof appid === "string" && appid !== "", "appid", "is missing: it is the id of the application");
  require(typeof appkey === "function" ||
    (typeof appkey === "string" &&
      appkey !== ""), "appkey", "is missing: it is a key of the application, or a function that returns one");
  require(instance === undefined || (typeof instance === "string" && instance !== ""), "instance", "must be a text");
  require(["auto", "never", undefined].includes(renewal), "renewal", 'must be "auto" or "never"');
  require(["all", "get-post", undefined].includes(methods), "methods", 'must be "all" or "get-post"');
  require(scheme === undefined || /^[\w-]+$/.test(scheme), "scheme", "must be a word");
  const { repeats = 0 } = retry || {};
  require(Number.isInteger(repeats) &&
    repeats >= 0 &&
    repeats <= repeatsMax, "retry", `repeats must be an integer from 0 to ${repeatsMax}`);
  for (const [name, ms] of Object.entries(timeouts)) {
    require(ms === undefined ||
      (typeof ms === "number" && ms > 0), `timeouts.${name}`, "must be a positive number of milliseconds");
  }
  for (const name of ["store", "secrets"] as const) {
    const store = options[name];
    const isStore =
      store === undefined ||
      [store?.get, store?.set, store?.delete, store?.list].every((member) => typeof member === "function");
    require(isStore, name, "must be a store, such as memoryStore()");
  }
  return { ...options, url, roots, signInMs: timeouts.signInMs ?? signInMsDefault };
}

function checkAddress(option: string, address: unknown, insecure: boolean): string {
  const normal = normalizeAddress(address);
  if (normal === undefined) throw problem(option, "must be an address that begins with https:// and holds no password");
  require(insecure ||
    !isInsecure(normal), option, "must begin with https://; for a server on a trusted network set the option insecure");
  return normal;
}

function requireRuntime(): void {
  const needed: readonly (readonly [name: string, isThere: boolean, polyfill: string])[] = [
    ["fetch", typeof fetch === "function", "whatwg-fetch"],
    ["AbortController", typeof AbortController === "function", "abortcontroller-polyfill"],
    ["URL", typeof URL === "function", "react-native-url-polyfill or core-js"],
    [
      "crypto.getRandomValues",
      typeof globalThis.crypto?.getRandomValues === "function",
      "react-native-get-random-values",
    ],
  ];
  for (const [name, isThere, polyfill] of needed) {
    if (!isThere) throw new ConfigurationError(`This runtime has no ${name}: install a polyfill, such as ${polyfill}.`);
  }
}

function require(isRight: boolean, option: string, rule: string): void {
  if (!isRight) throw problem(option, rule);
}

function problem(option: string, rule: string): ConfigurationError {
  return new ConfigurationError(`createRollcall: ${option} ${rule}.`);
}
