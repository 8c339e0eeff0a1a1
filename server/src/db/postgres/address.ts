/** The address of a PostgreSQL server, as the driver takes it. */
export interface PostgresAddress {
  readonly url: string;
  readonly options: { readonly path?: string; readonly database?: string };
}

/** @param url as `settings/database-url.ts` returns it; also with several hosts, which `URL` does not parse */
export function addressOf(url: string): PostgresAddress {
  const [, name = "", query] = /^[^/]+:\/\/[^/?]*(?:\/([^?]*))?(?:\?(.*))?$/.exec(url) ?? [];
  const database = decodeURIComponent(name); // the driver does not decode it
  const folder = new URLSearchParams(query).get("host");
  const options = database === "" ? {} : { database };
  if (folder === null) return { url, options };
  const parsed = new URL(url);
  parsed.searchParams.delete("host");
  return { url: parsed.href, options: { ...options, path: `${folder}/.s.PGSQL.${parsed.port || 5432}` } };
}
