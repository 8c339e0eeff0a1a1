import { changedPermissions, type GivenPermissions, newPermissions } from "../contract/permissions.ts";
import { changedText } from "../contract/wire.ts";
import type { Database, Queries, Transaction } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { lockRow } from "../db/lock.ts";
import type { OwnedRow, OwnedTableName } from "../db/tables.ts";
import { ownedEventType } from "../event-log/event-types.ts";
import type { EventRecorder, NewEvent } from "../event-log/recorder.ts";
import type { Background } from "../jobs/background.ts";
import { eraseMetadataOf, finishErasure } from "../jobs/metadata-erasure.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import { isOwnedKind } from "../lib/kinds.ts";
import type { Location, SentLocation } from "../lib/locations.ts";
import { type Fuzzing, trueLocation } from "../privacy/fuzzing.ts";
import { shownLocation } from "../privacy/visibility.ts";
import { columnsOf } from "./fields.ts";
import type { OwnedKind } from "./kind.ts";
import { deleteOwned, findLive, getReadable, insertOwned, updateOwned } from "./store.ts";

interface Owner {
  readonly applicationId: string;
  readonly userId: string;
}

/** The parameters that creations and changes of all owned objects have; a kind's fields are read by their names. */
interface GivenObject extends GivenPermissions {
  readonly location?: SentLocation;
  readonly tag?: string;
}

/** The columns of a new object that all kinds have, except for its location. @throws ApiError ParameterOutOfRange */
export function newColumns<UserId extends string | null>(
  { applicationId, userId }: { readonly applicationId: string; readonly userId: UserId },
  id: string,
  given: GivenObject,
  clock: Clock,
) {
  const now = clock.now();
  return {
    ...{ application_id: applicationId, id, user_id: userId, setter_id: null },
    tag: given.tag ?? null,
    ...newPermissions(given),
    ...{ created_at: now, modified_at: now },
  };
}

/** Stores a new object. @throws ApiError AuthAccessTokenInvalid when its owner was deleted after the token was checked */
export async function createOwned<Row extends OwnedRow>(
  table: OwnedTableName,
  row: Row,
  events: EventRecorder,
  queries: Queries,
): Promise<void> {
  await insertOwned(table, row, queries).catch((error) => {
    throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
  });
  await events.record(row.application_id, createdEvent(row), queries);
}

interface ChangeServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly events: EventRecorder;
}

/**
 * Changes the given fields of an object that this user may write (spec/search#changes-by-others).
 *
 * @throws ApiError ItemDoesNotExist, ObjectPermissionDenied, ParameterOutOfRange
 */
export async function changeOwned<Row extends OwnedRow>(
  kind: OwnedKind<Row>,
  { applicationId, userId }: Owner,
  id: string,
  given: GivenObject,
  { database, fuzzing, clock, events }: ChangeServices & { readonly fuzzing: Fuzzing },
  queries: Queries,
): Promise<Row> {
  const [, found] = await Promise.all([
    lockRow(database.dialect, kind.table, applicationId, id, queries),
    getReadable<Row>(kind.table, applicationId, userId, id, queries), // sent behind the lock
  ]);
  const permissions = changedPermissions(found, userId, given);
  const { user_id: ownerId } = found;
  if (ownerId === null) throw new ApiError("ObjectPermissionDenied"); // only operators change public objects
  const { location } = given;
  const isMoved = location !== undefined && !isSeenAt(found, userId, location);
  const row: Row = {
    ...found,
    ...permissions,
    ...(isMoved && {
      setter_id: userId === ownerId ? null : userId,
      ...(await fuzzing.locate({ applicationId, userId: ownerId, setterId: userId, location }, queries)),
    }),
    ...((isMoved || location?.place) && kind.placeColumns?.(location?.place)),
    ...columnsOf(kind.fields, given),
    tag: changedText(found.tag, given.tag),
    modified_at: clock.now(),
  };
  await noteSharing(found, ownerId, row, fuzzing, queries);
  await updateOwned(kind.table, found, row, queries);
  await events.record(applicationId, changedEvent(kind, found, row), queries);
  return row;
}

/**
 * Changes the given fields of a public object, for an operator.
 *
 * @throws ApiError ItemDoesNotExist, ObjectPermissionDenied for an object of a user
 */
export async function changePublic<Row extends OwnedRow>(
  kind: OwnedKind<Row>,
  applicationId: string,
  id: string,
  given: Omit<GivenObject, keyof GivenPermissions>,
  { database, clock, events }: ChangeServices,
  queries: Queries,
): Promise<Row> {
  const found = await lockPublic(kind, applicationId, id, database, queries);
  const row: Row = {
    ...found,
    ...(given.location && trueLocation(given.location)),
    ...columnsOf(kind.fields, given),
    tag: changedText(found.tag, given.tag),
    modified_at: clock.now(),
  };
  await updateOwned(kind.table, found, row, queries);
  await events.record(applicationId, changedEvent(kind, found, row), queries);
  return row;
}

/**
 * Locks a public object for the transaction.
 *
 * @throws ApiError ItemDoesNotExist, ObjectPermissionDenied for an object of a user
 */
export async function lockPublic<Row extends OwnedRow>(
  { table }: OwnedKind<Row>,
  applicationId: string,
  id: string,
  { dialect }: Database,
  queries: Queries,
): Promise<Row> {
  const [, found] = await Promise.all([
    lockRow(dialect, table, applicationId, id, queries),
    findLive<Row>(table, applicationId, id, queries), // sent behind the lock
  ]);
  if (found === undefined) throw new ApiError("ItemDoesNotExist");
  if (found.user_id !== null) throw new ApiError("ObjectPermissionDenied");
  return found;
}

/**
 * Whether the location in a request equals the one that the caller sees. Clients send complete objects back, and an
 * unchanged location must neither replace the true location by the fuzzed one nor change whose location it is.
 */
function isSeenAt(row: OwnedRow, userId: string, location: Location): boolean {
  const seen = shownLocation(row, row.user_id === userId);
  return seen?.lat === location.lat && seen.lng === location.lng;
}

/** Sharing an object may reveal its true location (see `Fuzzing.noteShown`). */
async function noteSharing(
  before: OwnedRow,
  userId: string,
  now: OwnedRow,
  fuzzing: Fuzzing,
  queries: Queries,
): Promise<void> {
  const { application_id: applicationId, setter_id, lat, lng } = now;
  const isShared = now.read_permission === 1 && before.read_permission !== 1;
  const isSameLocation = lat === before.lat && lng === before.lng;
  if (!isShared || !isSameLocation || lat === null || lng === null) return;
  const placing = { applicationId, userId, setterId: setter_id ?? userId, location: { lat, lng } };
  await fuzzing.noteShown(placing, undefined, queries);
}

/**
 * Deletes an object with the first chunk of its metadata; the rest is erased after the commit.
 *
 * @returns false when it was already deleted
 */
export async function removeOwned(
  table: OwnedTableName,
  applicationId: string,
  id: string,
  { queries, afterCommit }: Transaction,
  {
    database,
    background,
    events,
  }: { readonly database: Database; readonly background: Background; readonly events: EventRecorder },
): Promise<boolean> {
  const deleted = await deleteOwned(table, applicationId, id, queries);
  if (deleted === undefined) return false;
  await events.record(applicationId, deletedEvent(deleted), queries);
  // After the object: transactions that were writing its metadata have committed before.
  if (!(await eraseMetadataOf(applicationId, id, queries))) {
    afterCommit(() => background.run("finishErasure", (signal) => finishErasure(applicationId, id, database, signal)));
  }
  return true;
}

/** The object that an event is about, and its audience. */
type Readable = Pick<OwnedRow, "id" | "user_id" | "read_permission">;

function createdEvent(row: Readable): NewEvent {
  return { ...about(row, "created"), isShown: isShown(row) };
}

function deletedEvent(row: Readable): NewEvent {
  return { ...about(row, "deleted"), wasShown: isShown(row) };
}

function changedEvent<Row extends OwnedRow>(kind: OwnedKind<Row>, before: Row, after: Row): NewEvent {
  return {
    ...about(after, "changed"),
    changed: changedNames(kind, before, after),
    wasShown: isShown(before),
    isShown: isShown(after),
  };
}

function about({ id, user_id }: Readable, change: "created" | "changed" | "deleted") {
  const kind = kindOfId(id);
  if (!isOwnedKind(kind)) throw new Error(`${id} is not the id of an owned object`);
  return { type: ownedEventType(kind, change), objectId: id, userId: user_id };
}

function isShown({ read_permission, user_id }: Readable): boolean {
  return read_permission === 1 || user_id === null;
}

/**
 * Returns the changed fields, as results name them; other users receive a location only if their view of it changes.
 */
function changedNames<Row extends OwnedRow>({ fields }: OwnedKind<Row>, before: Row, after: Row): string[] {
  const names = fields.filter((field) => field.valueOf(before) !== field.valueOf(after)).map(({ name }) => name);
  if (before.tag !== after.tag) names.push("tag");
  if (!isSamePoint(before, after, false)) names.push("location");
  else if (!isSamePoint(before, after, true)) names.push("location-");
  if (before.read_permission !== after.read_permission) names.push("readPermissions");
  if (before.write_permission !== after.write_permission) names.push("writePermissions");
  return names;
}

function isSamePoint(before: OwnedRow, after: OwnedRow, isOwner: boolean): boolean {
  const [from, to] = [shownLocation(before, isOwner), shownLocation(after, isOwner)];
  return from?.lat === to?.lat && from?.lng === to?.lng;
}
