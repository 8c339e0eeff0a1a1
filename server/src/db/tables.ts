import type { ColumnType, Generated, Insertable, Selectable } from "kysely";
import type { OperatorRole } from "../lib/roles.ts";

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
  crash_reports: CrashReportsTable;
  crash_groups: CrashGroupsTable;
  crash_group_versions: CrashGroupVersionsTable;
  crash_group_devices: CrashGroupDevicesTable;
  users: UsersTable;
  user_tokens: UserTokensTable;
  password_resets: PasswordResetsTable;
  location_shifts: LocationShiftsTable;
  identities: IdentitiesTable;
  checkins: CheckinsTable;
  kept_replies: KeptRepliesTable;
  metric_inbox: MetricInboxTable;
  metric_handles: MetricHandlesTable;
  metric_chunks: MetricChunksTable;
  metric_rollups: MetricRollupsTable;
  metric_keys: MetricKeysTable;
  metric_batches: MetricBatchesTable;
  leases: LeasesTable;
  operators: OperatorsTable;
  operator_sessions: OperatorSessionsTable;
  audit_log: AuditLogTable;
  application_regions: ApplicationRegionsTable;
  metadata: MetadataTable;
  unfinished_erasures: UnfinishedErasuresTable;
  files: FilesTable;
  loose_bytes: LooseBytesTable;
  file_usage: FileUsageTable;
  resumable_uploads: ResumableUploadsTable;
  upload_segments: UploadSegmentsTable;
}

/** The tables that belong to the deployment and to no application. */
export const deploymentTables = [
  "application_regions",
  "audit_log",
  "leases",
  "operator_sessions",
  "operators",
] as const satisfies readonly (keyof Tables)[];

/** The tables in which an application's data lies, children before the rows that they refer to. */
export const tablesInErasureOrder = [
  "kept_replies",
  "metadata",
  "unfinished_erasures",
  "checkins",
  "files",
  "upload_segments",
  "resumable_uploads",
  "loose_bytes",
  "file_usage",
  "metric_inbox",
  "metric_handles",
  "metric_chunks",
  "metric_rollups",
  "metric_keys",
  "metric_batches",
  "identities",
  "location_shifts",
  "password_resets",
  "user_tokens",
  "users",
  "crash_group_devices",
  "crash_group_versions",
  "crash_groups",
  "crash_reports",
  "devices",
  "application_keys",
] as const satisfies readonly (keyof Tables)[];

/**
 * Those of them in which a user's data lies: each has a `user_id`. Check-ins go after them, each with its
 * metadata, files, each with its metadata and bytes, and unfinished uploads with theirs (`users.erasure.ts`).
 */
export const userTablesInErasureOrder = [
  "kept_replies",
  "identities",
  "password_resets",
  "user_tokens",
  "location_shifts",
  "metric_handles",
] as const satisfies readonly (keyof Tables)[];

/** What one process at a time does for all: see `leases.ts`. */
interface LeasesTable {
  name: string;
  holder: string;
  ends_at: number;
}

type Nullable<T> = { [Name in keyof T]: T[Name] | null };

interface ApplicationsTable {
  application_id: string;
  name: string;
  token_version: number;
  created_at: number;
  /** Set first when an application is deleted: from then on it is gone for clients, while its rows are being erased. */
  deleted_at: number | null;
  /** JSON, as `apps configure` read and checked it. */
  settings: ColumnType<string, string | undefined, string>;
  /** While it is set every operation is refused; tokens stay good for afterwards. */
  suspended_at: Generated<number | null>;
  /** The shared secret of signed requests, sealed (`tenancy/policies.ts`). */
  signing_secret: Generated<string | null>;
  /** Keys of earlier generations are dead: one update ends all of them. */
  key_generation: Generated<number>;
  /** While it is imported: marked as deleted, and not to be erased before then (`archives/imports.store.ts`). */
  importing_until: Generated<number | null>;
  /** The region that it is on its way to, which may be this one; until it is there nothing is served of it. */
  moving_to: Generated<string | null>;
}

interface ApplicationKeysTable {
  application_id: string;
  id: string;
  /** SHA-256 of the key in hex. */
  digest: string;
  token_version: number;
  created_at: number;
  generation: Generated<number>;
  label: Generated<string | null>;
  /** Set when it is taken out of use: nobody registers with it any more. */
  retired_at: Generated<number | null>;
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
  model: string | null;
  os_version: string | null;
  app_version: string | null;
  push_token: string | null;
  /** Index in `connectionTypes` of the contract. */
  connection_type: number | null;
  is_production: number | null;
  tag: string | null;
  lat: number | null;
  lng: number | null;
  /** The key that it registered with last, and when; null for a device that has not since this is written down. */
  key_id: string | null;
  registered_at: number | null;
}

/** What apps report of their crashes; read by operators. */
interface CrashReportsTable {
  application_id: string;
  id: string;
  device_id: string;
  stack_trace: string;
  message: string | null;
  method_name: string | null;
  tag: string | null;
  lat: number | null;
  lng: number | null;
  /** What the device had told of itself when it crashed. */
  app_version: string | null;
  os_version: string | null;
  created_at: number;
  /** Of the group that it belongs to. */
  fingerprint: string;
}

/** Reports of one bug (`lib/crash-identity.ts`). It stays, with its counts, when its reports have been dropped. */
interface CrashGroupsTable {
  application_id: string;
  fingerprint: string;
  /** What its first report said. */
  title: string;
  reports: number;
  /** How many rows it has in crash_group_devices. */
  devices: number;
  first_seen_at: number;
  last_seen_at: number;
}

interface CrashGroupVersionsTable {
  application_id: string;
  fingerprint: string;
  /** Empty when the device had not told it. */
  app_version: string;
  reports: number;
  first_seen_at: number;
  last_seen_at: number;
}

interface CrashGroupDevicesTable {
  application_id: string;
  fingerprint: string;
  device_id: string;
}

/**
 * Where something located lies, and where others see it.
 *
 * `cell` is the location on a curve that fills the map (`lib/cells.ts`), so that an area is a few ranges of it. The
 * `seen_` coordinates hold the shifted point while the owner has locationFuzzing, and null otherwise: then others see the
 * true one. (Where users themselves are, they always see shifted.) A row of such an owner that has no shifted point yet is not shown to others at all. `seen_cell` is the cell of
 * the point that others see, whichever it is.
 */
interface Located {
  lat: number;
  lng: number;
  cell: number;
  seen_lat: number | null;
  seen_lng: number | null;
  seen_cell: number;
}

interface UsersTable extends Nullable<Located> {
  application_id: string;
  id: string;
  user_name: string;
  /** The name regardless of case and Unicode form: what is unique, and what login looks for. */
  user_name_key: string;
  /** An argon2id PHC string; empty for a user who has no password, and signs in with an identity provider. */
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
  /** Index in `genders` of the contract. */
  gender: number | null;
  date_of_birth: number | null;
  tag: string | null;
  /** One of the user's pictures; goes when that is deleted. */
  profile_picture_id: string | null;
  /** 1 when others may read it, so that they see it on the user as well. */
  is_picture_shared: Generated<number>;
  /** 1 while the shifted points of what the user owns are being made or dropped, after a change of locationFuzzing. */
  is_reshifting: Generated<number>;
  /** Set while an operator keeps the user from signing in, and from using what tokens there are. */
  disabled_at: Generated<number | null>;
  /** Set first when a user is deleted: from then on it is gone for clients, while what it owns is being erased. */
  deleted_at: number | null;
}

/** A user token is good while its row is here and holds the version of its user. */
interface UserTokensTable {
  application_id: string;
  user_id: string;
  id: string;
  device_id: string;
  user_version: number;
  created_at: number;
  /** To the minute. */
  last_used_at: number;
  expires_at: number;
}

/** The one-time code that a user may set a new password with. */
interface PasswordResetsTable {
  application_id: string;
  user_id: string;
  /** SHA-256 of the code in hex. */
  digest: string;
  tries_left: number;
  expires_at: number;
}

/** A place of a user with locationFuzzing, and how far and whereto others see it shifted (`privacy/fuzzing.ts`). */
interface LocationShiftsTable {
  application_id: string;
  user_id: string;
  id: string;
  /** Who set the locations that belong to this place: the user, or somebody who may write the user's objects. */
  setter_id: string;
  lat: number;
  lng: number;
  cell: number;
  /** Degrees clockwise from north. */
  bearing: number;
}

interface IdentitiesTable {
  application_id: string;
  provider: string;
  identifier: string;
  user_id: string;
  created_at: number;
  /** 1 when the user proved it with a token of the provider; nothing else signs in. */
  is_verified: Generated<number>;
}

/** What the owner lets others do: 0 nothing (`User`), 1 read or write (`App`); null like 0, and never said. */
interface Permitted {
  read_permission: number | null;
  write_permission: number | null;
}

interface CheckinsTable extends Located, Permitted {
  application_id: string;
  id: string;
  user_id: string;
  /** Who said where it lies; null for the owner. */
  setter_id: string | null;
  comment: string | null;
  description: string | null;
  tag: string | null;
  created_at: number;
  modified_at: number;
}

/** What a call with an idempotency key was answered (surface.md section 12). */
interface KeptRepliesTable {
  application_id: string;
  /** Whose key it is: of a user, or of a device; the other one is empty. */
  user_id: string;
  device_id: string;
  key: string;
  /** Sealed. */
  reply: string;
  expires_at: number;
}

/** What has arrived and is not in chunks and roll-ups yet: a row for each request, written once (`metrics/`). */
interface MetricInboxTable {
  application_id: string;
  /** Of one event that was sent alone it is the event's own. */
  id: string;
  received_at: number;
  /** JSON, see `metrics.payload.ts`. */
  payload: string;
}

/** An event that was sent alone, which its sender may end. */
interface MetricHandlesTable {
  application_id: string;
  id: string;
  key: string;
  device_id: string;
  user_id: string | null;
  /** When it happened, as the client said. */
  occurred_at: number;
  /** When it was received. */
  started_at: number;
  /** Null for an event that was not timed. */
  expires_at: number | null;
  ended_at: number | null;
}

/** Events of one key and one hour. */
interface MetricChunksTable {
  application_id: string;
  /** Series, time of the latest event, and what makes it unique: see `metrics.series.ts`. */
  id: string;
  event_count: number;
  /** JSON, see `metrics.payload.ts`. */
  payload: string;
}

/** What is known of the events of one key in one hour or one day, without reading them. */
interface MetricRollupsTable {
  application_id: string;
  /** Series, hour or day, and its start: see `metrics.series.ts`. */
  id: string;
  /** Empty for all events of the bucket, else `=` and the name of the value by whose contents they are grouped. */
  dimension: string;
  data: Uint8Array;
}

/** What of the inbox is being compacted, and how far that has come: at most one of an application at a time. */
interface MetricBatchesTable {
  application_id: string;
  /** Another one for each process that takes the batch over. */
  id: string;
  /** JSON: the ids of its rows of the inbox. */
  row_ids: string;
  /** What comes up to here in the order of `metrics.units.ts` has been written. */
  done_until: string;
  /** Then others take it for abandoned. */
  leased_until: number;
}

/** The keys that an application has events under. */
interface MetricKeysTable {
  application_id: string;
  key: string;
  event_count: number;
  /** Nothing is kept that happened earlier. */
  earliest_at: number;
  last_received_at: number;
}

interface OperatorsTable {
  id: string;
  name: string;
  role: OperatorRole;
  /** Empty for who has none, and cannot sign in. */
  password_hash: string;
  created_at: number;
  last_login_at: number | null;
}

/** The token of a session is good while its row is here, for so long and while it is used. */
interface OperatorSessionsTable {
  /** SHA-256 of the token in hex. */
  digest: string;
  operator_id: string;
  created_at: number;
  /** About a minute behind. */
  used_at: number;
  expires_at: number;
}

/** Who did what, and who tried to. Rows are never changed, and go when they are old. */
interface AuditLogTable {
  id: string;
  at: number;
  actor_kind: "operator" | "user" | "device" | "cli" | "nobody" | "system";
  /** The id of the actor, or the kind of one that has none. */
  actor_id: string;
  /** What an operator was called then; empty for everybody else. */
  actor_name: string;
  /** The name of an operation. */
  action: string;
  /** Empty where it is a matter of no application. */
  application_id: string;
  target: string;
  address: string;
  request_id: string;
  /** JSON, an object. */
  details: string;
}

/**
 * Where applications live that do not live here: in the main region all of those, elsewhere what has moved away. Nothing
 * else of them is known here. And of those that have moved here, that they have.
 */
interface ApplicationRegionsTable {
  application_id: string;
  region: string;
  /**
   * `being made`: the other region may have it or not yet. `there`: it is served there. `handing over`: it is there, and
   * still here; from here on there is no way back. `arrived`: it has come here and was served; so it is not elsewhere, and
   * when it is not here it has been deleted here since.
   */
  state: "being made" | "there" | "handing over" | "arrived";
  changed_at: number;
}

/**
 * A bag of keys on an object: a check-in, a user, a device or the application. Nothing refers to the object, because it
 * may be in any of several tables: see `metadata.objects.ts` for how a row never outlives it.
 */
interface MetadataTable extends Nullable<Located> {
  application_id: string;
  object_id: string;
  /** Who alone sees it: a user's id; empty for what the application shares. */
  slot: string;
  key: string;
  /** JSON; null where `number` says it all. */
  value: string | null;
  /** The value as a double, of every value that is a number and of no other. */
  number: number | null;
  /** The user who located what the application shares; null when nobody or a device did. */
  setter_id: string | null;
  created_at: number;
  modified_at: number;
}

/** Objects that are gone, and something of them is left: it is erased in the background. */
interface UnfinishedErasuresTable {
  application_id: string;
  object_id: string;
}

/** A picture, a video or a blob; its bytes lie in the store (`storage/`), under the id. */
interface FilesTable extends Nullable<Located>, Permitted {
  application_id: string;
  id: string;
  /** The kind of its id. */
  kind: string;
  user_id: string;
  /** Who said where it lies; null for the owner. */
  setter_id: string | null;
  content_type: string;
  content_length: number;
  /** SHA-256 in hex. */
  content_hash: string;
  /** What its owner called the file; nothing lies under this name. */
  file_name: string | null;
  /** The title of a picture or video, the friendlyName of a blob. */
  title: string | null;
  /** The caption of a picture, the encoding of a video. */
  detail: string | null;
  bit_rate: number | null;
  length_in_seconds: number | null;
  thumbnail_id: string | null;
  /** Of a picture as it is shown. */
  width: number | null;
  height: number | null;
  tag: string | null;
  created_at: number;
  modified_at: number;
}

/** Bytes that belong to no file: being uploaded, or to be erased (`storage/loose-bytes.ts`). */
interface LooseBytesTable {
  application_id: string;
  /** What the keys of the objects begin with. */
  key: string;
  /** When the upload was last heard of, or when it is going to expire; 0 when they are to be erased. */
  loose_at: number;
}

/** How much is stored, or going to be; changed in the transactions that insert and delete files and unfinished uploads. */
interface FileUsageTable {
  application_id: string;
  /** Empty for the whole application. */
  user_id: string;
  bytes: number;
  files: number;
}

/** A file that arrives in several requests; it has the id of the file that it will be (`files/files.resumable.ts`). */
interface ResumableUploadsTable {
  application_id: string;
  id: string;
  user_id: string;
  /** What the client told of the file at first, as it came: Upload-Metadata. */
  metadata: string;
  /** Of the whole file; the user's quota is charged with it. */
  length: number;
  /** So much of it is on disk, in segments. */
  received: number;
  /** How many rows it has in upload_segments. */
  segments: number;
  /** Until then somebody makes the file of the segments; 0 when nobody does. */
  finishing_until: number;
  created_at: number;
  expires_at: number;
}

/** Some of the bytes of an unfinished upload. */
interface UploadSegmentsTable {
  application_id: string;
  upload_id: string;
  /** How many bytes come before it. */
  first_byte: number;
  /** Of the object in the store. */
  key: string;
}

export type UserRow = Selectable<UsersTable>;
export type CheckinRow = Selectable<CheckinsTable>;
/** What is read of a check-in to show it. */
export type ShownCheckinRow = Omit<CheckinRow, "application_id" | "setter_id" | "cell" | "seen_cell">;
export type IdentityRow = Selectable<IdentitiesTable>;
export type DeviceRow = Selectable<DevicesTable>;
export type NewIdentityRow = Insertable<IdentitiesTable>;
export type CrashReportRow = Selectable<CrashReportsTable>;
export type CrashGroupRow = Selectable<CrashGroupsTable>;
export type CrashGroupVersionRow = Selectable<CrashGroupVersionsTable>;
export type UserTokenRow = Selectable<UserTokensTable>;
export type OperatorRow = Selectable<OperatorsTable>;
export type OperatorSessionRow = Selectable<OperatorSessionsTable>;
export type AuditRow = Selectable<AuditLogTable>;
export type ApplicationRegionRow = Selectable<ApplicationRegionsTable>;
export type MetadataRow = Selectable<MetadataTable>;
export type FileRow = Selectable<FilesTable>;
export type ResumableUploadRow = Selectable<ResumableUploadsTable>;
/** What is read of a file to show it. */
export type ShownFileRow = Omit<FileRow, "application_id" | "kind" | "setter_id" | "file_name" | "cell" | "seen_cell">;
export type LocatedRow = Located;
