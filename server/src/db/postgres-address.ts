/** The address of a PostgreSQL server, as the driver takes it. */
export interface PostgresAddress {
  readonly url: string;
  readonly options: { readonly path?: string; readonly database?: string };
}

/** @param url as `settings/database-url.ts` returns it */
export function addressOf(url: string): PostgresAddress {
  const parsed = new URL(url);
  const database = decodeURIComponent(parsed.pathname.slice(1)); // which the driver does not do
  const folder = parsed.searchParams.get("host");
  parsed.searchParams.delete("host");
  return {
    url: folder === null ? url : parsed.href,
    options: {
      ...(database !== "" && { database }),
      ...(folder !== null && { path: `${folder}/.s.PGSQL.${parsed.port || 5432}` }),
    },
  };
}
