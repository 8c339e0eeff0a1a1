import type { IdentityOptions } from "./identity/options.ts";
import { requireRetry } from "./transport/call-options.ts";
import type { Timeouts, TransportOptions } from "./transport/options.ts";
import { checkAddress } from "./wire/address.ts";
import { requireFunction, requireMs, requireOption } from "./wire/checks.ts";
import { ConfigurationError } from "./wire/errors.ts";

export interface RollcallOptions extends IdentityOptions, Omit<TransportOptions, "clock" | "timeouts"> {
  /** The address of the service; must be https, except on localhost. */
  readonly url: string;
  readonly timeouts?: Timeouts & {
    /** The time limit of a sign-in or sign-up with all its attempts, in ms; 30,000 by default. */
    readonly signInMs?: number | undefined;
  };
  /** Allows http addresses, where tokens and passwords can be read in transit. */
  readonly insecure?: boolean;
}

const signInMsDefault = 30_000;

/** Validated options. */
export interface CheckedOptions extends RollcallOptions {
  readonly signInMs: number;
}

/** The features that the client needs, and the polyfill for a runtime without them. */
const polyfills = {
  fetch: "whatwg-fetch",
  AbortController: "abortcontroller-polyfill",
  URL: "react-native-url-polyfill",
  "crypto.getRandomValues": "react-native-get-random-values",
};

/** @throws ConfigurationError that names the option, and never its value if that is secret */
export function checkOptions(options: RollcallOptions): CheckedOptions {
  const { appid, appkey, insecure, instance, methods, renewal, retry, scheme = "Service", timeouts = {} } = options;
  for (const [name, polyfill] of Object.entries(polyfills)) {
    const found = name.split(".").reduce<unknown>((owner, member) => Object(owner)[member], globalThis);
    if (!isFunction(found))
      throw new ConfigurationError(`This runtime has no ${name}: install a polyfill, such as ${polyfill}.`);
  }
  const url = checkAddress("createRollcall: url", options.url, insecure);
  require("roots", Array.isArray(options.roots ?? []), "a list of addresses");
  const roots = (options.roots ?? []).map((root) => checkAddress("createRollcall: roots", root, insecure));
  require("appid", isText(appid), "a text");
  require("appkey", isText(appkey) || isFunction(appkey), "a text, or a function that returns one");
  require("instance", instance === undefined || isText(instance), "a text");
  require("renewal", ["auto", "never", undefined].includes(renewal), '"auto" or "never"');
  require("methods", ["all", "get-post", undefined].includes(methods), '"all" or "get-post"');
  require("scheme", /^[\w-]+$/.test(scheme), "a word");
  for (const name of ["fetch", "reauthenticate"] as const)
    if (options[name]) requireFunction(`createRollcall: ${name}`, options[name]);
  requireRetry("createRollcall: retry", retry);
  for (const [name, ms = 1] of Object.entries(timeouts)) requireMs(`createRollcall: timeouts.${name}`, ms);
  for (const name of ["store", "secrets"] as const) {
    const store = options[name];
    const isStore = !store || [store.get, store.set, store.delete, store.list].every(isFunction);
    require(name, isStore, "a store, such as memoryStore()");
  }
  return { ...options, url, roots, signInMs: timeouts.signInMs ?? signInMsDefault };
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function require(option: string, isRight: boolean, rule: string): void {
  requireOption(`createRollcall: ${option}`, isRight, rule);
}
