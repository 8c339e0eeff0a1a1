import type { ColumnType, Generated, Insertable, Selectable } from "kysely";
import type { OperatorRole } from "../config/roles.ts";
import type { ActorKind } from "../lib/current-call.ts";

/**
 * The data model. Every table of application data has `application_id` first in its primary key, its unique indexes and
 * its foreign keys, so that one application is one shard; a test checks this against the schema. Times are milliseconds
 * since 1970-01-01 UTC. Booleans are 0 or 1 on both engines.
 *
 * `token_version` revokes tokens in a tree: a token holds the versions of its application, application key, device and
 * user, and becomes invalid when any of them changes. One update revokes all tokens below it.
 */
export interface Tables {
  applications: ApplicationsTable;
  application_keys: ApplicationKeysTable;
  devices: DevicesTable;
  test_callers: TestCallersTable;
  crash_reports: CrashReportsTable;
  crash_groups: CrashGroupsTable;
  crash_group_versions: CrashGroupVersionsTable;
  crash_group_platforms: CrashGroupPlatformsTable;
  crash_group_devices: CrashGroupDevicesTable;
  crash_group_days: CrashGroupDaysTable;
  users: UsersTable;
  user_tokens: UserTokensTable;
  password_resets: PasswordResetsTable;
  email_codes: EmailCodesTable;
  mail_outbox: MailOutboxTable;
  mail_limits: MailLimitsTable;
  limit_buckets: LimitBucketsTable;
  guess_counts: GuessCountsTable;
  statistics: StatisticsTable;
  kept_counts: KeptCountsTable;
  app_versions: AppVersionsTable;
  recognized_devices: RecognizedDevicesTable;
  location_shifts: LocationShiftsTable;
  identities: IdentitiesTable;
  checkins: CheckinsTable;
  locations: LocationsTable;
  location_flags: LocationFlagsTable;
  kept_replies: KeptRepliesTable;
  idempotency_usage: IdempotencyUsageTable;
  metric_inbox: MetricInboxTable;
  metric_handles: MetricHandlesTable;
  metric_chunks: MetricChunksTable;
  metric_rollups: MetricRollupsTable;
  metric_keys: MetricKeysTable;
  metric_batches: MetricBatchesTable;
  leases: LeasesTable;
  deployment_facts: DeploymentFactsTable;
  deployment_limit_buckets: LimitBucketsTable;
  deployment_guess_counts: GuessCountsTable;
  deployment_statistics: StatisticsTable;
  server_processes: ServerProcessesTable;
  region_nonces: RegionNoncesTable;
  operators: OperatorsTable;
  operator_sessions: OperatorSessionsTable;
  audit_log: AuditLogTable;
  audit_counts: AuditCountsTable;
  application_regions: ApplicationRegionsTable;
  metadata: MetadataTable;
  unfinished_erasures: UnfinishedErasuresTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  event_logs: EventLogsTable;
  events: EventsTable;
  files: FilesTable;
  loose_bytes: OrphanedObjectsTable;
  file_usage: FileUsageTable;
  resumable_uploads: ResumableUploadsTable;
  upload_segments: UploadSegmentsTable;
}

/** Work that only one process does at a time: see `leases.ts`. */
interface LeasesTable {
  name: string;
  holder: string;
  ends_at: number;
}

/** Facts on which all processes of the deployment agree: see `deployment-facts.ts`. */
interface DeploymentFactsTable {
  name: string;
  value: string;
}

type Nullable<T> = { [Name in keyof T]: T[Name] | null };

interface ApplicationsTable {
  application_id: string;
  name: string;
  token_version: number;
  created_at: number;
  /** Set first when an application is deleted: clients can no longer use it, while its rows are being erased. */
  deleted_at: number | null;
  /** JSON without secrets, as validated by `apps configure`. */
  settings: ColumnType<string, string | undefined, string>;
  /** While set, every operation is refused; tokens stay valid for later. */
  suspended_at: Generated<number | null>;
  /** The shared secret of signed requests, sealed (`tenancy/policies.ts`). */
  signing_secret: Generated<string | null>;
  /** Keys of earlier generations are invalid: one update revokes all of them. */
  key_generation: Generated<number>;
  /**
   * While an import runs, the application is marked as deleted, and must not be erased before this time
   * (`archives/imports.store.ts`).
   */
  importing_until: Generated<number | null>;
  /** The region to which the application is moving, possibly this one; it is not served until the move is complete. */
  moving_to: Generated<string | null>;
  /** JSON list of the settings whose URL was set by an editor (`tenancy/public-only.ts`); null for none. */
  public_only: Generated<string | null>;
  /** JSON object of the secrets in the settings, sealed (`tenancy/sealed-settings.ts`); null for none. */
  sealed_settings: Generated<string | null>;
  /** JSON object of the last change of each setting (`tenancy/settings-authors.ts`); null if none is recorded. */
  settings_changes: Generated<string | null>;
  /** Changes with everything that may revoke a token or change a policy (`auth/revocations.ts`). */
  revision: Generated<string>;
  /** 1 once a user token has been renewed. */
  renews_tokens: Generated<number>;
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
  /** Set when the key is retired: devices can no longer register with it. */
  retired_at: Generated<number | null>;
}

interface DevicesTable {
  application_id: string;
  id: string;
  /** The `uniqueId` of the registration; each registration without one creates a device. */
  unique_id: string | null;
  platform: string;
  token_version: number;
  created_at: number;
  modified_at: number;
  model: string | null;
  os_version: string | null;
  app_version: string | null;
  push_token: string | null;
  /** The id of the access token that set the push token; only this token may read it. */
  push_token_by: string | null;
  /** Index in `connectionTypes` of the contract. */
  connection_type: number | null;
  is_production: number | null;
  tag: string | null;
  lat: number | null;
  lng: number | null;
  /** The key of its last registration; null if the device has not registered since this column exists. */
  key_id: string | null;
  registered_at: number | null;
  /** Up to an hour behind; null if no token of it has been used since this column exists. */
  last_seen_at: Generated<number | null>;
}

/** A device, and possibly a user on it, that an operator made to try calls (`auth/test-callers.ts`). */
interface TestCallersTable {
  application_id: string;
  device_id: string;
  /** Null for a device without a user. */
  user_id: string | null;
  /** When maintenance erases both. */
  ends_at: number;
}

/** Crash reports of apps, read by operators. */
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
  /** The state of the device before the crash, as last reported. */
  app_version: string | null;
  os_version: string | null;
  created_at: number;
  /** The group of the report. */
  fingerprint: string;
}

/** Groups reports of one bug (`crashes/crash-identity.ts`). A group and its counts outlive its reports. */
interface CrashGroupsTable {
  application_id: string;
  fingerprint: string;
  /** The title of its first report. */
  title: string;
  reports: number;
  /** How many rows it has in crash_group_devices. */
  devices: number;
  first_seen_at: number;
  last_seen_at: number;
  state: Generated<CrashGroupState>;
  /** When an operator set the state. */
  state_at: Generated<number>;
  /** The version of the app in which it is resolved; null if resolved permanently, or in another state. */
  resolved_in: string | null;
  /** The counts and the date that end the ignored state; null for never. */
  ignored_until_reports: number | null;
  ignored_until_devices: number | null;
  ignored_until_date: number | null;
  /** The time at which a report reopened it; null after another decision. */
  reopened_at: number | null;
  note: string | null;
}

export type CrashGroupState = "open" | "resolved" | "ignored";

interface CrashGroupVersionsTable {
  application_id: string;
  fingerprint: string;
  /** Empty if the device had not reported it. */
  app_version: string;
  reports: number;
  first_seen_at: number;
  last_seen_at: number;
}

interface CrashGroupPlatformsTable {
  application_id: string;
  fingerprint: string;
  platform: string;
}

interface CrashGroupDevicesTable {
  application_id: string;
  fingerprint: string;
  device_id: string;
}

/** Reports of a group on a day, in UTC. */
interface CrashGroupDaysTable {
  application_id: string;
  fingerprint: string;
  /** The first moment of the day. */
  day: number;
  /** Empty if the device had not reported it. */
  app_version: string;
  os_version: string;
  reports: number;
}

/**
 * A location, and the location that others see.
 *
 * `cell` is the location on a Z-order curve (`lib/cells.ts`), so that an area is a few ranges of cells. The `seen_`
 * coordinates hold the fuzzed location while the owner has locationFuzzing, and are null otherwise: then others see the
 * true location. (The location of a user is always fuzzed for others.) A row of an owner with locationFuzzing is hidden
 * from others until its fuzzed location exists. `seen_cell` is the cell of the location that others see.
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
  /** The name normalized for case and Unicode form: it is unique, and logins look it up. */
  user_name_key: string;
  /** An argon2id PHC string; empty for a user without a password, who signs in with an identity provider. */
  password_hash: string;
  email: string | null;
  first_name: string | null;
  last_name: string | null;
  celeb_mode: number;
  location_fuzzing: number;
  /** Counts the secrets that have fuzzed the user's locations. */
  shift_generation: Generated<number>;
  token_version: number;
  last_login_at: number;
  created_at: number;
  modified_at: number;
  /** Index in `genders` of the contract. */
  gender: number | null;
  date_of_birth: number | null;
  tag: string | null;
  /** One of the user's pictures; reset when that picture is deleted. */
  profile_picture_id: string | null;
  /** 1 if others may read the picture, so that they see it on the user as well. */
  is_picture_shared: Generated<number>;
  /** 1 while the fuzzed locations of the user's objects are being updated, after a change of locationFuzzing. */
  is_reshifting: Generated<number>;
  /**
   * Until `held_until`, password reset codes are sent to this address instead of `email`, which was changed without
   * proof (`users/users.email.ts`); null to send none.
   */
  held_email: Generated<string | null>;
  held_until: Generated<number | null>;
  /** Null if the address dates from the sign-up, or was changed by a version that did not store the time. */
  email_changed_at: Generated<number | null>;
  /**
   * The unique form of `email` (`lib/mail-addresses.ts`) once a code that was mailed to it has come back; then it is of
   * this user alone. An earlier version may have changed `email` since, which makes it void.
   */
  verified_email_key: Generated<string | null>;
  /** The unique form of `held_email`, if that was verified. */
  held_email_key: Generated<string | null>;
  /** The language of mails, a BCP 47 tag in its canonical form; null if unknown. */
  language: Generated<string | null>;
  /** Set while an operator has disabled the user, who then cannot sign in or use existing tokens. */
  disabled_at: Generated<number | null>;
  /** Set first when a user is deleted: clients no longer see the user, while the user's objects are being erased. */
  deleted_at: number | null;
}

/** A user token is valid while its row exists and holds the version of its user. */
interface UserTokensTable {
  application_id: string;
  user_id: string;
  id: string;
  device_id: string;
  user_version: number;
  created_at: number;
  /** With minute precision. */
  last_used_at: number;
  /** Of the newest token. */
  expires_at: number;
  /** How many times the token has been renewed: the row also belongs to all its successors. */
  renewals: Generated<number>;
  /** When successors were first used (`auth/token-renewals.ts`); null if none has been. */
  first_uses: Generated<string | null>;
}

/**
 * A device that a user has signed in from; password guessing from elsewhere does not delay its sign-ins
 * (`auth/sign-in-guard.ts`).
 */
interface RecognizedDevicesTable {
  application_id: string;
  user_id: string;
  device_id: string;
  /** The time of a sign-in, up to about a day behind. */
  recognized_at: number;
}

/** The one-time code of a user for a new password. */
interface PasswordResetsTable {
  application_id: string;
  user_id: string;
  /** SHA-256 of the code in hex. */
  digest: string;
  tries_left: number;
  expires_at: number;
  /** 0 for a code of a version that did not store it. */
  created_at: Generated<number>;
}

/** The one-time code of a user that verifies an address. */
interface EmailCodesTable extends Omit<PasswordResetsTable, "created_at"> {
  created_at: number;
  /** The address that it was mailed to. */
  address: string;
}

/**
 * A mail to be sent (`mail/delivery.ts`). The row is deleted when the mail was accepted, has failed permanently or has
 * expired.
 */
interface MailOutboxTable {
  application_id: string;
  id: string;
  /** The recipient, for logs and erasure. */
  user_id: string;
  kind: string;
  /** Address, subject, text and Message-ID, sealed (`mail/outbox.ts`). */
  sealed: string;
  attempts: number;
  /** A process claims the mail by advancing this with a compare-and-set. */
  due_at: number;
  /** The mail is useless after this time. */
  expires_at: number;
}

/** When the latest mails were sent to one recipient (`mail/mail-limits.ts`). */
interface MailLimitsTable {
  application_id: string;
  /** The counted subject, as a keyed digest. */
  subject: string;
  /** JSON, the times of the counted mails. */
  times: string;
  expires_at: number;
}

/** A token bucket that processes share (`limits/shared-buckets.ts`); a bucket without a row is full. */
interface LimitBucketsTable {
  /** Empty in `deployment_limit_buckets`, for limits that apply before the application is identified. */
  application_id: string;
  /** The limited subject, as a keyed digest. */
  key: string;
  /** Tokens that were missing at `at`, including the ones that processes have borrowed. */
  missing: number;
  at: number;
  /** When the bucket is full again. */
  ends_at: number;
}

/** Consecutive failures that processes share (`auth/shared-failures.ts`). */
interface GuessCountsTable {
  /** Empty in `deployment_guess_counts`, for names of operators. */
  application_id: string;
  /** The counted subject, as a keyed digest. */
  key: string;
  failures: number;
  /** Attempts without an outcome yet. */
  under_way: number;
  /** When pending attempts count as failures, because their process is gone. */
  settled_by: number;
  /** No attempt is allowed before this time. */
  waits_until: number;
  /** When the failures are forgotten. */
  ends_at: number;
}

/** The last report of a process. */
interface ServerProcessesTable {
  id: string;
  machine: string;
  worker: number;
  version: string;
  started_at: number;
  heard_at: number;
  /** A `ProcessReport` (`deployment/process-report.ts`) as JSON. */
  report: string;
}

/** The counts of one process in a minute, or of all processes in an hour or a day. */
interface StatisticsTable {
  /** Empty in `deployment_statistics`. */
  application_id: string;
  /** The length of the interval in milliseconds. */
  span: number;
  starts_at: number;
  /** Differs for each row that a process writes; empty for the sum of all processes. */
  writer: string;
  /** 1 until the row is part of the next longer interval. */
  is_pending: number;
  /** Also in `data`, for sums over applications. */
  calls: number;
  errors: number;
  /** See `statistics/tally.ts`. */
  data: Uint8Array;
}

/** How many objects of a kind an application had, see `statistics/statistics.totals.ts`. */
interface KeptCountsTable {
  application_id: string;
  kind: "devices" | "users" | "checkins";
  counted: number;
  counted_at: number;
}

/** A version of the app that devices of the application have reported. */
interface AppVersionsTable {
  application_id: string;
  app_version: string;
  /** When the first report came; 0 for versions from before the first report was recorded. */
  first_seen_at: number;
  /** How often devices reported the version at a registration or a change, since then. */
  reports: number;
  /** The platforms of these devices, as a JSON array. */
  platforms: Generated<string>;
}

/** The nonce of a call between regions, for as long as the call could be replayed. */
interface RegionNoncesTable {
  nonce: string;
  ends_at: number;
}

/** A place of a user with locationFuzzing, and the offset of its fuzzed location (`privacy/fuzzing.ts`). */
interface LocationShiftsTable {
  application_id: string;
  user_id: string;
  id: string;
  /** The user who set the locations of this place: the owner, or a user who may write the owner's objects. */
  setter_id: string;
  lat: number;
  lng: number;
  cell: number;
  /** Degrees clockwise from north. */
  bearing: number;
  /** The secret that fuzzes the place. Empty for locations from before there were several. */
  secret: Generated<string>;
}

interface IdentitiesTable {
  application_id: string;
  provider: string;
  identifier: string;
  user_id: string;
  created_at: number;
  /** 1 if the user proved it with a token of the provider, which signing in requires. */
  is_verified: Generated<number>;
}

/** The owner's permissions: 0 nothing (`User`), 1 read or write (`App`); null if never set, with the effect of 0. */
interface Permitted {
  read_permission: number | null;
  write_permission: number | null;
}

/** An object that a user owns and may share (`owned/`). */
interface Owned extends Permitted {
  application_id: string;
  id: string;
  /** Null for a public object, which belongs to the application: every user reads it, and only operators change it. */
  user_id: string | null;
  /** The user who set the location; null for the owner. */
  setter_id: string | null;
  tag: string | null;
  created_at: number;
  modified_at: number;
}

/** A place that a user or, if it is public, an operator describes. */
interface LocationsTable extends Located, Owned {
  name: string;
  description: string | null;
  address1: string | null;
  address2: string | null;
  city: string | null;
  region: string | null;
  country: string | null;
  postal_code: string | null;
  phone: string | null;
  fax: string | null;
  website: string | null;
  category: string | null;
}

/** A user's report about a location, for operators. */
interface LocationFlagsTable {
  application_id: string;
  id: string;
  /** The location. */
  object_id: string;
  user_id: string;
  reason: string | null;
  comment: string | null;
  created_at: number;
  modified_at: number;
}

interface CheckinsTable extends Located, Owned {
  user_id: string;
  /** When it happened; null if it was created then. */
  occurred_at: number | null;
  comment: string | null;
  description: string | null;
  /** The location whose id was sent in place of a point, and its name at that time. */
  location_id: string | null;
  location_name: string | null;
}

/** The stored response of an idempotency key (spec/idempotency#stored-responses). */
interface KeptRepliesTable {
  application_id: string;
  /** The user or the device that the key belongs to; the other column is empty. */
  user_id: string;
  device_id: string;
  key: string;
  /** Sealed. */
  reply: string;
  expires_at: number;
}

/**
 * How much a caller has stored in `kept_replies`, by the hour in which it expires (`idempotency/idempotency.usage.ts`):
 * rows of past hours no longer count, so that no counter is ever decremented.
 */
interface IdempotencyUsageTable {
  application_id: string;
  user_id: string;
  device_id: string;
  /** The end of the hour. */
  ends_at: number;
  bytes: number;
  keys: number;
}

/** Received events that are not in chunks and roll-ups yet: a row for each request, written once (`metrics/`). */
interface MetricInboxTable {
  application_id: string;
  /** For a single event, the id of the event. */
  id: string;
  received_at: number;
  /** JSON, see `metrics/engine/inbox.store.ts`. */
  payload: string;
}

/** A single event, which its sender may end. */
interface MetricHandlesTable {
  application_id: string;
  id: string;
  key: string;
  device_id: string;
  user_id: string | null;
  /** When it happened, according to the client. */
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
  /** Series, time of the latest event, and a unique suffix: see `metrics/engine/row-ids.ts`. */
  id: string;
  event_count: number;
  /** JSON, see `metrics/engine/inbox.store.ts`. */
  payload: string;
}

/** Aggregates of the events of one key in one hour or one day. */
interface MetricRollupsTable {
  application_id: string;
  /** Series, hour or day, and its start: see `metrics/engine/row-ids.ts`. */
  id: string;
  /** Empty for all events of the bucket, else `=` and the name of the value that groups them. */
  dimension: string;
  data: Uint8Array;
}

/** The inbox rows that are being compacted, and the progress: at most one per application at a time. */
interface MetricBatchesTable {
  application_id: string;
  /** Changes when another process takes the batch over. */
  id: string;
  /** JSON: the ids of its inbox rows. */
  row_ids: string;
  /** Everything up to here, in the order of `metrics/engine/units.ts`, has been written. */
  done_until: string;
  /** After this time other processes treat it as abandoned. */
  leased_until: number;
}

/** The keys that an application has events under. */
interface MetricKeysTable {
  application_id: string;
  key: string;
  event_count: number;
  /** No earlier events are stored. */
  earliest_at: number;
  last_received_at: number;
  /** The size of its chunks and roll-ups; null until measured. */
  stored_bytes: Generated<number | null>;
}

interface OperatorsTable {
  id: string;
  name: string;
  role: OperatorRole;
  /** Empty for an operator without a password, who cannot sign in. */
  password_hash: string;
  created_at: number;
  last_login_at: number | null;
  /** 1 until the operator has replaced a password that was printed to a log. */
  must_change_password: Generated<number>;
}

/** A session token is valid while its row exists, for a limited time and as long as it is used. */
interface OperatorSessionsTable {
  /** SHA-256 of the token in hex. */
  digest: string;
  operator_id: string;
  created_at: number;
  /** About a minute behind. */
  used_at: number;
  expires_at: number;
  /** When the password was last entered; null for a session of an older release, which began with it. */
  proved_at: Generated<number | null>;
  /** The address and the browser that signed in; empty for a session of an older release. */
  address: Generated<string>;
  browser: Generated<string>;
  /** 1 for a token in a cookie. */
  is_cookie: Generated<number>;
}

/**
 * The actions and refused attempts of operators and others. Rows are never changed, and are deleted after a retention
 * time.
 */
interface AuditLogTable {
  id: string;
  at: number;
  actor_kind: ActorKind;
  /** The id of the actor, or its kind if it has none. */
  actor_id: string;
  /** The name of the operator at that time; empty for other actors. */
  actor_name: string;
  /** The name of an operation. */
  action: string;
  /** Empty if no application is concerned. */
  application_id: string;
  target: string;
  address: string;
  request_id: string;
  /** JSON, an object. */
  details: string;
  /** How many equal refusals the row stands for. */
  count: Generated<number>;
  /** The time of the last of them; null for a row that stands for one. */
  last_at: number | null;
}

/** The entries of the audit log in one interval that have the same kind of actor, action and result. */
interface AuditCountsTable {
  /** Empty for the counts of all applications. */
  application_id: string;
  /** The length of the interval in milliseconds. */
  span: number;
  starts_at: number;
  actor_kind: ActorKind;
  action: string;
  is_refused: number;
  entries: number;
}

/**
 * The remote applications: in the main region all of them, in other regions those that have moved away. Nothing else
 * about them is stored here. Also records the applications that have moved to this region.
 */
interface ApplicationRegionsTable {
  application_id: string;
  region: string;
  /**
   * `being made`: the remote region may or may not have it yet. `there`: the remote region serves it. `handing over`:
   * it exists in both regions; from here on the move cannot be reverted. `arrived`: it has moved to this region and was
   * served here; if it no longer exists, it has been deleted here since.
   */
  state: "being made" | "there" | "handing over" | "arrived";
  changed_at: number;
}

/**
 * A set of keys on an object: a check-in, a user, a device or the application. There is no foreign key to the object,
 * because it may be in any of several tables: see `metadata.objects.ts` for how rows are erased with their object.
 */
interface MetadataTable extends Nullable<Located> {
  application_id: string;
  object_id: string;
  /** The id of the only user who sees it; empty for shared metadata. */
  slot: string;
  key: string;
  /** JSON; null if `number` holds the complete value. */
  value: string | null;
  /** The value as a double, for numbers only. */
  number: number | null;
  /** The user who set the location of shared metadata; null for none, or for a device. */
  setter_id: string | null;
  created_at: number;
  modified_at: number;
}

/** Deleted objects with remaining data, which is erased in the background. */
interface UnfinishedErasuresTable {
  application_id: string;
  object_id: string;
}

/** The log of an application's changes; without a row nothing is recorded. */
interface EventLogsTable {
  application_id: string;
  /** Another one when events may be missing from the log: cursors hold the name. */
  name: string;
  /** Writes record their events until then. */
  wanted_until: number;
  /** 1 once no transaction is left that began before recording was requested. */
  is_complete: number;
  /** The position of the newest event that has been dropped; 0 for none. */
  dropped_to: number;
  /** The settings `events` of the application, which writes read with the log: `record`, the patterns of `types`, and the retention. */
  recording: Generated<"wanted" | "always" | "never">;
  /** Patterns with a comma before, between and after them; empty for all types. */
  types: Generated<string>;
  retention_days: Generated<number>;
}

/** A change by a write: ids and names of fields, never their contents. */
interface EventsTable {
  application_id: string;
  /** Rises with the commits of one object. */
  number: Generated<number>;
  /** The order of the log, without holes; null until a reader has assigned it (`event-log/positions.ts`). */
  position: number | null;
  id: string;
  type: string;
  at: number;
  /** The object that the event is about; for metadata, the object that carries it. */
  object_id: string;
  /** The owner; null for none. */
  user_id: string | null;
  /** The key of metadata, and its slot as in `metadata`. */
  key: string | null;
  slot: string | null;
  /** The names of changed fields, separated by commas; a `-` at the end marks fields that only the owner sees. */
  changed: string;
  /** 1 if other users could read the object before and after the write. */
  was_shown: number;
  is_shown: number;
  /** The member of the object that the event is about; null for none. */
  item_id: string | null;
  /** The actor of the write, as in the audit log; null if it is unknown. */
  actor_kind: ActorKind | null;
  actor_id: string | null;
}

/** A picture, a video or a blob; its bytes are in the object store (`storage/`), under the id. */
interface FilesTable extends Nullable<Located>, Owned {
  user_id: string;
  /** The kind of its id. */
  kind: string;
  content_type: string;
  content_length: number;
  /** SHA-256 in hex. */
  content_hash: string;
  /** The file name that the owner gave; nothing is stored under it. */
  file_name: string | null;
  /** The title of a picture or video, the friendlyName of a blob. */
  title: string | null;
  /** The caption of a picture, the encoding of a video. */
  detail: string | null;
  /** The watermark of a picture, the friendlyName of a video. */
  label: string | null;
  bit_rate: number | null;
  length_in_seconds: number | null;
  thumbnail_id: string | null;
  /** The displayed width of a picture. */
  width: number | null;
  height: number | null;
}

/** Orphaned objects: bytes that are being uploaded, or are to be erased (`storage/orphaned-objects.ts`). */
interface OrphanedObjectsTable {
  application_id: string;
  /** The prefix of the objects' keys. */
  key: string;
  /** When the upload was last active, or when it expires; 0 if the objects are to be erased. */
  loose_at: number;
}

/** The bytes stored or reserved; changed in the transactions that insert and delete files and unfinished uploads. */
interface FileUsageTable {
  application_id: string;
  /** Empty for the application's total. */
  user_id: string;
  bytes: number;
  files: number;
}

/** A file that is uploaded in several requests, under its final id (`files/files.resumable.ts`). */
interface ResumableUploadsTable {
  application_id: string;
  id: string;
  user_id: string;
  /** The Upload-Metadata of the first request, unchanged. */
  metadata: string;
  /** The length of the complete file, which counts against the user's quota. */
  length: number;
  /** The number of bytes on disk, in segments. */
  received: number;
  /** How many rows it has in upload_segments. */
  segments: number;
  /** A process assembles the file until then; 0 if none does. */
  finishing_until: number;
  created_at: number;
  expires_at: number;
  /** 1 if a test user began it: its file does not count in the statistics. */
  is_test: Generated<number>;
}

/** Some of the bytes of an unfinished upload. */
interface UploadSegmentsTable {
  application_id: string;
  upload_id: string;
  /** The offset of its first byte. */
  first_byte: number;
  /** The key of the object in the store. */
  key: string;
}

/** Where an application sends its events (`webhooks/`). */
interface WebhooksTable {
  application_id: string;
  id: string;
  /** Empty for none. */
  name: string;
  url: string;
  /** JSON object: patterns such as `checkin.*`, each with the position behind which it holds. */
  types: string;
  format: WebhookFormat;
  /** JSON array. */
  header_names: string;
  /** JSON object of values by name, sealed; null without headers, and after an import. */
  headers: string | null;
  concurrency: number;
  timeout_ms: number;
  per_second: number;
  true_locations: number;
  state: WebhookState;
  /** Sealed; null after an import. */
  secret: string | null;
  secret_at: number;
  /** The secret before the latest rotation, which signs as well until its end. */
  older_secret: string | null;
  older_secret_at: number;
  older_secret_ends_at: number;
  /** The name of the log that `position` belongs to; empty after an import. */
  log: string;
  /** The events up to here have been delivered, or have a row of their own. */
  position: number;
  /** The id of the event at `position`. */
  event_id: string;
  /** When that event was written. */
  position_at: number;
  /** Changes when an operator moves `position`, so that a process that is sending does not move it back. */
  turn: number;
  /** The process that sends, until `lease_ends_at`. */
  lease_holder: string;
  lease_ends_at: number;
  /** The next time at which the webhook has work without a new event; null for never. */
  wake_at: number | null;
  /** Failed attempts in a row, and the events of the first of them: JSON `{ since, ids }`. */
  failures: number;
  failed_events: string;
  failing_since: number | null;
  /** Attempts since `failing_since`, and the position of the event of the latest; empty for none. */
  probes: number;
  probed: string;
  /** The receiver requested no attempt before this time. */
  held_until: number;
  /** Since when the receiver has requested a delay, without an attempt that was answered otherwise. */
  held_since: number | null;
  last_success_at: number | null;
  last_failure_at: number | null;
  /** When a process sends the mail about its being disabled; null for no mail. */
  mail_due_at: number | null;
  /** Tests by operators since `tests_since`. */
  tests: number;
  tests_since: number;
  created_at: number;
  modified_at: number;
}

export type WebhookFormat = "standard" | "cloudevents";
export type WebhookState = "active" | "paused" | "failing" | "disabled";

/** A delivery of an event to a webhook: it waits for another attempt, or is finished. */
interface WebhookDeliveriesTable {
  application_id: string;
  webhook_id: string;
  id: string;
  event_id: string;
  type: string;
  /** The position of the event, in the log of this name. */
  log: string;
  position: number;
  /** Attempts so far that count. */
  attempt: number;
  state: DeliveryState;
  /** Of the last answer. */
  status: number | null;
  /** How long the last attempt took. */
  ms: number | null;
  /** Why there was no answer. */
  error: string | null;
  /** The beginning of the last answer. */
  response: string | null;
  /** An operator requested it. */
  is_replay: number;
  created_at: number;
  next_attempt_at: number | null;
}

export type DeliveryState = "waiting" | "delivered" | "failed" | "dead" | "refused";

export type WebhookRow = Selectable<WebhooksTable>;
export type WebhookDeliveryRow = Selectable<WebhookDeliveriesTable>;
export type UserRow = Selectable<UsersTable>;
export type LocationRow = Selectable<LocationsTable>;
export type LocationFlagRow = Selectable<LocationFlagsTable>;
export type CheckinRow = Selectable<CheckinsTable>;
export type IdentityRow = Selectable<IdentitiesTable>;
export type DeviceRow = Selectable<DevicesTable>;
export type NewIdentityRow = Insertable<IdentitiesTable>;
export type CrashReportRow = Selectable<CrashReportsTable>;
export type CrashGroupRow = Selectable<CrashGroupsTable>;
export type CrashGroupDayRow = Selectable<CrashGroupDaysTable>;
export type CrashGroupVersionRow = Selectable<CrashGroupVersionsTable>;
export type RecognizedDeviceRow = Selectable<RecognizedDevicesTable>;
export type UserTokenRow = Selectable<UserTokensTable>;
export type NewUserTokenRow = Omit<UserTokenRow, "renewals" | "first_uses">;
export type OperatorRow = Selectable<OperatorsTable>;
export type OperatorSessionRow = Selectable<OperatorSessionsTable>;
export type AuditRow = Selectable<AuditLogTable>;
export type AuditCountRow = Selectable<AuditCountsTable>;
export type ApplicationRegionRow = Selectable<ApplicationRegionsTable>;
export type MetadataRow = Selectable<MetadataTable>;
export type EventRow = Selectable<EventsTable>;
export type EventLogRow = Selectable<EventLogsTable>;
export type FileRow = Selectable<FilesTable>;
export type ResumableUploadRow = Selectable<ResumableUploadsTable>;
/** An owned object of any kind. */
export type OwnedRow = Owned & Nullable<Located>;
/** The tables of owned objects. */
export type OwnedTableName = { [Name in keyof Tables]: Tables[Name] extends Owned ? Name : never }[keyof Tables];
/** The tables whose rows belong to one object, by its id. */
export type AttachedTable = {
  [Name in keyof Tables]: Tables[Name] extends { object_id: string } ? Name : never;
}[keyof Tables];
/** The columns of an owned object that a search reads. */
export type ShownRow<Row extends OwnedRow> = Omit<Row, "application_id" | "setter_id" | "cell" | "seen_cell">;
export type LocatedRow = Located;
