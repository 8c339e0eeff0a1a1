import type { Revocations } from "../auth/revocations.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { deleteSomeRows } from "../db/erasure.ts";
import { userTablesInErasureOrder } from "../db/tables.ts";
import { updateUser } from "./users.store.ts";

/**
 * Deletes a user for everybody: the tokens die, the name is free again, what is personal is gone from the row. What the
 * user owns is not found any more from here on, and is erased by {@link eraseUser}.
 */
export async function updateUserDeleted(
  applicationId: string,
  userId: string,
  at: number,
  revocations: Revocations,
  transaction: Transaction,
): Promise<void> {
  const cleared = { user_name: "", password_hash: "", email: null, first_name: null, last_name: null };
  const location = { lat: null, lng: null, cell: null, seen_lat: null, seen_lng: null, seen_cell: null };
  // Names are kept in lower case, so that no user can have this one.
  const user_name_key = `DELETED ${userId}`;
  const profile = { gender: null, date_of_birth: null, tag: null, ...location };
  await updateUser(
    applicationId,
    userId,
    { ...cleared, ...profile, user_name_key, deleted_at: at },
    transaction.queries,
  );
  await revocations.endUserTokens(applicationId, userId, transaction);
}

const rowsPerStep = 250;

/**
 * Erases what a deleted user owned, and the user last, a bounded number of rows in each transaction. Can be stopped at any
 * moment and begun again.
 *
 * @returns false when there is more to do: it stopped after `stepsMax` transactions, or something came meanwhile
 */
export async function eraseUser(
  applicationId: string,
  userId: string,
  database: Database,
  { stepsMax = Number.POSITIVE_INFINITY, signal }: { stepsMax?: number; signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  let steps = 0;
  for (const table of userTablesInErasureOrder) {
    let rows: number;
    do {
      signal?.throwIfAborted();
      if (steps >= stepsMax) return false;
      rows = await database.write(({ queries }) =>
        deleteSomeRows(table, { application_id: applicationId, user_id: userId }, rowsPerStep, queries),
      );
      if (rows > 0) steps += 1;
    } while (rows >= rowsPerStep);
  }
  try {
    await database.write(({ queries }) =>
      queries
        .deleteFrom("users")
        .where("application_id", "=", applicationId)
        .where("id", "=", userId)
        .where("deleted_at", "is not", null)
        .execute(),
    );
    return true;
  } catch (error) {
    if (isForeignKeyViolation(error)) return false; // something was still being written when its table was erased
    throw error;
  }
}
