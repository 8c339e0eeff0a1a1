/** The address of a PostgreSQL server, as the driver takes it. */
export interface PostgresAddress {
  readonly url: string;
  readonly options: { readonly path?: string; readonly database?: string };
}

/** @param url as `config/database-url.ts` returns it; also with several hosts, which `URL` does not parse */
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

/**
 * Server-side time limits: the server cannot distinguish a stopped or unreachable client, which still holds locks, from
 * a slow one.
 */
export function boundsOf(timeoutMs: number): Readonly<Record<string, number>> {
  return { statement_timeout: timeoutMs, idle_in_transaction_session_timeout: 2 * timeoutMs };
}

/** Appended to `begin`, because behind a pooler each transaction may run in another session. */
export function setBoundsOfTransaction(timeoutMs: number): string {
  return Object.entries(boundsOf(timeoutMs))
    .map(([name, bound]) => `; set local ${name} = ${bound}`)
    .join("");
}

/**
 * A statement that sets limits which only some servers support. A backend that has received part of a message and waits
 * for the rest is not covered by the other limits: it would hold its locks until the system declares the connection
 * dead, by default after two hours.
 */
export function setBounds(timeoutMs: number): string {
  const bounds = {
    transaction_timeout: 3 * timeoutMs, // since PostgreSQL 17
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
  };
  return setKnown(bounds, "session");
}

/** A statement that removes these limits for the rest of the transaction, as far as the server supports them. */
export function liftBounds(...names: readonly string[]): string {
  return setKnown(Object.fromEntries(names.map((name) => [name, 0])), "transaction");
}

/** Queries each setting by its name: `pg_settings` would describe all of them first, in each new session. */
function setKnown(settings: Readonly<Record<string, number>>, scope: "session" | "transaction"): string {
  const each = Object.entries(settings).map(
    ([name, value]) => `case when current_setting('${name}', true) is not null
    then set_config('${name}', '${value}', ${scope === "transaction"}) end`,
  );
  return `select ${each.join(", ")}`;
}
