import type { Insertable, Selectable } from "kysely";

/**
 * The data model. Every table of application data has `application_id` first in its primary key, its unique indexes and
 * its foreign keys, so that one application is one shard; a test walks the schema and checks it. Times are milliseconds
 * since 1970-01-01 UTC. Truth values are 0 or 1 on both engines.
 *
 * `token_version` is the kill tree: a token holds the versions of its application, application key, device and user,
 * and dies when any of them has moved on. One update ends all the tokens below it.
 */
export interface Tables {
  applications: ApplicationsTable;
  application_keys: ApplicationKeysTable;
  devices: DevicesTable;
  users: UsersTable;
  revoked_tokens: RevokedTokensTable;
  identities: IdentitiesTable;
  checkins: CheckinsTable;
}

/** The tables in which an application's data lies, children before the rows that they refer to. */
export const tablesInErasureOrder = [
  "checkins",
  "identities",
  "revoked_tokens",
  "users",
  "devices",
  "application_keys",
] as const satisfies readonly (keyof Tables)[];

interface ApplicationsTable {
  application_id: string;
  name: string;
  token_version: number;
  created_at: number;
  /** Set first when an application is deleted: from then on it is gone for clients, while its rows are being erased. */
  deleted_at: number | null;
}

interface ApplicationKeysTable {
  application_id: string;
  id: string;
  /** SHA-256 of the key in hex. */
  digest: string;
  token_version: number;
  created_at: number;
}

interface DevicesTable {
  application_id: string;
  id: string;
  /** What the client sent as uniqueId; registrations without one make a new device each. */
  unique_id: string | null;
  platform: string;
  token_version: number;
  created_at: number;
  modified_at: number;
}

interface UsersTable {
  application_id: string;
  id: string;
  user_name: string;
  /** The name regardless of case and Unicode form: what is unique, and what login looks for. */
  user_name_key: string;
  /** An argon2id PHC string. */
  password_hash: string;
  email: string | null;
  first_name: string | null;
  last_name: string | null;
  celeb_mode: number;
  location_fuzzing: number;
  token_version: number;
  last_login_at: number;
  created_at: number;
  modified_at: number;
}

/** Tokens ended one by one, kept until they would have expired anyway. */
interface RevokedTokensTable {
  application_id: string;
  token_id: string;
  expires_at: number;
}

interface IdentitiesTable {
  application_id: string;
  provider: string;
  identifier: string;
  user_id: string;
  created_at: number;
}

interface CheckinsTable {
  application_id: string;
  id: string;
  user_id: string;
  lat: number;
  lng: number;
  comment: string | null;
  description: string | null;
  created_at: number;
  modified_at: number;
}

export type UserRow = Selectable<UsersTable>;
export type NewUserRow = Insertable<UsersTable>;
export type CheckinRow = Selectable<CheckinsTable>;
export type IdentityRow = Selectable<IdentitiesTable>;
export type DeviceRow = Selectable<DevicesTable>;
