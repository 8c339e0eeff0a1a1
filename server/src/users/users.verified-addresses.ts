import type { Caller } from "../contract/route.ts";
import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockName } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { addressKey } from "../lib/mail-addresses.ts";
import { keyForCodes } from "./users.email.ts";
import { findUserForLogin, type LoginRow, listUsersForLoginByAddress, updateUser } from "./users.store.ts";

type AddressColumns = Pick<UserRow, "application_id" | "id" | "email" | "verified_email_key">;

/** Whether the user has proved to receive mails at the address (spec/users#verified-addresses). */
export function isEmailVerified({
  email,
  verified_email_key: key,
}: Pick<UserRow, "email" | "verified_email_key">): boolean {
  // A process of an earlier version may have changed the address, and left the key of the former one.
  return key !== null && email !== null && addressKey(email) === key;
}

/** The users that a name may mean. */
interface Meant {
  readonly named: LoginRow | undefined;
  /** Absent where addresses do not sign in, and for a name that cannot be one. */
  readonly address?: { readonly key: string; readonly owner: LoginRow | undefined };
}

/**
 * Finds the user of a name and, where addresses sign in, another user who has verified the address
 * (spec/users#sign-in-by-address).
 */
export async function findMeant(
  userName: string,
  { applicationId, deviceId, policy }: Caller,
  now: number,
  queries: Queries,
): Promise<Meant> {
  const named = await findUserForLogin(applicationId, userName, deviceId, queries);
  if (policy.signIn.byEmail !== true || !userName.includes("@")) return { named };
  const key = addressKey(userName);
  const found = key === undefined ? [] : await listUsersForLoginByAddress(applicationId, key, deviceId, queries);
  // Not the address that an unproven change has set, but the former one.
  const owner = found.find((user) => user.id !== named?.id && keyForCodes(user, now) === key);
  return { named, address: { key: key ?? userName, owner } };
}

/**
 * Returns the columns of a user whose address is verified now, unless it is not the address of the user any more, is no
 * plain address, or another user has verified it. Locks the address until the end of the transaction.
 *
 * @param address to which the mail, or the claim of a provider, was about
 */
export async function verifiedColumns(
  user: AddressColumns,
  address: string | null,
  at: { readonly dialect: Dialect; readonly now: number },
  queries: Queries,
): Promise<Partial<Pick<UserRow, "verified_email_key">>> {
  const key = address === null ? undefined : addressKey(address);
  if (key === undefined || user.email === null || addressKey(user.email) !== key) return {};
  return (await isOfAnother(user, key, at, queries)) ? {} : { verified_email_key: key };
}

/**
 * Whether another user has verified the address, also before a change that does not hold yet. Locks the address until the
 * end of the transaction.
 */
export async function isOfAnother(
  { application_id: applicationId, id }: Pick<UserRow, "application_id" | "id">,
  key: string,
  { dialect, now }: { readonly dialect: Dialect; readonly now: number },
  queries: Queries,
): Promise<boolean> {
  await lockName(dialect, `address ${applicationId} ${key}`, queries);
  const others = queries
    .selectFrom("users")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("id", "<>", id);
  const held = await others.where("held_email_key", "=", key).execute();
  if (held.some((user) => keyForCodes(user, now) === key)) return true;
  const owner = await others.where("verified_email_key", "=", key).executeTakeFirst();
  if (owner === undefined || isEmailVerified(owner)) return owner !== undefined;
  // The key of a former address must not keep the present owner out.
  await updateUser(applicationId, owner.id, { verified_email_key: null }, queries);
  return false;
}
