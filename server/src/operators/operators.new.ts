import type { Passwords } from "../auth/passwords.ts";
import type { OperatorRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { OperatorRole } from "../lib/roles.ts";
import { newOperatorPassword } from "../lib/secrets.ts";

/** An operator that is not stored yet, with the password that only its hash is stored of. */
export interface NewOperator {
  readonly row: OperatorRow;
  readonly password: string;
}

/** Makes an operator; takes as long as a hash does, so it belongs before the transaction. */
export async function newOperator(
  { name, role, password = newOperatorPassword() }: { name: string; role: OperatorRole; password?: string | undefined },
  { passwords, clock, ids }: { readonly passwords: Passwords; readonly clock: Clock; readonly ids: IdGenerator },
): Promise<NewOperator> {
  const password_hash = await passwords.hash(password);
  const row: OperatorRow = {
    id: ids.newId("Operator"),
    name,
    role,
    password_hash,
    created_at: clock.now(),
    last_login_at: null,
  };
  return { row, password };
}
