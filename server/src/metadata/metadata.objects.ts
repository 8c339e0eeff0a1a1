import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../contract/route.ts";
import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { mayBePublic } from "../db/owned-tables.ts";
import { compilable, prepareShapes } from "../db/prepared.ts";
import type { OwnedTableName } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import { isOwnedKind, ownedKinds } from "../lib/kinds.ts";
import { isLocationReady } from "../privacy/visibility.ts";
import type { Visibility } from "./metadata.contract.ts";

/** The keys of one object in one slot. */
export interface Bag {
  readonly applicationId: string;
  readonly objectId: string;
  /** The user who owns the slot; empty for the slot that the application shares. */
  readonly slot: string;
}

/** Resolves the path and the visibility. @throws ApiError AuthUserAccessTokenRequired */
export function bagOf(caller: Caller, id: string, visibility: Visibility = "User"): Bag {
  return {
    applicationId: caller.applicationId,
    objectId: objectIdOf(caller, id),
    slot: visibility === "App" ? "" : requireUser(caller),
  };
}

function objectIdOf(caller: Caller, id: string): string {
  switch (id) {
    case "me":
      return requireUser(caller);
    case "current":
      return caller.deviceId;
    case "app":
      return caller.applicationId;
    default:
      return id;
  }
}

function requireUser({ userId }: Caller): string {
  if (userId === undefined) throw new ApiError("AuthUserAccessTokenRequired");
  return userId;
}

/** The rights of a caller on the metadata of an object that the caller may read. */
interface Rights {
  readonly mayWriteShared: boolean;
  readonly mayKeepOwn: boolean;
}

/** The rights of a caller, and the audience of the object for events. */
interface FoundRights extends Rights, Carrier {}

/** The object that carries metadata. */
export interface Carrier {
  readonly ownerId: string | null;
  /** Whether other users may read it. */
  readonly isShown: boolean;
}

const all: Rights = { mayWriteShared: true, mayKeepOwn: true };
const readOnly: Rights = { mayWriteShared: false, mayKeepOwn: false };

/**
 * Permissions on the metadata of an object (spec/metadata#metadata-permissions).
 *
 * @throws ApiError ItemDoesNotExist
 */
export async function requireReadable(caller: Caller, bag: Bag, queries: Queries): Promise<void> {
  if ((await findRights(caller, bag, unlocked, queries)) === undefined) throw new ApiError("ItemDoesNotExist");
}

/**
 * Like {@link requireReadable}, for the transaction of a write: locks the object and the writing user against deletion
 * until the commit, so that a deletion sees all written rows, and no row outlives its object.
 *
 * @param isPersonal the row belongs to the caller or holds the caller's location, and must be deleted with the caller
 * @returns the audience of the object for events
 * @throws ApiError ItemDoesNotExist, ObjectPermissionDenied, AuthAccessTokenInvalid
 */
export async function requireWritable(
  caller: Caller,
  bag: Bag,
  isPersonal: boolean,
  { forShare }: Pick<Dialect, "forShare">,
  queries: Queries,
): Promise<Carrier> {
  const { applicationId, userId } = caller;
  const lock = { shape: "locked", sql: forShare };
  const isOwnProfile = bag.objectId === userId;
  let isUserShown = false;
  if (userId !== undefined && (isPersonal || isOwnProfile)) {
    const user = await findUser({ applicationId, id: userId }, lock, queries);
    if (user === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token check
    isUserShown = user.celeb_mode === 0;
  }
  const rights = await findRights(caller, bag, lock, queries);
  if (rights === undefined) throw new ApiError("ItemDoesNotExist");
  const isAllowed = bag.slot === "" ? rights.mayWriteShared : rights.mayKeepOwn;
  if (!isAllowed) throw new ApiError("ObjectPermissionDenied");
  return { ownerId: rights.ownerId, isShown: isOwnProfile ? isUserShown : rights.isShown };
}

/** @returns undefined when the object does not exist for this caller */
async function findRights(caller: Caller, bag: Bag, lock: Lock, queries: Queries): Promise<FoundRights | undefined> {
  const { applicationId, objectId } = bag;
  const kind = kindOfId(objectId);
  if (kind === "App") return objectId === applicationId ? { ...all, ownerId: null, isShown: true } : undefined;
  if (kind === "Device") return objectId === caller.deviceId ? { ...all, ownerId: null, isShown: false } : undefined;
  if (kind === "User") {
    const carrier = { ownerId: objectId, isShown: true };
    if (objectId === caller.userId) return { ...all, ...carrier };
    const user = await findUser({ applicationId, id: objectId }, lock, queries);
    return user?.celeb_mode === 0 ? { ...readOnly, ...carrier } : undefined;
  }
  if (!isOwnedKind(kind)) return undefined;
  const { table } = ownedKinds[kind];
  return rightsOnOwned(caller, await findOwned(table, { applicationId, id: objectId }, lock, queries));
}

/** Returns the caller's rights that follow from an owned object's owner and permissions. */
function rightsOnOwned({ userId }: Caller, found: FoundOwned | undefined): FoundRights | undefined {
  if (found === undefined) return undefined;
  const carrier = { ownerId: found.user_id, isShown: found.read_permission === 1 };
  if (found.user_id === userId) return { ...all, ...carrier };
  if (found.read_permission !== 1 || found.is_ready === 0) return undefined;
  return { mayWriteShared: found.write_permission === 1, mayKeepOwn: true, ...carrier };
}

interface ById {
  readonly applicationId: string;
  readonly id: string;
}

/** Selects owned objects whose owner is not being deleted. */
interface FoundOwned {
  readonly user_id: string | null;
  readonly read_permission: number | null;
  readonly write_permission: number | null;
  /** See `isLocationReady`. */
  readonly is_ready: number;
}

interface Lock {
  /** Unique for the SQL text. */
  readonly shape: string;
  readonly sql: RawBuilder<unknown>;
}

const unlocked: Lock = { shape: "unlocked", sql: sql`` };

const runShape = prepareShapes({ kind: "lookup", isCommon: false });

async function findUser(byId: ById, lock: Lock, queries: Queries): Promise<{ celeb_mode: number } | undefined> {
  const [found] = await runShape<{ celeb_mode: number }>(queries, `user ${lock.shape}`, { ...byId }, (parameter) =>
    queries
      .selectFrom("users")
      .select("celeb_mode")
      .where("application_id", "=", parameter("applicationId"))
      .where("id", "=", parameter("id"))
      .where("deleted_at", "is", null)
      .modifyEnd(lock.sql),
  );
  return found;
}

async function findOwned(
  table: OwnedTableName,
  byId: ById,
  lock: Lock,
  queries: Queries,
): Promise<FoundOwned | undefined> {
  const [found] = await runShape<FoundOwned>(queries, `${table} ${lock.shape}`, { ...byId }, (parameter) =>
    compilable(
      sql<FoundOwned>`
        select found.user_id, found.read_permission, found.write_permission,
          case when ${isLocationReady("found", "owner")} then 1 else 0 end as is_ready
        from ${sql.table(table)} as found
        join users as owner
          on owner.application_id = found.application_id and owner.id = found.user_id and owner.deleted_at is null
        where found.application_id = ${parameter("applicationId")} and found.id = ${parameter("id")} ${lock.sql}`,
      queries,
    ),
  );
  return found === undefined && mayBePublic(table) ? findPublic(table, byId, lock, queries) : found;
}

/** A separate statement, because rows of an outer join cannot be locked. */
async function findPublic(
  table: OwnedTableName,
  byId: ById,
  lock: Lock,
  queries: Queries,
): Promise<FoundOwned | undefined> {
  const [found] = await runShape<FoundOwned>(queries, `public ${table} ${lock.shape}`, { ...byId }, (parameter) =>
    compilable(
      sql<FoundOwned>`
        select user_id, read_permission, write_permission, 1 as is_ready from ${sql.table(table)}
        where application_id = ${parameter("applicationId")} and id = ${parameter("id")} and user_id is null ${lock.sql}`,
      queries,
    ),
  );
  return found;
}
