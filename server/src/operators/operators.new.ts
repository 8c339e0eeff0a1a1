import { type HashTicket, operatorTicket } from "../auth/guard/hash-queue.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { OperatorRole } from "../config/roles.ts";
import type { OperatorRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { newOperatorPassword } from "../lib/secrets.ts";

/** An operator that is not stored yet, with its password; only the hash will be stored. */
export interface NewOperator {
  readonly row: OperatorRow;
  readonly password: string;
}

/** Creates the row of an operator. Hashes the password, so it must run before the transaction. */
export async function newOperator(
  {
    name,
    role,
    password = newOperatorPassword(),
    mustChangePassword = false,
  }: { name: string; role: OperatorRole; password?: string | undefined; mustChangePassword?: boolean },
  { passwords, clock, ids }: { readonly passwords: Passwords; readonly clock: Clock; readonly ids: IdGenerator },
  ticket: HashTicket = operatorTicket(undefined, "command"),
): Promise<NewOperator> {
  const password_hash = await passwords.hash(password, ticket);
  const row: OperatorRow = {
    id: ids.newId("Operator"),
    name,
    role,
    password_hash,
    created_at: clock.now(),
    last_login_at: null,
    must_change_password: mustChangePassword ? 1 : 0,
  };
  return { row, password };
}
