/** Schemes of pages that do not send their own `Origin`, and of addresses that are not pages. */
const withoutOrigin = /^(file|data|blob|about|javascript|mailto|ftp|wss?):/i;

/** The prefix of the host in an entry that allows all subdomains. */
const wildcard = "*.";

/** A scheme of an app shell or a browser extension, such as `capacitor://localhost`, and its host. */
const appOrigin = /^[a-z][a-z0-9+.-]*:\/\/[\w.~-]+(:\d+)?$/i;

/** Whether the string is an origin as browsers and app shells send it, such as `https://app.example.com`. */
export function isOrigin(text: string): boolean {
  return originProblem(text) === undefined && !text.includes("*");
}

/**
 * Returns why no page can have this origin, with a correction; undefined for a valid origin, and for all subdomains of
 * a host, such as `https://*.example.com`.
 */
export function originProblem(text: string): string | undefined {
  if (text === "null") return "pages of any site can have this origin, so it cannot be allowed";
  if (text === "*") return "without origins, all pages may call";
  if (withoutOrigin.test(text)) return "no page has an origin with this scheme";
  const scheme = /^([^/?#]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return `an origin begins with a scheme${suggest(`https://${text}`)}`;
  const right = scheme === "http" || scheme === "https" ? webOrigin(text) : shellOrigin(text);
  if (right === undefined) return "this is no scheme and host, such as https://app.example.com";
  return right === text ? undefined : `browsers write ${right}`;
}

function suggest(text: string): string {
  const right = webOrigin(text);
  return right === undefined ? "" : `: write ${right}`;
}

/** Returns the origin of a web address, with its wildcard if it has one; undefined if it is not an address. */
function webOrigin(text: string): string | undefined {
  const isWild = /^\w+:\/\/\*\./.test(text);
  const url = URL.parse(isWild ? text.replace(wildcard, "") : text);
  if (url === null || /[*%]/.test(url.hostname)) return undefined;
  if (!isWild) return url.origin;
  return isDomain(url.hostname) ? url.origin.replace("://", `://${wildcard}`) : undefined;
}

/** Whether the subdomains of a host can have one owner: it is neither an IP address nor a top-level domain. */
function isDomain(host: string): boolean {
  return host === "localhost" || (/\.[^.]*[a-z]/.test(host) && !host.startsWith("["));
}

function shellOrigin(text: string): string | undefined {
  const origin = /^[^/]*:\/\/[^/?#]*/.exec(text)?.[0] ?? "";
  return appOrigin.test(origin) ? origin.replace(/^[^:]*/, (scheme) => scheme.toLowerCase()) : undefined;
}

/** The origins that an application allows. */
export class OriginList {
  readonly #exact: ReadonlySet<string>;
  /** The parts before and after the subdomain. */
  readonly #wild: readonly (readonly [scheme: string, rest: string])[];

  constructor(origins: readonly string[]) {
    this.#exact = new Set(origins.filter((origin) => !origin.includes("*")));
    this.#wild = origins.flatMap((origin) => {
      const [scheme, rest] = origin.split("*");
      return scheme === undefined || rest === undefined ? [] : [[scheme, rest] as const];
    });
  }

  has(origin: string): boolean {
    return this.#exact.has(origin) || this.#wild.some((parts) => isSubdomain(origin, parts));
  }
}

function isSubdomain(origin: string, [scheme, rest]: readonly [scheme: string, rest: string]): boolean {
  if (!origin.startsWith(scheme) || !origin.endsWith(rest)) return false;
  return /^[a-z0-9_.-]+$/.test(origin.slice(scheme.length, -rest.length));
}
