import { absoluteFilePattern } from "./database-url.ts";
import { checked, type Reader, text } from "./reader.ts";

function isUrl(given: string, protocols: readonly string[]): boolean {
  return URL.canParse(given) && protocols.includes(new URL(given).protocol);
}

const withoutSlash: Reader<string> = (given) => given.replace(/\/+$/, "");

/** Reads an http or https URL without its trailing slash. */
export const httpUrl = checked(
  withoutSlash,
  (url) => isUrl(url, ["http:", "https:"]),
  "must be an http:// or https:// URL",
);

export const smtpUrl = checked(
  text,
  (url) => isUrl(url, ["smtp:", "smtps:"]) && new URL(url).hostname !== "",
  "must be an smtp:// or smtps:// URL with a host",
);

/** Whether the string is the root URL of a service: http(s), a host, and an optional path. */
export function isRootUrl(given: string): boolean {
  if (!isUrl(given, ["http:", "https:"])) return false;
  const { username, password, search, hash } = new URL(given);
  return [username, password, search, hash].every((part) => part === "") && !/[?#\s"\\]/.test(given);
}

export const rootUrl = checked(
  withoutSlash,
  isRootUrl,
  "must be an http:// or https:// URL of a host and perhaps a path, without a query or a fragment",
);

/** S3 keys have at most 1,024 bytes, of which the keys of files use fewer than 800 (`checkKey`). */
const prefixCharactersMax = 200;

export const filesUrl = checked(
  text,
  isFilesUrl,
  `must be file:///path or s3://bucket, with nothing but an http(s) endpoint, a region and a prefix of at most ${prefixCharactersMax} characters behind the ?`,
);

function isFilesUrl(given: string): boolean {
  if (!isUrl(given, ["s3:", "file:"])) return false;
  const { protocol, username, password, port, hostname, pathname, hash, searchParams } = new URL(given);
  // The URL parser would read a relative path as absolute, which is never intended.
  if (protocol === "file:") return absoluteFilePattern.test(given) && pathname !== "/";
  const endpoint = searchParams.get("endpoint");
  return (
    [username, password, port, hash].every((part) => part === "") &&
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(hostname) &&
    ["", "/"].includes(pathname) &&
    [...searchParams.keys()].every((name) => ["endpoint", "region", "prefix"].includes(name)) &&
    (endpoint === null || isUrl(endpoint, ["http:", "https:"])) &&
    /^[a-z0-9-]{1,64}$/.test(searchParams.get("region") ?? "us-east-1") &&
    (searchParams.get("prefix") ?? "").length <= prefixCharactersMax &&
    /^(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*\/?)?$/.test(searchParams.get("prefix") ?? "")
  );
}
