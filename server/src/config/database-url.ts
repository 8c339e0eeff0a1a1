import { BrokenRule, type Reader } from "./reader.ts";

/** `file:///path` or its equivalent `file:/path`. */
export const absoluteFilePattern = /^file:(?:\/\/)?\/(?!\/)[^?#]*$/;

export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(url);
}

const rule = "must be a URL that begins with postgres:// or file:/// (an absolute path)";
const encodingRule =
  "must have these characters of its user, password and database percent-encoded: % as %25, # as %23, / as %2F, ? as %3F, @ as %40";

/** No part contains a separator. */
const postgresPattern = /^(postgres(?:ql)?:\/\/)(?:([^/?#@]*)@)?([^/?#@]*)(?:\/([^/?#@]*))?(?:\?([^#@]*))?$/;

/**
 * Reads a URL of PostgreSQL or of a file. As in libpq, the folder of a Unix socket may replace the host
 * (`@%2Frun%2Fpostgresql/db`) or be the parameter `host` (`?host=/run/postgresql`); the result has the parameter.
 */
export const databaseUrl: Reader<string> = (given) => {
  if (!isPostgresUrl(given)) {
    if (absoluteFilePattern.test(given) && URL.canParse(given)) return given;
    throw new BrokenRule(rule);
  }
  const [, scheme, user, host = "", database, query = ""] = postgresPattern.exec(given) ?? [];
  if (scheme === undefined || ![user, host, database].every(isEncoded)) throw new BrokenRule(encodingRule);
  const parameters = new URLSearchParams(query);
  const [, hostName = ""] = /^(.*?)(?::\d+)?$/.exec(host) ?? [];
  const socket = [decodeURIComponent(hostName), parameters.get("host") ?? ""].find((each) => each.startsWith("/"));
  if (socket === undefined && parameters.get("host") === null) {
    if (URL.canParse(given)) return given;
    throw new BrokenRule(rule);
  }
  const port = parameters.get("port") ?? host.slice(hostName.length + 1);
  const named = socket === undefined ? parameters.get("host") : "localhost";
  parameters.delete("port");
  parameters.delete("host");
  if (socket !== undefined) parameters.set("host", socket);
  const login = user === undefined ? "" : `${user}@`;
  const read = `${scheme}${login}${named}${port === "" ? "" : `:${port}`}/${database ?? ""}${parameters.size === 0 ? "" : `?${parameters}`}`;
  if (!URL.canParse(read)) throw new BrokenRule(rule);
  return read;
};

function isEncoded(text = ""): boolean {
  return !/%(?![0-9A-Fa-f]{2})/.test(text) && isDecodable(text);
}

/** Whether the escapes are UTF-8. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
