/**
 * How long the server itself lets things last. To it, a process that has stopped or is out of reach is one that takes its
 * time, and has locks.
 */
export function boundsOf(timeoutMs: number): Readonly<Record<string, number>> {
  return { statement_timeout: timeoutMs, idle_in_transaction_session_timeout: 2 * timeoutMs };
}

/** Behind `begin`, where a pooler gives each transaction another session. */
export function setBoundsOfTransaction(timeoutMs: number): string {
  return Object.entries(boundsOf(timeoutMs))
    .map(([name, bound]) => `; set local ${name} = ${bound}`)
    .join("");
}

/**
 * A statement that sets what not every server knows. A backend that has been sent a part of a statement and waits for the
 * rest is in no state that the other bounds end: it would hold its locks until the system takes the connection for dead,
 * after two hours, if nobody says otherwise.
 */
export function setBounds(timeoutMs: number): string {
  const bounds = {
    transaction_timeout: 3 * timeoutMs, // from PostgreSQL 17 on
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
  };
  const rows = Object.entries(bounds).map(([name, bound]) => `('${name}', '${bound}')`);
  return `select set_config(name, bound, false)
    from pg_settings join (values ${rows.join()}) as bounds (name, bound) using (name)`;
}

/** A statement that takes these away until the transaction ends, of those that the server knows. */
export function liftBounds(...names: readonly string[]): string {
  const listed = names.map((name) => `'${name}'`).join();
  return `select set_config(name, '0', true) from pg_settings where name in (${listed})`;
}
