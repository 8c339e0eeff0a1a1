// Written by "npm run docs" from docs/openapi.operators.json.
import type { Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { Download } from "../wire/download.ts";
import type { Box, DateRange, Near, Place } from "../wire/values.ts";
import type { CheckinLocation, ConnectionType, Gender, IdentityPage, Location, Permission, PictureSize } from "./types.ts";

/** A number of devices or users. */
export interface ActivityCount {
  /** Their number. */
  readonly count: number;
  /** If false, the count is from last night, or a minimum. */
  readonly isExact: boolean;
}

/** A call that was answered, as in the log: without query, headers and bodies. */
export interface AnsweredRequest {
  /** The `request_id` of the answer. */
  readonly requestId: string;
  /** When it was answered. */
  readonly time: Date;
  /** The `request_id` of the batch that it was in. */
  readonly batch?: string;
  /** The method; absent where a batch named none. */
  readonly method?: string;
  /** The first 256 characters of the path. */
  readonly path?: string;
  /** The id of the operation; absent for an unknown path. */
  readonly operation?: string;
  /** The status of the answer. */
  readonly status: number;
  /** The condition, as in the log. */
  readonly error?: string;
  /** The message of the error. */
  readonly message?: string;
  /** The rehearsed failure. */
  readonly rehearsed?: string;
  /** The milliseconds that it took. */
  readonly ms: number;
  /** The id of the device that called. */
  readonly device?: string;
  /** The platform of this device. */
  readonly platform?: string;
  /** The id of the user who called. */
  readonly user?: string;
  /** The address of the client; its network for viewers. */
  readonly address?: string;
  /** The process that answered. */
  readonly worker: number;
}

/** The number of devices with a version of the app. */
export interface AppVersionCount {
  /** Absent for devices that have reported none. */
  readonly appVersion?: string;
  /** The number of devices that have it. */
  readonly devices: number;
}

/** An application, whose clients call the service. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly created: Date;
  /** The time of the suspension; absent if the application is not suspended. */
  readonly suspended?: Date;
  /** The region to which it is moving. */
  readonly movingTo?: string;
  /** True or absent. */
  readonly isBeingImported?: boolean;
  /** True while its clients may rehearse failures; otherwise absent. */
  readonly isRehearsalOn?: boolean;
  readonly activity?: ApplicationActivity;
}

/** The current activity of an application's clients. */
export interface ApplicationActivity {
  /** In the last 15 minutes. */
  readonly callsPerMinute: number;
  /** In the last 24 hours. */
  readonly calls: number;
  /** Calls in the last 24 hours that were refused or failed. */
  readonly errors: number;
  /** The calls of each of the last 24 hours in UTC, oldest first; the last hour is incomplete. */
  readonly hours: readonly number[];
  readonly devices: ActivityCount;
  readonly users: ActivityCount;
}

/** The hits in an application, up to ten of each kind. */
export interface ApplicationHits {
  /** By id, user name, first or last name, address or identity. */
  readonly users: readonly SearchHit[];
  /** By id or uniqueId. */
  readonly devices: readonly SearchHit[];
  /** By id. */
  readonly checkins: readonly SearchHit[];
  /** By id. */
  readonly locations: readonly SearchHit[];
  /** Pictures, videos and blobs, by id. */
  readonly files: readonly SearchHit[];
  /** By id or label. */
  readonly keys: readonly SearchHit[];
  /** By fingerprint, or by the id of a report. */
  readonly crashes: readonly SearchHit[];
  /** By key. */
  readonly metrics: readonly SearchHit[];
  /** By id, or by the `request_id` of the call. */
  readonly audit: readonly SearchHit[];
  /** Calls that this machine still remembers, by `request_id`. */
  readonly requests: readonly SearchHit[];
}

/**
 * Additional members of the result.
 *
 * - `activity`: Each with its activity.
 */
export type ApplicationInclude = "activity";

/** A key of an application. */
export interface ApplicationKey {
  readonly id: string;
  /** Its purpose. */
  readonly label?: string;
  readonly created: Date;
  readonly state: KeyState | (string & {});
  /** The time at which it was retired. */
  readonly retired?: Date;
  /** Devices whose latest registration used this key. */
  readonly devices: number;
  /** The time of the latest of these registrations. */
  readonly lastRegistered?: Date;
}

export interface ApplicationKeyPage {
  readonly pageResults: readonly ApplicationKey[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The totals of an application, and the activity of its clients. */
export interface ApplicationOverview {
  readonly totals: ApplicationTotals;
  /** Since midnight, UTC. */
  readonly today: StatisticsOfDay;
  /** On the same weekday before, until the end of the same hour. */
  readonly weekBefore: StatisticsOfDay;
  /** All series of the range. */
  readonly statistics: ApplicationStatistics;
  /** The series of the range before; with compare. */
  readonly before?: readonly StatisticsSeries[];
  /** Changes of settings and keys in the range, newest first. */
  readonly markers: readonly StatisticsMarker[];
  /** The 10 most reported versions of those that appeared in the range, newest first; never an application's first. */
  readonly newVersions: readonly NewAppVersion[];
  /** The latest 5 crashes that appeared in the range. */
  readonly newCrashes: readonly NewCrash[];
}

export interface ApplicationPage {
  readonly pageResults: readonly Application[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The settings of an application. */
export interface ApplicationSettings {
  /** Providers by identityProviderName. */
  readonly oidc?: Readonly<Record<string, OidcProvider>>;
  readonly retention?: Retention;
  readonly quotas?: Quotas;
  readonly tokenLifetimes?: TokenLifetimes;
  /** Disabled operations, such as `POST /users`. */
  readonly disabledOperations?: readonly string[];
  /** Origins of pages and app shells that may call; any by default. `https://*.example.org`: subdomains. */
  readonly origins?: readonly string[];
  readonly signedRequests?: SignedRequests | (string & {});
  readonly limits?: RateLimits;
  readonly mail?: MailSettings;
  readonly locationData?: LocationData | (string & {});
  /** Refused social logins name the failed check; false by default. */
  readonly debug?: boolean;
  readonly email?: EmailSettings;
  readonly signIn?: SignInSettings;
  readonly passwords?: PasswordSettings;
  readonly events?: EventSettings;
  readonly rehearsal?: Rehearsal | (string & {});
  readonly webhooks?: WebhookSettings;
}

/**
 * An order of applications.
 *
 * - `created`: The oldest first.
 * - `-created`: The newest first.
 * - `name`: By name.
 * - `-name`: By name, descending.
 * - `busiest`: The 100 with the most calls in the last 15 minutes, on one page.
 */
export type ApplicationSortOrder = "created" | "-created" | "name" | "-name" | "busiest";

/**
 * Whether clients of an application are served.
 *
 * - `active`: They are served.
 * - `suspended`: An operator has suspended it.
 * - `moving`: It is on its way to another region.
 * - `importing`: It is being imported.
 */
export type ApplicationState = "active" | "suspended" | "moving" | "importing";

/** The activity of an application's clients. */
export interface ApplicationStatistics {
  readonly interval: StatisticsInterval | (string & {});
  /** The first moment of the first interval. */
  readonly from: Date;
  /** The first moment after the last interval. */
  readonly to: Date;
  readonly series: readonly StatisticsSeries[];
  /** The 100 busiest operations. */
  readonly operations?: readonly OperationStatistics[];
  /** The 50 most frequent failures. */
  readonly errors?: readonly ErrorStatistics[];
  /** The keys that were used, at most 100. */
  readonly keys?: readonly KeyStatistics[];
  /** The origins of web pages with most calls, at most 100. */
  readonly origins?: readonly OriginStatistics[];
  /** How much of limits was used. */
  readonly peaks?: readonly LimitPeak[];
}

/** The totals of an application. */
export interface ApplicationTotals {
  /** Devices that have registered. */
  readonly devices: KeptCount;
  /** Users that are not deleted. */
  readonly users: KeptCount;
  /** Check-ins. */
  readonly checkins: KeptCount;
  /** Files. */
  readonly files: number;
  /** The bytes of the files. */
  readonly bytes: number;
}

/** A process of the machine that was queried for its calls. */
export interface AskedProcess {
  /** The number of the process on its machine. */
  readonly worker: number;
  /** True if it did not answer within two seconds: its calls are missing. */
  readonly isSilent: boolean;
}

/** The entries of one action. */
export interface AuditActionCount {
  /** The name of the operation or command. */
  readonly action: string;
  /** The number of entries; equal refusals share one. */
  readonly entries: number;
}

/** The actor of an entry of the audit log. */
export interface AuditActor {
  readonly kind: AuditActorKind | (string & {});
  readonly id?: string;
  readonly name?: string;
}

/**
 * The actor.
 *
 * - `operator`: An operator.
 * - `user`: A user of the application.
 * - `device`: A device of the application.
 * - `cli`: A command on the machine of the server.
 * - `nobody`: A caller without a valid token.
 * - `system`: The server itself.
 */
export type AuditActorKind = "operator" | "user" | "device" | "cli" | "nobody" | "system";

/** The entries of one interval. */
export interface AuditCount {
  /** The first moment of the interval. */
  readonly time: Date;
  /** The number of entries; equal refusals share one. */
  readonly entries: number;
  /** The number of refusals among them. */
  readonly refused: number;
}

/** The number of entries of the audit log by time and by action. */
export interface AuditCounts {
  readonly interval: AuditInterval | (string & {});
  /** The first moment of the first interval. */
  readonly from: Date;
  /** The first moment after the last interval. */
  readonly to: Date;
  /** The intervals that have entries, the earliest first. */
  readonly points: readonly AuditCount[];
  /** The 100 most frequent actions in the range. */
  readonly actions: readonly AuditActionCount[];
  /** The number of days that entries are kept. */
  readonly keptDays: number;
  /** True if there are more entries, which have not been counted yet. */
  readonly isAtLeast?: boolean;
}

/** An entry of the audit log. */
export interface AuditEntry {
  readonly id: string;
  /** When it happened. */
  readonly at: Date;
  readonly actor: AuditActor;
  /** The name of the operation or command. */
  readonly action: string;
  /** The application that it was done in. */
  readonly appid?: string;
  /** The id of its object. */
  readonly target?: string;
  /** The IP address of the caller. */
  readonly address?: string;
  /** The request_id of the answer. */
  readonly requestId?: string;
  /** The parameters; changes has the values before and after; error of a refusal. */
  readonly details: unknown;
  /** The number of equal refusals in the entry, if more than one. at is the first. */
  readonly count?: number;
  /** The time of the last refusal. */
  readonly lastSeen?: Date;
}

export interface AuditEntryPage {
  readonly pageResults: readonly AuditEntry[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/**
 * The length of an interval, in UTC.
 *
 * - `hour`: An hour; kept for eight days.
 * - `day`: A day; kept as long as entries.
 */
export type AuditInterval = "hour" | "day";

/** Work that a process repeats at an interval. */
export interface BackgroundJob {
  readonly name: string;
  /** When its last successful run ended. */
  readonly finished?: Date;
  /** The duration of that run. */
  readonly durationMs?: number;
  /** When its last failed run ended. */
  readonly failed?: Date;
  /** Failed runs since the process started. */
  readonly failures: number;
}

/** A number of which counting stops early. */
export interface BoundedCount {
  /** At most 1000. */
  readonly count: number;
  /** Whether there are, or may be, more. */
  readonly isMore: boolean;
}

/** The calls of one application in the last 15 minutes. */
export interface BusyApplication {
  /** The id of the application. */
  readonly appid: string;
  /** The number of calls. */
  readonly calls: number;
  /** The number of refused or failed calls. */
  readonly errors: number;
}

export interface ChangeApplicationKeyRequest {
  /** The purpose of the key. It must have 1 to 256 characters, none of them a line break or a control character. */
  readonly label: string;
}

export interface ChangeApplicationRequest {
  /** It must have 1 to 256 characters, none of them a line break or a control character. */
  readonly name?: string | undefined;
}

export interface ChangeCrashGroupRequest {
  /** Replaces the earlier decision. */
  readonly state?: CrashGroupState | undefined;
  /** With state resolved: the version of the app in which it is fixed. */
  readonly resolvedIn?: string | undefined;
  /** With state ignored: what reopens it; absent for nothing. */
  readonly ignoreUntil?: CrashIgnoreUntil | undefined;
  /** A note of operators. An empty string deletes it. */
  readonly note?: string | undefined;
}

export interface ChangeOperatedUserRequest {
  /** Unique regardless of case, Unicode form, blanks and invisible characters. */
  readonly userName?: string | undefined;
  readonly email?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  /** Others do not find the user, nor read the profile. */
  readonly celebMode?: boolean | undefined;
  /** Others see the user's locations shifted by about a kilometre. */
  readonly locationFuzzing?: boolean | undefined;
}

export interface ChangeOperatorRequest {
  /** Unique, at most 256 characters. */
  readonly name?: string | undefined;
  readonly role?: OperatorRole | undefined;
  /** Ends the sessions of the operator. */
  readonly password?: string | undefined;
}

export interface ChangeOwnOperatorRequest {
  /** The new password. */
  readonly password: string;
  /** The empty text is a wrong password. */
  readonly currentPassword: string;
}

export interface ChangePublicLocationRequest {
  readonly name?: string | undefined;
  readonly address1?: string | undefined;
  readonly address2?: string | undefined;
  readonly city?: string | undefined;
  readonly region?: string | undefined;
  readonly country?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly phone?: string | undefined;
  readonly fax?: string | undefined;
  readonly website?: string | undefined;
  /** The kind of the location, defined by the app. */
  readonly category?: string | undefined;
  readonly description?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
}

export interface ChangeWebhookRequest {
  /** https, at port 443 or from 1024 on, that leads to public addresses only. */
  readonly url?: string | undefined;
  /** Patterns: types such as checkin.created, checkin.* or *. */
  readonly types?: readonly string[] | undefined;
  readonly name?: string | undefined;
  readonly format?: WebhookFormat | undefined;
  /** Sent with each event; not shown. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Events under way at a time. */
  readonly concurrency?: number | undefined;
  /** Of an attempt, from the look-up on. */
  readonly timeoutMs?: number | undefined;
  /** Attempts in a second. */
  readonly perSecond?: number | undefined;
  /** Send locations as owners of objects see them. Only owners may set it. */
  readonly trueLocations?: boolean | undefined;
}

/** A key of an application, after a change. */
export interface ChangedApplicationKey {
  readonly id: string;
  /** Its purpose. */
  readonly label?: string;
  readonly created: Date;
  readonly state: KeyState | (string & {});
  /** The time at which it was retired. */
  readonly retired?: Date;
}

/** A setting of the server that differs from its default. */
export interface ChangedSetting {
  /** The environment variable. */
  readonly name: string;
  /** `set` for a secret. */
  readonly value: string;
  /** Its purpose. */
  readonly about: string;
}

/** What countAudit looks for. */
export interface CountAuditQuery {
  /** The id of an application. */
  readonly appid?: string | undefined;
  /** Only actions of this kind of actor. */
  readonly actorKind?: AuditActorKind | undefined;
  /** The name of an operation, or up to 20 names with commas in between. */
  readonly action?: string | undefined;
  /** Operations that are left out: a name, or up to 20 names with commas in between. */
  readonly exceptAction?: string | undefined;
  /** Only refusals, or only other entries. */
  readonly refused?: boolean | undefined;
  /** A time in the first interval: by default a day or 30 days before `to`. */
  readonly from?: Date | undefined;
  /** The exclusive end of the range; now by default. */
  readonly to?: Date | undefined;
  /** The length of the intervals. */
  readonly interval?: AuditInterval | undefined;
}

/** The reports of a crash on one day, in UTC. */
export interface CrashDay {
  /** The beginning of the day. */
  readonly start: Date;
  /** The number of reports. */
  readonly reports: number;
}

/** The reports of one bug. */
export interface CrashGroup {
  /** Identifies the bug: all reports of a bug have the same fingerprint. */
  readonly fingerprint: string;
  /** The error and its place in the code, for a list. */
  readonly title: string;
  /** The number of reports. */
  readonly reports: number;
  /** The number of devices that reported it. */
  readonly devices: number;
  readonly versions: readonly CrashGroupVersion[];
  /** The platforms of these devices, at most 10. */
  readonly platforms: readonly string[];
  /** The last 14 days, without days that have no reports. */
  readonly days: readonly CrashDay[];
  /** The time of the first report. */
  readonly firstSeen: Date;
  /** The time of the last report. */
  readonly lastSeen: Date;
  readonly state: CrashGroupState | (string & {});
  /** Absent if it is resolved in no particular version. */
  readonly resolvedIn?: string;
  readonly ignoreUntil?: CrashIgnored;
  /** The time at which a report reopened it. */
  readonly reopened?: Date;
  /** A note of operators. */
  readonly note?: string;
}

export interface CrashGroupPage {
  readonly pageResults: readonly CrashGroup[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type CrashGroupSortOrder = "lastSeen" | "-lastSeen" | "firstSeen" | "-firstSeen" | "reports" | "-reports";

/**
 * The decision of operators about a crash.
 *
 * - `open`: None yet, or a report reopened it.
 * - `resolved`: It is fixed, permanently or in a version.
 * - `ignored`: It is ignored, permanently or until it gets worse.
 */
export type CrashGroupState = "open" | "resolved" | "ignored";

/** The reports of a crash from one version of the app. */
export interface CrashGroupVersion {
  /** Absent for devices that reported none. */
  readonly appVersion?: string;
  /** The number of its reports. */
  readonly reports: number;
  /** The time of the first report. */
  readonly firstSeen: Date;
  /** The time of the last report. */
  readonly lastSeen: Date;
}

/** The conditions that reopen an ignored crash: any of them. */
export interface CrashIgnoreUntil {
  /** The number of further reports. */
  readonly reports?: number | undefined;
  /** The number of further devices. */
  readonly devices?: number | undefined;
  /** The first report from this date on. */
  readonly date?: Date | undefined;
}

/** The conditions that reopen an ignored crash. */
export interface CrashIgnored {
  /** The number of further reports. */
  readonly reports?: number;
  /** The number of further devices. */
  readonly devices?: number;
  /** The first report from this date on. */
  readonly date?: Date;
}

/** The reports of a crash in a range of days. */
export interface CrashStatistics {
  /** The beginning of the range. */
  readonly from: Date;
  /** The end of the range, exclusive. */
  readonly to: Date;
  /** The days with reports, oldest first. */
  readonly days: readonly CrashDay[];
  /** The versions with most reports, at most 200. */
  readonly versions: readonly CrashVersions[];
}

/** The reports from one version of the app on one version of the system. */
export interface CrashVersions {
  /** Absent for devices that reported none. */
  readonly appVersion?: string;
  /** Absent for devices that reported none. */
  readonly osVersion?: string;
  /** The number of reports. */
  readonly reports: number;
}

export interface CreateApplicationKeyRequest {
  /** The purpose of the key. It must have 1 to 256 characters, none of them a line break or a control character. */
  readonly label?: string | undefined;
}

export interface CreateApplicationRequest {
  /** It must have 1 to 256 characters, none of them a line break or a control character. */
  readonly name: string;
}

export interface CreateOperatedUserRequest {
  /** Unique regardless of case, Unicode form, blanks and invisible characters. */
  readonly userName: string;
  /** The new password. */
  readonly password: string;
  readonly email?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly gender?: Gender | undefined;
  readonly dateOfBirth?: Date | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** Of mails: a BCP 47 tag. Any other text is ignored. */
  readonly language?: string | undefined;
}

export interface CreateOperatorRequest {
  /** Unique, at most 256 characters. */
  readonly name: string;
  readonly role: OperatorRole;
  /** Without one, the answer holds a new one, this once. */
  readonly password?: string | undefined;
}

export interface CreateOperatorSessionRequest {
  readonly name: string;
  /** The empty text is a wrong password. */
  readonly password: string;
  /** Marks this browser for 180 days, so that guesses of others do not delay its sign-ins. With `X-Rollcall-Console`, also sets the token as a cookie and does not answer it. */
  readonly cookie?: boolean | undefined;
  /** Keeps the cookie of the session when the browser is closed. */
  readonly isPersistent?: boolean | undefined;
}

export interface CreatePublicLocationRequest {
  readonly name: string;
  readonly address1?: string | undefined;
  readonly address2?: string | undefined;
  readonly city?: string | undefined;
  readonly region?: string | undefined;
  readonly country?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly phone?: string | undefined;
  readonly fax?: string | undefined;
  readonly website?: string | undefined;
  /** The kind of the location, defined by the app. */
  readonly category?: string | undefined;
  readonly description?: string | undefined;
  /** A point, or the id of a location. */
  readonly location: Place | string;
  /** Any text of the app. */
  readonly tag?: string | undefined;
}

export interface CreateWebhookRequest {
  /** https, at port 443 or from 1024 on, that leads to public addresses only. */
  readonly url: string;
  /** Patterns: types such as checkin.created, checkin.* or *. */
  readonly types: readonly string[];
  readonly name?: string | undefined;
  readonly format?: WebhookFormat | undefined;
  /** Sent with each event; not shown. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Events under way at a time. */
  readonly concurrency?: number | undefined;
  /** Of an attempt, from the look-up on. */
  readonly timeoutMs?: number | undefined;
  /** Attempts in a second. */
  readonly perSecond?: number | undefined;
  /** Send locations as owners of objects see them. Only owners may set it. */
  readonly trueLocations?: boolean | undefined;
}

/** A new application, with its first key. */
export interface CreatedApplication {
  /** The id of the application. */
  readonly appid: string;
  /** Shown only once. */
  readonly appkey: string;
  /** The id of the key. */
  readonly keyId: string;
  readonly name: string;
  readonly created: Date;
}

/** A new key of an application. */
export interface CreatedApplicationKey {
  readonly id: string;
  /** Shown only once. */
  readonly appkey: string;
  /** Its purpose. */
  readonly label?: string;
  readonly created: Date;
}

/** A new operator. */
export interface CreatedOperator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole | (string & {});
  /** An operator without a password cannot sign in. */
  readonly isPasswordSet: boolean;
  readonly created: Date;
  readonly lastLogin?: Date;
  /** Until the password is changed, all other operations are refused. */
  readonly mustChangePassword?: boolean;
  /** With `include=access`: the sessions that have not ended, at most 1,000; of others, for owners only. */
  readonly sessions?: number;
  /** With `include=access`, of the only owner, which cannot be deleted or given another role. */
  readonly isLastOwner?: boolean;
  /** The password that was made for the operator. */
  readonly password?: string;
}

/** Ascending, with `-` descending. */
export type CreatedOrDistanceSortOrder = "created" | "-created" | "distance" | "-distance";

/** Ascending, with `-` descending. */
export type CreatedSortOrder = "created" | "-created";

/** A new webhook. */
export interface CreatedWebhook {
  readonly id: string;
  /** The URL that receives the events. */
  readonly url: string;
  /** Patterns of the types that are sent. */
  readonly types: readonly string[];
  readonly name?: string;
  readonly format: WebhookFormat | (string & {});
  /** Their names. */
  readonly headers: readonly string[];
  /** Events under way at a time. */
  readonly concurrency: number;
  /** Of an attempt. */
  readonly timeoutMs: number;
  /** Attempts in a second, at most. */
  readonly perSecond: number;
  /** Locations are sent as their owners see them. */
  readonly trueLocations: boolean;
  readonly state: WebhookState | (string & {});
  readonly secrets: readonly WebhookSecret[];
  readonly behind: WebhookBehind;
  /** When an event was accepted. */
  readonly lastSuccess?: Date;
  /** When an attempt failed. */
  readonly lastFailure?: Date;
  readonly created: Date;
  readonly lastModified: Date;
  /** Shown only once. */
  readonly secret: string;
}

/** The session of the call, and the deployment that it belongs to. */
export interface CurrentOperatorSession {
  readonly id: string;
  readonly operator: Operator;
  readonly expires: Date;
  /** The session also ends when it is not used for so long. */
  readonly idleMs: number;
  readonly created: Date;
  /** When the password was last entered. */
  readonly proved: Date;
  readonly deployment: DeploymentName;
}

/** Connections of a process to the database. */
export interface DatabaseConnections {
  /** Reserved by a transaction. */
  readonly inUse: number;
  /** The limit. */
  readonly max: number;
}

/**
 * The engine of the database.
 *
 * - `sqlite`: SQLite.
 * - `postgresql`: PostgreSQL.
 */
export type DatabaseEngine = "sqlite" | "postgresql";

/** What deleteApplication looks for. */
export interface DeleteApplicationQuery {
  /** The id of the application, as a confirmation. */
  readonly confirm: string;
}

/** A change, with its deliveries. */
export interface DeliveredEvent {
  /** The id of the event, the same in every answer. */
  readonly id: string;
  /** The type, such as checkin.created. */
  readonly type: string;
  readonly created: Date;
  /** The id of the object; of metadata, of the object that carries the key. */
  readonly objectID?: string;
  /** The owner. */
  readonly userID?: string;
  /** The key of metadata; of identities, the provider. */
  readonly key?: string;
  readonly visibility?: Permission | (string & {});
  /** The names of changed fields. */
  readonly changed?: readonly string[];
  /** The current result of an operator's GET. */
  readonly object?: unknown;
  /** The object is larger than 32 KiB. */
  readonly isTooLarge?: boolean;
  /** The id of the member of the object that has changed. */
  readonly itemID?: string;
  /** The object no longer exists. */
  readonly isGone?: boolean;
  readonly actor?: EventActor;
  /** The position in the log: 20 digits, increasing. */
  readonly sequence: string;
  /** By webhook, oldest first, at most 100; absent if there are none. */
  readonly deliveries?: readonly EventDelivery[];
}

/** The state of a deployment. */
export interface Deployment {
  readonly state: DeploymentState | (string & {});
  readonly warnings: readonly DeploymentWarning[];
  /** Of the process that answers. */
  readonly version: string;
  /** The version of Node.js. */
  readonly node: string;
  readonly engine: DatabaseEngine | (string & {});
  /** The last migration. */
  readonly schema: string;
  readonly region: string;
  /** When the oldest process started. */
  readonly since: Date;
  /** Those that reported within five minutes. */
  readonly processes: readonly ServerProcess[];
  /** Of all processes that are not silent. */
  readonly queues: DeploymentQueues;
  readonly storage: DeploymentStorage;
  readonly backup?: DeploymentBackup;
  /** Of the process that answers. */
  readonly settings: readonly ChangedSetting[];
}

/** The newest backup that `rollcall backup` has written. */
export interface DeploymentBackup {
  /** When it was finished. */
  readonly created: Date;
  /** The size of its file. */
  readonly bytes: number;
  /** True if it has no bytes of files. */
  readonly isWithoutFiles: boolean;
}

/** The hits in the deployment, up to ten of each kind. */
export interface DeploymentHits {
  /** By id or name. */
  readonly applications: readonly SearchHit[];
  /** By user name, first or last name, or address, in any of the newest 1,000 applications. */
  readonly users: readonly SearchHit[];
  /** By id or name. */
  readonly operators: readonly SearchHit[];
  /** By id, or by the `request_id` of the call. */
  readonly audit: readonly SearchHit[];
}

/** The identity of this deployment. */
export interface DeploymentName {
  /** The release that the server runs. */
  readonly version: string;
  readonly region: string;
  /** The names of the other regions, if there are some. */
  readonly otherRegions?: readonly string[];
  /** PUBLIC_URL. */
  readonly publicUrl?: string;
}

/** The work that waits. */
export interface DeploymentQueues {
  /** Passwords that wait to be hashed. */
  readonly passwords: number;
  /** Pictures that wait to be decoded. */
  readonly pictures: number;
  /** Transactions that wait to begin. */
  readonly transactions: number;
  /** Work that continues after its answer. */
  readonly background: number;
  /** Metric events that wait for compaction. */
  readonly events: number;
  /** Entries of the audit log that wait to be written. */
  readonly audit: number;
}

/**
 * Whether a deployment is well.
 *
 * - `well`: There is no warning.
 * - `attention`: There are warnings.
 * - `broken`: A process could not reach the database, or a disk has less than 500 MB left.
 */
export type DeploymentState = "well" | "attention" | "broken";

/** The activity of all clients and operators, and the busiest applications. */
export interface DeploymentStatistics {
  readonly interval: StatisticsInterval | (string & {});
  /** The first moment of the first interval. */
  readonly from: Date;
  /** The first moment after the last interval. */
  readonly to: Date;
  readonly series: readonly StatisticsSeries[];
  /** The 100 busiest operations. */
  readonly operations?: readonly OperationStatistics[];
  /** The 50 most frequent failures. */
  readonly errors?: readonly ErrorStatistics[];
  /** The keys that were used, at most 100. */
  readonly keys?: readonly KeyStatistics[];
  /** The origins of web pages with most calls, at most 100. */
  readonly origins?: readonly OriginStatistics[];
  /** How much of limits was used. */
  readonly peaks?: readonly LimitPeak[];
  /** The 100 applications with the most calls. */
  readonly busiest: readonly BusyApplication[];
}

/** The stored data of a deployment. */
export interface DeploymentStorage {
  /** The size of the database. */
  readonly databaseBytes: number;
  /** Files of all applications. */
  readonly files: number;
  /** Their bytes. */
  readonly bytes: number;
  /** Objects in the file store that are to be deleted. */
  readonly orphanedObjects: BoundedCount;
  /** The free space of the fullest disk that a process writes to. */
  readonly freeBytes?: number;
  /** The size of that disk. */
  readonly diskBytes?: number;
}

/** A reason to look at a deployment. */
export interface DeploymentWarning {
  readonly code: DeploymentWarningCode | (string & {});
  /** A sentence with numbers. */
  readonly text: string;
  /** When it began; absent if no single process is the reason. */
  readonly since?: Date;
}

/**
 * The kind of a warning.
 *
 * - `databaseAway`: A process could not reach the database within the last minute.
 * - `databaseSlow`: 5 % of the statements of the last five minutes took longer than 250 ms.
 * - `diskLow`: A disk has less than 10 % or 2 GB left.
 * - `loopLate`: 1 % of the work of a process began 200 ms late, over a minute.
 * - `queueFull`: A full queue refused something in the last five minutes.
 * - `backlog`: 300,000 metric events or more wait for compaction.
 * - `maintenanceLate`: No maintenance was finished for ten minutes.
 * - `auditLost`: Entries of the audit log were lost in the last hour.
 * - `logLost`: Log lines were lost in the last hour.
 * - `certificateEnds`: The certificate ends within 14 days.
 * - `mailToFiles`: Mails are written to files: there is no mail server.
 * - `publicUrlMissing`: PUBLIC_URL is not set, and HOST is not this machine alone.
 * - `clearTransport`: Another machine called without https in the last hour.
 * - `mixedVersions`: Several versions have run for more than an hour.
 * - `secretsDiffer`: A process cannot open what other processes seal: its ROLLCALL_SECRET is another one.
 * - `regionsDiffer`: Processes run with different regions (REGION).
 * - `clockDiffers`: The clock of a process differs by more than 30 seconds.
 * - `regionAway`: The last call to another region failed, within the last hour.
 * - `signInGuard`: Sign-ins had to wait ten times or more in ten minutes.
 */
export type DeploymentWarningCode = "databaseAway" | "databaseSlow" | "diskLow" | "loopLate" | "queueFull" | "backlog" | "maintenanceLate" | "auditLost" | "logLost" | "certificateEnds" | "mailToFiles" | "publicUrlMissing" | "clearTransport" | "mixedVersions" | "secretsDiffer" | "regionsDiffer" | "clockDiffers" | "regionAway" | "signInGuard";

/**
 * Additional members of the result.
 *
 * - `users`: The user who is signed in on each device.
 */
export type DeviceInclude = "users";

/** The effective settings of an application. */
export interface EffectiveSettings {
  /** The settings, with defaults for unset ones. */
  readonly values: ApplicationSettings;
  /** The defaults, without settings that have none. */
  readonly defaults: ApplicationSettings;
  /** By setting, or signingSecret; absent for settings that were never changed. */
  readonly changed: Readonly<Record<string, SettingsChange>>;
  /** Whether there is a shared secret for signed requests. */
  readonly hasSigningSecret: boolean;
}

/** Rules for the e-mail addresses of users. */
export interface EmailSettings {
  /** Whether a change of the address requires currentPassword. */
  readonly requirePassword?: boolean;
  /** Whether only a mailed code changes it. */
  readonly changeByCode?: boolean;
}

/** What endOperatorSessions looks for. */
export interface EndOperatorSessionsQuery {
  /** For owners: of this operator, in place of one's own. */
  readonly operatorId?: string | undefined;
}

/** What eraseUser looks for. */
export interface EraseUserQuery {
  /** The id of the user again. */
  readonly confirm: string;
}

/** A deleted user with data left to erase. */
export interface Erasure {
  readonly id: string;
  /** When the user was deleted. */
  readonly since: Date;
  /** What is left. */
  readonly counts: UserCounts;
}

/** The users of an application whose data is being erased. */
export interface Erasures {
  /** At most 10. */
  readonly users: readonly Erasure[];
  /** Whether there are others. */
  readonly isMore: boolean;
}

/** Equal failures in the range. */
export interface ErrorStatistics {
  /** The id of the operation; absent if `isOther`. */
  readonly operation?: string;
  /** The condition, as in the log; absent if `isOther`. */
  readonly error?: string;
  /** The first 200 characters of the message. */
  readonly message?: string;
  /** Their number. */
  readonly count: number;
  /** True for all that are not among the most frequent ones. */
  readonly isOther?: boolean;
}

/** The actor of the write. */
export interface EventActor {
  /** operator, user, device, cli, nobody or system, as in the audit log. */
  readonly kind: string;
  readonly id?: string;
}

/** The delivery of an event to a webhook. */
export interface EventDelivery {
  /** The webhook to which the event is sent. */
  readonly webhookID: string;
  /** The id of the delivery. */
  readonly id: string;
  /** waiting, delivered, failed, dead or refused. */
  readonly state: string;
  /** Attempts so far. */
  readonly attempt: number;
  /** The status of the last answer. */
  readonly status?: number;
  readonly created: Date;
  /** The time of the next attempt. */
  readonly nextAttempt?: Date;
}

/**
 * When events are recorded.
 *
 * - `wanted`: While there are readers. The default.
 * - `always`: Also without readers.
 * - `never`: Not at all; calls that read events are refused.
 */
export type EventRecording = "wanted" | "always" | "never";

/** The settings of the event log. */
export interface EventSettings {
  readonly record?: EventRecording | (string & {});
  /** The retention of events. */
  readonly retentionDays?: number;
  /** Types such as checkin.created or checkin.*; all by default. */
  readonly types?: readonly string[];
}

/** What exportAuditAsCsv looks for. */
export interface ExportAuditAsCsvQuery {
  /** The id of an application. */
  readonly appid?: string | undefined;
  /** The id of an operator, user or device, or cli, nobody or system. */
  readonly actor?: string | undefined;
  /** Only actions of this kind of actor. */
  readonly actorKind?: AuditActorKind | undefined;
  /** The name of an operation, or up to 20 names with commas in between. */
  readonly action?: string | undefined;
  /** Operations that are left out: a name, or up to 20 names with commas in between. */
  readonly exceptAction?: string | undefined;
  /** Only refusals, or only other entries. */
  readonly refused?: boolean | undefined;
  /** The id of its object. */
  readonly target?: string | undefined;
  /** The `request_id` of the call. */
  readonly requestId?: string | undefined;
  /** Entries whose first event was then or later. */
  readonly from?: Date | undefined;
  /** Entries whose first event was before then. */
  readonly to?: Date | undefined;
}

/** What exportAuditAsNdjson looks for. */
export interface ExportAuditAsNdjsonQuery {
  /** The id of an application. */
  readonly appid?: string | undefined;
  /** The id of an operator, user or device, or cli, nobody or system. */
  readonly actor?: string | undefined;
  /** Only actions of this kind of actor. */
  readonly actorKind?: AuditActorKind | undefined;
  /** The name of an operation, or up to 20 names with commas in between. */
  readonly action?: string | undefined;
  /** Operations that are left out: a name, or up to 20 names with commas in between. */
  readonly exceptAction?: string | undefined;
  /** Only refusals, or only other entries. */
  readonly refused?: boolean | undefined;
  /** The id of its object. */
  readonly target?: string | undefined;
  /** The `request_id` of the call. */
  readonly requestId?: string | undefined;
  /** Entries whose first event was then or later. */
  readonly from?: Date | undefined;
  /** Entries whose first event was before then. */
  readonly to?: Date | undefined;
}

/** The stored amounts of an application, and its limits. */
export interface FileUsage {
  /** The number of files. */
  readonly files: number;
  /** Their bytes together. */
  readonly bytes: number;
  /** The quota of files, if there is one. */
  readonly filesMax?: number;
  /** The quota of bytes, if there is one. */
  readonly bytesMax?: number;
}

/** The session of a browser, if there is one. */
export interface FoundOperatorSession {
  readonly session?: CurrentOperatorSession;
}

/** The effects of revoking the tokens of a key, an application or a user. */
export interface Impact {
  /** Devices whose latest registration used the key, of the application, or with a token of the user. */
  readonly devices: BoundedCount;
  /** Valid user tokens; of a key, those on the devices that registered last. */
  readonly userTokens: BoundedCount;
  /** Devices that were active in the last hour, accurate to an hour. */
  readonly activeLastHour: BoundedCount;
  /** Devices that were active in the last day, accurate to an hour. */
  readonly activeLastDay: BoundedCount;
  /** The most frequent versions among the devices of activeLastDay, at most 20. */
  readonly appVersions: readonly AppVersionCount[];
  /** The most frequent platforms among them, at most 20. */
  readonly platforms: readonly PlatformCount[];
  /** The share of signed calls in the last 24 hours; absent without calls, and for a user. */
  readonly signedShare?: number;
}

/** A number of objects. */
export interface KeptCount {
  /** Their number. */
  readonly count: number;
  /** Otherwise it is the count of last night, with those created since. */
  readonly isExact: boolean;
}

/**
 * Whether devices can register with a key.
 *
 * - `active`: Devices register with it.
 * - `retired`: It was taken out of use.
 * - `compromised`: All keys were taken out of use at once.
 */
export type KeyState = "active" | "retired" | "compromised";

/** The calls with one application key in the range. */
export interface KeyStatistics {
  /** The id of the key. */
  readonly keyId: string;
  /** Requests with a token of the key; a batch is one. */
  readonly calls: number;
  /** The number of signed ones. */
  readonly signedCalls: number;
  /** Successful registrations with the key. */
  readonly registrations: number;
  /** The registrations in each interval, of the 20 keys with most of them. */
  readonly points?: readonly StatisticsPoint[];
}

/** How much of a limit was used. */
export interface LimitPeak {
  /** `caller`, or such as `POST /checkins`. */
  readonly limit: string;
  /** The most calls of one device, or address, within a minute. */
  readonly calls: number;
}

/** What listApplicationKeys looks for. */
export interface ListApplicationKeysQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listApplicationsElsewhere looks for. */
export interface ListApplicationsElsewhereQuery {
  /** The order of the applications. */
  readonly sortOrder?: CreatedSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listApplications looks for. */
export interface ListApplicationsQuery {
  /** Additional members of the result. */
  readonly include?: ApplicationInclude | undefined;
  /** The beginning of the name, regardless of the case of A to Z. */
  readonly namePrefix?: string | undefined;
  /** Only applications in this state. */
  readonly state?: ApplicationState | undefined;
  /** The order of the applications. */
  readonly sortOrder?: ApplicationSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listAudit looks for. */
export interface ListAuditQuery {
  /** The id of an application. */
  readonly appid?: string | undefined;
  /** The id of an operator, user or device, or cli, nobody or system. */
  readonly actor?: string | undefined;
  /** Only actions of this kind of actor. */
  readonly actorKind?: AuditActorKind | undefined;
  /** The name of an operation, or up to 20 names with commas in between. */
  readonly action?: string | undefined;
  /** Operations that are left out: a name, or up to 20 names with commas in between. */
  readonly exceptAction?: string | undefined;
  /** Only refusals, or only other entries. */
  readonly refused?: boolean | undefined;
  /** The id of its object. */
  readonly target?: string | undefined;
  /** The `request_id` of the call. */
  readonly requestId?: string | undefined;
  /** Entries whose first event was then or later. */
  readonly from?: Date | undefined;
  /** Entries whose first event was before then. */
  readonly to?: Date | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listCrashGroups looks for. */
export interface ListCrashGroupsQuery {
  /** Only crashes in this state. */
  readonly state?: CrashGroupState | undefined;
  /** Only crashes that this version reported. */
  readonly appVersion?: string | undefined;
  /** Only crashes that devices of exactly this platform reported. */
  readonly platform?: string | undefined;
  /** Only crashes that this device reported. */
  readonly deviceID?: string | undefined;
  /** The time of its first report. */
  readonly firstSeen?: DateRange | undefined;
  /** Only crashes that a report has reopened, or only others. */
  readonly reopened?: boolean | undefined;
  /** The order of the groups. */
  readonly sortOrder?: CrashGroupSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listCrashReports looks for. */
export interface ListCrashReportsQuery {
  /** The number of reports on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listDevicesOfUser looks for. */
export interface ListDevicesOfUserQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listIdentitiesOfUser looks for. */
export interface ListIdentitiesOfUserQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listLocationFlags looks for. */
export interface ListLocationFlagsQuery {
  /** The id of a location. */
  readonly locationID?: string | undefined;
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listMetricEvents looks for. */
export interface ListMetricEventsQuery {
  /** The first moment of the range. */
  readonly from?: Date | undefined;
  /** The first moment after the range. */
  readonly to?: Date | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listMetricValues looks for. */
export interface ListMetricValuesQuery {
  /** The first moment of the range. */
  readonly from?: Date | undefined;
  /** The first moment after the range. */
  readonly to?: Date | undefined;
}

/** What listMetrics looks for. */
export interface ListMetricsQuery {
  /** Additional members of the result. */
  readonly include?: MetricInclude | undefined;
  /** Only keys that begin with this, case included. */
  readonly keyPrefix?: string | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listOperatedEvents looks for. */
export interface ListOperatedEventsQuery {
  /** Types such as user.disabled or checkin.*, separated by commas; all by default. */
  readonly type?: string | undefined;
  /** Only events about this object. */
  readonly objectID?: string | undefined;
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** The time of the write. */
  readonly created?: DateRange | undefined;
  /** Reads forwards, oldest first: a currentToken of such a call, start for the oldest event that is stored, or end for none. */
  readonly after?: string | undefined;
  /** The time to wait for an event. */
  readonly waitSeconds?: number | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listOperatedMetadata looks for. */
export interface ListOperatedMetadataQuery {
  /** Only this key. */
  readonly key?: string | undefined;
  /** Only keys that begin with this text. */
  readonly keyPrefix?: string | undefined;
  /** User: private to a user. App: shared. Both by default. */
  readonly visibility?: Permission | undefined;
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listOperatorSessions looks for. */
export interface ListOperatorSessionsQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
  /** For owners: of this operator, in place of one's own. */
  readonly operatorId?: string | undefined;
}

/** What listOperators looks for. */
export interface ListOperatorsQuery {
  /** Additional members of the result. */
  readonly include?: OperatorInclude | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listRequests looks for. */
export interface ListRequestsQuery {
  /** The `cursor` of the answer before: only later calls. Else the last 100. */
  readonly cursor?: string | undefined;
  /** The `before` of an answer: only earlier calls. Not with `cursor`. */
  readonly before?: string | undefined;
  /** A status, or a class of them such as `4xx`. */
  readonly status?: string | undefined;
  /** The id of the operation in the OpenAPI document. */
  readonly operation?: string | undefined;
  /** The condition, as in the log. */
  readonly error?: string | undefined;
  /** The user who called. */
  readonly userID?: string | undefined;
  /** The device that called. */
  readonly deviceID?: string | undefined;
  /** The address of the client; for viewers, any of the same network. */
  readonly address?: string | undefined;
  /** Calls that took longer than this. */
  readonly slowerThanMs?: number | undefined;
  /** The `request_id` of a call, or of the batch that it was in. */
  readonly requestId?: string | undefined;
  /** Only calls that were refused or failed. */
  readonly refused?: boolean | undefined;
}

/** What listTokensOfUser looks for. */
export interface ListTokensOfUserQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listUsersOfDevice looks for. */
export interface ListUsersOfDeviceQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listWebhookDeliveries looks for. */
export interface ListWebhookDeliveriesQuery {
  /** Only deliveries in this state. */
  readonly state?: WebhookDeliveryState | undefined;
  /** The id of an event. */
  readonly eventID?: string | undefined;
  /** Only events of this type. */
  readonly type?: string | undefined;
  /** When the delivery began. */
  readonly created?: DateRange | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listWebhooks looks for. */
export interface ListWebhooksQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** A crash of the app on a device, as operators see it. */
export interface ListedCrashReport {
  readonly id: string;
  readonly deviceID: string;
  readonly stackTrace: string;
  readonly message?: string;
  readonly methodName?: string;
  readonly appVersion?: string;
  readonly osVersion?: string;
  /** A free text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  readonly created: Date;
  /** The lines of stackTrace, from 0, that are frames of the app, not of a system or library. */
  readonly appFrames: readonly number[];
}

export interface ListedCrashReportPage {
  readonly pageResults: readonly ListedCrashReport[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A session in a list. */
export interface ListedOperatorSession {
  readonly id: string;
  /** Whose session it is. */
  readonly operatorId: string;
  readonly created: Date;
  /** About a minute behind. */
  readonly lastUsed: Date;
  readonly expires: Date;
  /** The address that signed in; empty for a session of an older release. */
  readonly address: string;
  /** The browser and its system, as far as it is known. */
  readonly browser: string;
  /** Whether the session is in a cookie of the console. */
  readonly isCookie: boolean;
  /** Whether it is the session of this call. */
  readonly current: boolean;
}

export interface ListedOperatorSessionPage {
  readonly pageResults: readonly ListedOperatorSession[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/**
 * The version of videos and blobs that others get from users with locationFuzzing.
 *
 * - `strip`: The bytes without location data. The default.
 * - `refuse`: Nothing.
 * - `keep`: The bytes as they are.
 */
export type LocationData = "strip" | "refuse" | "keep";

/** A report of a location by a user. */
export interface LocationFlag {
  readonly id: string;
  readonly locationID: string;
  readonly userID: string;
  /** The problem. */
  readonly flagReason?: string;
  readonly comment?: string;
  readonly created: Date;
  readonly lastModified: Date;
}

export interface LocationFlagPage {
  readonly pageResults: readonly LocationFlag[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The mail settings of an application. */
export interface MailSettings {
  /** The sender: an address, or a name and an address in angle brackets. */
  readonly from?: string;
  /** The mail server, an smtp:// or smtps:// URL. Shown without its password. */
  readonly smtpUrl?: string;
  readonly templates?: MailTemplates | (string & {});
  /** Hosts that texts of clients may link to, including their subdomains. */
  readonly linkHosts?: readonly string[];
  readonly texts?: MailTexts;
  /** By language, such as `de` or `pt-BR`. */
  readonly textsByLanguage?: Readonly<Record<string, MailTexts>>;
}

/**
 * Whose texts are mailed.
 *
 * - `client`: Harmless texts of clients, too. The default.
 * - `fixed`: The application's own texts only.
 */
export type MailTemplates = "client" | "fixed";

/**
 * Why no mail was sent.
 *
 * - `unreachable`: The server does not answer, or its address is not allowed.
 * - `encryption`: The server does not offer TLS, or its certificate is wrong.
 * - `signIn`: The server refuses the name or the password.
 * - `refused`: The server refuses the sender, the recipient or the text.
 * - `sealed`: mail.smtpUrl is sealed under another secret; set it again.
 * - `noServer`: There is no server: the mail is a file in DATA_DIR.
 */
export type MailTestProblem = "unreachable" | "encryption" | "signIn" | "refused" | "sealed" | "noServer";

/** The outcome of a test mail: without a problem, the mail server has accepted it. */
export interface MailTestResult {
  readonly problem?: MailTestProblem | (string & {});
  /** The status code of the mail server. */
  readonly smtpCode?: number;
}

/** The text of a mail. */
export interface MailText {
  /** One line. */
  readonly subject: string;
  /** Contains the placeholder of its kind. */
  readonly body: string;
}

/** Texts that replace the default ones. */
export interface MailTexts {
  /** @ResetCode is replaced by the password reset code. */
  readonly resetCode?: MailText;
  /** @VerifyCode is replaced by a code that verifies an address. */
  readonly verifyCode?: MailText;
  /** @Notice is replaced by a notice about the account. */
  readonly notice?: MailText;
}

/** A metric key of an application. */
export interface Metric {
  /** The key that events are reported under. */
  readonly key: string;
  /** The number of events, or of values with this name. */
  readonly count: number;
  /** When the last event arrived. */
  readonly lastSeen: Date;
  /** With `include=days`: the events of each of the last 30 days in UTC; the last one is not over. */
  readonly days?: readonly number[];
}

/** The intervals of a metric, or of one group of it. */
export interface MetricGroup {
  /** The name of the value that the points are about. */
  readonly value?: string;
  /** The content of the value to group by. */
  readonly group?: string;
  /** True for all that have no group of their own. */
  readonly isOther?: boolean;
  readonly points: readonly MetricPoint[];
}

/**
 * Additional members of the result.
 *
 * - `days`: The number of events on each of the last 30 days.
 */
export type MetricInclude = "days";

/**
 * The length of an interval, in UTC.
 *
 * - `hour`: An hour.
 * - `day`: A day.
 * - `week`: A week, which begins on Monday.
 * - `month`: A month.
 */
export type MetricInterval = "hour" | "day" | "week" | "month";

export interface MetricPage {
  readonly pageResults: readonly Metric[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The figures of one interval. */
export interface MetricPoint {
  /** The first moment of the interval. */
  readonly start: Date;
  /** The number of events, or of values with this name. */
  readonly count: number;
  /** The number of distinct devices. */
  readonly devices?: number;
  /** The number of distinct users. */
  readonly users?: number;
  /** The sum of the numbers. */
  readonly sum?: number;
  /** The smallest number. */
  readonly min?: number;
  /** The largest number. */
  readonly max?: number;
  /** The mean of the numbers. */
  readonly mean?: number;
  /** The median of the numbers. */
  readonly p50?: number;
  /** 95 % of the numbers are at most this. */
  readonly p95?: number;
  /** 99 % of the numbers are at most this. */
  readonly p99?: number;
}

/** A metric by intervals. */
export interface MetricSeries {
  /** The key that events are reported under. */
  readonly key: string;
  /** The first moment of the first interval. */
  readonly from: Date;
  /** The first moment after the last interval. */
  readonly to: Date;
  readonly interval: MetricInterval | (string & {});
  readonly series: readonly MetricGroup[];
}

/** A value that events of a key have. */
export interface MetricValueName {
  /** The name of the value. */
  readonly name: string;
  /** The number of events with a number in it. */
  readonly numbers: number;
  /** The number of events with a text or a boolean, which can be grouped by. */
  readonly texts: number;
}

/** The values that events of a key have. */
export interface MetricValueNames {
  /** The key that events are reported under. */
  readonly key: string;
  /** The most frequent first, at most 50. */
  readonly values: readonly MetricValueName[];
}

/** A version of the app that devices reported for the first time. */
export interface NewAppVersion {
  /** The version, as devices report it. */
  readonly appVersion: string;
  /** When the first report came. */
  readonly firstSeen: Date;
  /** How often devices reported it since then. */
  readonly reports: number;
  /** The platforms of these devices, at most 10. */
  readonly platforms: readonly string[];
}

/** A crash that was reported for the first time. */
export interface NewCrash {
  /** The id of the group. */
  readonly fingerprint: string;
  /** The first line of the stack trace. */
  readonly title: string;
  /** The current number of reports. */
  readonly reports: number;
  /** When the first report came. */
  readonly firstSeen: Date;
}

/** An OpenID Connect provider. */
export interface OidcProvider {
  /** The claim iss of its id_tokens. */
  readonly issuer: string;
  /** The client id of the application at the provider. */
  readonly audience: string;
  /** The URL of its public keys. */
  readonly jwksUrl: string;
}

/** A blob, as operators see it. */
export interface OperatedBlob {
  /** A name for people. */
  readonly friendlyName?: string;
  readonly id: string;
  readonly userID: string;
  readonly contentType: string;
  /** Absent, as contentHash, for others while the owner has locationFuzzing. */
  readonly contentLength?: number;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly contentHash?: string;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
  /** The name that the file was uploaded with. */
  readonly fileName?: string;
  /** The location that others see, if it differs. */
  readonly shownLocation?: Place;
}

export interface OperatedBlobPage {
  readonly pageResults: readonly OperatedBlob[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A check-in, as operators see it. */
export interface OperatedCheckin {
  readonly id: string;
  readonly userID: string;
  readonly location: CheckinLocation;
  readonly comment?: string;
  readonly description?: string;
  /** When it happened; absent if it was created then. */
  readonly occurred?: Date;
  /** Any text of the app. */
  readonly tag?: string;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
  /** The location that others see, if it differs. */
  readonly shownLocation?: Place;
}

export interface OperatedCheckinPage {
  readonly pageResults: readonly OperatedCheckin[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A device, as operators see it. */
export interface OperatedDevice {
  readonly id: string;
  readonly platform: string;
  /** The unique value that the device registered with. */
  readonly uniqueId?: string;
  readonly model?: string;
  readonly osVersion?: string;
  readonly appVersion?: string;
  /** Returned to clients only with the token that set it. */
  readonly pushToken?: string;
  /** A free text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  readonly connectionType?: ConnectionType | (string & {});
  /** Whether the app is a released version. */
  readonly isProduction?: boolean;
  readonly created: Date;
  readonly lastModified: Date;
  /** The id of the application key of its latest registration. */
  readonly keyID?: string;
  /** The time of its latest registration. */
  readonly registered?: Date;
  /** The time of its last activity, accurate to an hour. */
  readonly lastSeen?: Date;
  /** With `include=users`, if a user is signed in. */
  readonly signedIn?: SignedInUsers;
}

export interface OperatedDevicePage {
  readonly pageResults: readonly OperatedDevice[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A change, as operators and webhooks see it. */
export interface OperatedEvent {
  /** The id of the event, the same in every answer. */
  readonly id: string;
  /** The type, such as checkin.created. */
  readonly type: string;
  readonly created: Date;
  /** The id of the object; of metadata, of the object that carries the key. */
  readonly objectID?: string;
  /** The owner. */
  readonly userID?: string;
  /** The key of metadata; of identities, the provider. */
  readonly key?: string;
  readonly visibility?: Permission | (string & {});
  /** The names of changed fields. */
  readonly changed?: readonly string[];
  /** The current result of an operator's GET. */
  readonly object?: unknown;
  /** The object is larger than 32 KiB. */
  readonly isTooLarge?: boolean;
  /** The id of the member of the object that has changed. */
  readonly itemID?: string;
  /** The object no longer exists. */
  readonly isGone?: boolean;
  readonly actor?: EventActor;
  /** The position in the log: 20 digits, increasing. */
  readonly sequence: string;
}

export interface OperatedEventPage {
  readonly pageResults: readonly OperatedEvent[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
  /** With after: events are missing; currentToken continues with the oldest stored event. */
  readonly isReset?: boolean;
}

/** A location, as operators see it. */
export interface OperatedLocation {
  readonly id: string;
  /** Absent for public locations. */
  readonly userID?: string;
  readonly name?: string;
  readonly address1?: string;
  readonly address2?: string;
  readonly city?: string;
  readonly region?: string;
  readonly country?: string;
  readonly postalCode?: string;
  readonly phone?: string;
  readonly fax?: string;
  readonly website?: string;
  /** The kind of the location, defined by the app. */
  readonly category?: string;
  readonly description?: string;
  readonly location: Place;
  /** In metres, in a search with a locationRange. */
  readonly distanceFromSearch?: number;
  /** Any text of the app. */
  readonly tag?: string;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
  /** The location that others see, if it differs. */
  readonly shownLocation?: Place;
}

export interface OperatedLocationPage {
  readonly pageResults: readonly OperatedLocation[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The value of a key of an object, as operators see it. */
export interface OperatedMetadataItem {
  /** The key of the value. */
  readonly key: string;
  /** The JSON that was put. */
  readonly value: unknown;
  readonly visibility: Permission | (string & {});
  readonly location?: Place;
  readonly created: Date;
  readonly lastModified: Date;
  /** The user whose own slot holds the item. */
  readonly userID?: string;
  /** The user who set the location of a shared slot. */
  readonly setterID?: string;
  /** The location that others see, if it differs. */
  readonly shownLocation?: Place;
}

export interface OperatedMetadataItemPage {
  readonly pageResults: readonly OperatedMetadataItem[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A picture, as operators see it. */
export interface OperatedPicture {
  readonly caption?: string;
  readonly title?: string;
  /** A text for a watermark, which the app draws. */
  readonly watermark?: string;
  readonly size?: PictureSize;
  readonly id: string;
  readonly userID: string;
  readonly contentType: string;
  /** Absent, as contentHash, for others while the owner has locationFuzzing. */
  readonly contentLength?: number;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly contentHash?: string;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
  /** The name that the file was uploaded with. */
  readonly fileName?: string;
  /** The location that others see, if it differs. */
  readonly shownLocation?: Place;
}

export interface OperatedPicturePage {
  readonly pageResults: readonly OperatedPicture[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** An active token of a user, as operators see it. */
export interface OperatedToken {
  readonly id: string;
  readonly deviceID: string;
  readonly platform: string;
  readonly created: Date;
  readonly lastUsed: Date;
  readonly expires: Date;
}

export interface OperatedTokenPage {
  readonly pageResults: readonly OperatedToken[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A user, as operators see it. */
export interface OperatedUser {
  readonly id: string;
  /** Unique in the application. */
  readonly userName: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  /** Present if a code mailed to email has come back. */
  readonly emailVerified?: boolean;
  readonly gender?: Gender | (string & {});
  readonly dateOfBirth?: Date;
  /** Any text of the app. */
  readonly tag?: string;
  /** Of mails: a BCP 47 tag. */
  readonly language?: string;
  readonly location?: Place;
  /** The id of the profile picture. */
  readonly profilePictureID?: string;
  /** Reads its bytes without a token, for some time. */
  readonly profilePictureUrl?: string;
  /** Whether others neither find the user nor read the profile. */
  readonly celebMode: boolean;
  /** Whether others see the user's locations shifted by about a kilometre. */
  readonly locationFuzzing: boolean;
  readonly lastLogin: Date;
  readonly created: Date;
  readonly lastModified: Date;
  /** False for users who only sign in with an identity provider. */
  readonly hasPassword: boolean;
  /** When the user was disabled; absent for other users. */
  readonly disabled?: Date;
}

export interface OperatedUserPage {
  readonly pageResults: readonly OperatedUser[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type OperatedUserSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "userName" | "-userName" | "lastLogin" | "-lastLogin";

/** A user, as operators see it, with the number of objects. */
export interface OperatedUserWithCounts {
  readonly id: string;
  /** Unique in the application. */
  readonly userName: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  /** Present if a code mailed to email has come back. */
  readonly emailVerified?: boolean;
  readonly gender?: Gender | (string & {});
  readonly dateOfBirth?: Date;
  /** Any text of the app. */
  readonly tag?: string;
  /** Of mails: a BCP 47 tag. */
  readonly language?: string;
  readonly location?: Place;
  /** The id of the profile picture. */
  readonly profilePictureID?: string;
  /** Reads its bytes without a token, for some time. */
  readonly profilePictureUrl?: string;
  /** Whether others neither find the user nor read the profile. */
  readonly celebMode: boolean;
  /** Whether others see the user's locations shifted by about a kilometre. */
  readonly locationFuzzing: boolean;
  readonly lastLogin: Date;
  readonly created: Date;
  readonly lastModified: Date;
  /** False for users who only sign in with an identity provider. */
  readonly hasPassword: boolean;
  /** When the user was disabled; absent for other users. */
  readonly disabled?: Date;
  readonly counts: UserCounts;
}

/** A video, as operators see it. */
export interface OperatedVideo {
  readonly title?: string;
  /** The encoding of the video, defined by the app. */
  readonly encoding?: string;
  /** A name for people. */
  readonly friendlyName?: string;
  /** In bits per second. */
  readonly bitRate?: number;
  /** The duration. */
  readonly lengthInSeconds?: number;
  /** The id of a picture. */
  readonly thumbnailID?: string;
  readonly id: string;
  readonly userID: string;
  readonly contentType: string;
  /** Absent, as contentHash, for others while the owner has locationFuzzing. */
  readonly contentLength?: number;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly contentHash?: string;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
  /** The name that the file was uploaded with. */
  readonly fileName?: string;
  /** The location that others see, if it differs. */
  readonly shownLocation?: Place;
}

export interface OperatedVideoPage {
  readonly pageResults: readonly OperatedVideo[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The calls of one operation in the range. */
export interface OperationStatistics {
  /** The id of the operation in the OpenAPI document. */
  readonly operation: string;
  /** The number of calls. */
  readonly calls: number;
  /** The number of refused or failed calls. */
  readonly errors: number;
  /** 95 % of the calls took at most this many milliseconds. */
  readonly p95?: number;
}

/** An operator of the deployment. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole | (string & {});
  /** An operator without a password cannot sign in. */
  readonly isPasswordSet: boolean;
  readonly created: Date;
  readonly lastLogin?: Date;
  /** Until the password is changed, all other operations are refused. */
  readonly mustChangePassword?: boolean;
  /** With `include=access`: the sessions that have not ended, at most 1,000; of others, for owners only. */
  readonly sessions?: number;
  /** With `include=access`, of the only owner, which cannot be deleted or given another role. */
  readonly isLastOwner?: boolean;
}

/**
 * Additional members of the result.
 *
 * - `access`: How many sessions each operator has, and which one is the last owner.
 */
export type OperatorInclude = "access";

export interface OperatorPage {
  readonly pageResults: readonly Operator[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/**
 * The permissions of an operator.
 *
 * - `viewer`: Read everything.
 * - `editor`: Change everything except operators, too.
 * - `owner`: Manage the operators, too.
 */
export type OperatorRole = "viewer" | "editor" | "owner";

/** A session of an operator. */
export interface OperatorSession {
  /** The token of the session, opaque; absent if it was set as a cookie. */
  readonly token?: string;
  readonly expires: Date;
  /** The session also ends when it is not used for so long. */
  readonly idleMs: number;
  readonly operator: Operator;
}

/** The calls of web pages of one origin in the range. */
export interface OriginStatistics {
  /** The origin, as browsers send it. */
  readonly origin: string;
  /** Requests with a token; a batch is one. */
  readonly calls: number;
}

/** The rules of new passwords. */
export interface PasswordSettings {
  /** In characters. */
  readonly minLength?: number;
  /** Whether breached passwords are refused. Needs BREACHED_PASSWORDS_URL. */
  readonly refuseBreached?: boolean;
}

/** The number of devices with a platform. */
export interface PlatformCount {
  /** As the app reported it. */
  readonly platform: string;
  /** The number of devices that have it. */
  readonly devices: number;
}

export interface ProveOperatorPasswordRequest {
  /** The empty text is a wrong password. */
  readonly password: string;
}

/**
 * The reason why the keys could not be fetched.
 *
 * - `unreachable`: No complete answer of status 200, or a forbidden address.
 * - `noKeys`: The answer has no public keys.
 */
export type ProviderTestProblem = "unreachable" | "noKeys";

/** The keys of an identity provider. */
export interface ProviderTestResult {
  /** The number of public keys. */
  readonly keys: number;
  readonly problem?: ProviderTestProblem | (string & {});
}

export interface PutSigningSecretRequest {
  /** Generated by the server if absent. */
  readonly secret?: string | undefined;
}

/** The quotas; unlimited if a member is absent. */
export interface Quotas {
  /** Bytes of all files. */
  readonly bytesPerApplication?: number;
  /** Number of all files. */
  readonly filesPerApplication?: number;
  /** Bytes of the files of one user. */
  readonly bytesPerUser?: number;
  /** Number of files of one user. */
  readonly filesPerUser?: number;
}

/** A rate limit. */
export interface RateLimit {
  /** Sustained calls per second. */
  readonly perSecond: number;
  /** Simultaneous calls after a pause. */
  readonly burst?: number;
}

/** Rate limits of an application. */
export interface RateLimits {
  /** For all callers together. */
  readonly application?: RateLimit;
  /** For each device. */
  readonly caller?: RateLimit;
  /** Concurrent streams of events in each process. */
  readonly streams?: number;
  /** For one operation, such as `POST /checkins`: per device, or per address for sign-ups and logins. */
  readonly operations?: Readonly<Record<string, RateLimit>>;
}

/** What readApplicationOverview looks for. */
export interface ReadApplicationOverviewQuery {
  /** The first moment of the range: by default an hour, a day or 30 days before `to`. */
  readonly from?: Date | undefined;
  /** The exclusive end of the range; now by default. */
  readonly to?: Date | undefined;
  /** The length of the intervals, in UTC. */
  readonly interval?: StatisticsInterval | undefined;
  /** Also the series of the range of the same length before. */
  readonly compare?: boolean | undefined;
}

/** What readApplicationStatistics looks for. */
export interface ReadApplicationStatisticsQuery {
  /** The first moment of the range: by default an hour, a day or 30 days before `to`. */
  readonly from?: Date | undefined;
  /** The exclusive end of the range; now by default. */
  readonly to?: Date | undefined;
  /** The length of the intervals, in UTC. */
  readonly interval?: StatisticsInterval | undefined;
  /** The names of the series, separated by commas; all of them by default. */
  readonly series?: string | undefined;
}

/** What readCrashStatistics looks for. */
export interface ReadCrashStatisticsQuery {
  /** A time on the first day; 13 days before `to` by default. */
  readonly from?: Date | undefined;
  /** A time on the last day; now by default. */
  readonly to?: Date | undefined;
}

/** What readDeploymentStatistics looks for. */
export interface ReadDeploymentStatisticsQuery {
  /** The first moment of the range: by default an hour, a day or 30 days before `to`. */
  readonly from?: Date | undefined;
  /** The exclusive end of the range; now by default. */
  readonly to?: Date | undefined;
  /** The length of the intervals, in UTC. */
  readonly interval?: StatisticsInterval | undefined;
  /** The names of the series, separated by commas; all of them by default. */
  readonly series?: string | undefined;
}

/** What readMetric looks for. */
export interface ReadMetricQuery {
  /** The first moment of the range. */
  readonly from?: Date | undefined;
  /** The first moment after the range. */
  readonly to?: Date | undefined;
  /** The length of the intervals, in UTC. */
  readonly interval?: MetricInterval | undefined;
  /** The name of the value to be read. */
  readonly value?: string | undefined;
  /** The name of the value by whose content to group. */
  readonly groupBy?: string | undefined;
}

/** What readOperatedPictureFile looks for. */
export interface ReadOperatedPictureFileQuery {
  /** Scaled to fit <n> or <w>,<h> pixels, and never up. */
  readonly size?: string | undefined;
}

/** The last calls of an application, the newest first. */
export interface RecentRequests {
  readonly calls: readonly AnsweredRequest[];
  /** Send it to read later calls. */
  readonly cursor: string;
  /** Send it to read earlier calls; absent with `cursor`, and where there are none. */
  readonly before?: string;
  readonly processes: readonly AskedProcess[];
  /** From this time on no call that matches is missing, unless a process is silent. With `cursor`, absent if none is missing since the answer before. */
  readonly since?: Date;
}

export interface RedeliverWebhookRequest {
  readonly state?: WebhookRedeliverable | undefined;
  /** Only events of this type. */
  readonly type?: string | undefined;
  /** When the delivery began; when the event was written, which logged requires. */
  readonly created?: DateRange | undefined;
  /** With logged: next of the call before, to continue. */
  readonly after?: string | undefined;
}

/**
 * Whether clients may rehearse failures with the header Rollcall-Rehearse, for tests of apps.
 *
 * - `off`: Such calls are refused. The default.
 * - `on`: They get the requested failure.
 */
export type Rehearsal = "off" | "on";

/** An application in another region. */
export interface RemoteApplication {
  readonly id: string;
  /** The name of the region. */
  readonly region: string;
  /** The base address of its calls. */
  readonly serviceRoot?: string;
  readonly state: RemoteApplicationState | (string & {});
  /** The time of the last change of the state. */
  readonly changed: Date;
}

export interface RemoteApplicationPage {
  readonly pageResults: readonly RemoteApplication[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/**
 * The state of a remote application.
 *
 * - `being made`: It may exist there: the region has not confirmed it.
 * - `there`: It is there.
 * - `handing over`: A move that has not been finished yet.
 */
export type RemoteApplicationState = "being made" | "there" | "handing over";

/** An event, as it was reported. */
export interface ReportedMetricEvent {
  /** Of one that was reported separately. */
  readonly id?: string;
  /** When it happened. */
  readonly timestamp: Date;
  /** When it arrived. */
  readonly received: Date;
  /** A pseudonym. */
  readonly device: string;
  /** A pseudonym. */
  readonly user?: string;
  /** Values by name. */
  readonly values: Readonly<Record<string, string | number | boolean>>;
  /** Of one that was ended. */
  readonly elapsedTimeInMs?: number;
}

export interface ReportedMetricEventPage {
  readonly pageResults: readonly ReportedMetricEvent[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

export interface ResumeWebhookRequest {
  readonly from?: WebhookResumeFrom | undefined;
}

/** The retention of data. */
export interface Retention {
  /** Days. */
  readonly metricsDays?: number;
  /** Days. */
  readonly crashReportsDays?: number;
}

export interface RetireApplicationKeyRequest {
  /** The id of the key, required to retire the last active one. */
  readonly confirm?: string | undefined;
}

export interface RotateWebhookSecretRequest {
  /** The time for which the old secret is valid, too. */
  readonly overlapHours?: number | undefined;
}

/** The new secret of a webhook. */
export interface RotatedWebhookSecret {
  /** Shown only once. */
  readonly secret: string;
  /** When the former secret expires. */
  readonly previousEnds?: Date;
}

/** What searchApplication looks for. */
export interface SearchApplicationQuery {
  /** An id, or how a name begins. */
  readonly q: string;
}

/** What searchDeployment looks for. */
export interface SearchDeploymentQuery {
  /** An id, or how a name begins. */
  readonly q: string;
}

/** An object that a search has found. */
export interface SearchHit {
  /** The id; of a crash the fingerprint, of a metric the key. */
  readonly id: string;
  /** Its name; of an entry of the audit log the action, of a call the operation. */
  readonly title?: string;
  /** Of a user, the first and last name and the address. */
  readonly detail?: string;
  /** In a search of the deployment, the application of the user. */
  readonly appid?: string;
  /** The name of this application. */
  readonly application?: string;
  readonly match: SearchMatch | (string & {});
}

/**
 * The kind of a match.
 *
 * - `id`: Its id, or that of a report of the crash.
 * - `name`: The beginning of its name, its label or its key.
 * - `personName`: The beginning of the first or last name of the user.
 * - `email`: The beginning of the address of the user.
 * - `uniqueId`: The beginning of the uniqueId of the device.
 * - `identity`: The identifier of an identity of the user.
 * - `requestId`: The `request_id` of the call.
 * - `object`: The application has the object of this id.
 */
export type SearchMatch = "id" | "name" | "personName" | "email" | "uniqueId" | "identity" | "requestId" | "object";

/** What searchOperatedBlobs looks for. */
export interface SearchOperatedBlobsQuery {
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** The order of the files. */
  readonly sortOrder?: CreatedSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchOperatedCheckins looks for. */
export interface SearchOperatedCheckinsQuery {
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: CreatedOrDistanceSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchOperatedDevices looks for. */
export interface SearchOperatedDevicesQuery {
  /** Additional members of the result. */
  readonly include?: DeviceInclude | undefined;
  /** The exact value. */
  readonly uniqueId?: string | undefined;
  /** The exact value. */
  readonly platform?: string | undefined;
  /** The exact value. */
  readonly tag?: string | undefined;
  /** The id of an application key. */
  readonly keyId?: string | undefined;
  /** The exact value. */
  readonly appVersion?: string | undefined;
  /** Only devices that have one of the newest 1,000 tokens of this user. */
  readonly userID?: string | undefined;
  /** The time of the creation. */
  readonly created?: DateRange | undefined;
  /** The time of the last change. */
  readonly lastModified?: DateRange | undefined;
  /** The order of the devices. */
  readonly sortOrder?: CreatedSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchOperatedLocations looks for. */
export interface SearchOperatedLocationsQuery {
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: CreatedOrDistanceSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchOperatedPictures looks for. */
export interface SearchOperatedPicturesQuery {
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** The order of the files. */
  readonly sortOrder?: CreatedSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchOperatedUsers looks for. */
export interface SearchOperatedUsersQuery {
  /** Regardless of case and of Unicode form. */
  readonly userName?: string | undefined;
  /** Exact, except for blanks around it. */
  readonly email?: string | undefined;
  /** The beginning of the user name, regardless of case and of Unicode form. */
  readonly userNamePrefix?: string | undefined;
  /** The beginning of the address, in the same case. */
  readonly emailPrefix?: string | undefined;
  /** The beginning of the first name, of the last name, or of both in either order, regardless of the case of A to Z: at most 100 users. */
  readonly name?: string | undefined;
  /** Exact: an identifier in another system. */
  readonly identityProviderID?: string | undefined;
  /** Exact. */
  readonly dateOfBirth?: Date | undefined;
  /** Of dateOfBirth. */
  readonly dobRange?: DateRange | undefined;
  /** Only users who are disabled, or only those who are not. */
  readonly disabled?: boolean | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** The order of the users. */
  readonly sortOrder?: OperatedUserSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchOperatedVideos looks for. */
export interface SearchOperatedVideosQuery {
  /** The id of a user. */
  readonly userID?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** The order of the files. */
  readonly sortOrder?: CreatedSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

export interface SendPasswordResetRequest {
  /** Subject of the mail. */
  readonly subject?: string | undefined;
  /** Text of the mail, with @ResetCode in place of the code. */
  readonly body?: string | undefined;
}

/** A process, as it last reported itself. */
export interface ServerProcess {
  /** The host name. */
  readonly machine: string;
  /** The number of the process on its machine. */
  readonly worker: number;
  /** The version of Rollcall, with the commit if it is known: 0.1.0+3f0d6b0a1b2c. */
  readonly version: string;
  /** When it started. */
  readonly since: Date;
  /** When it last reported itself. */
  readonly heard: Date;
  /** True if that was more than 30 seconds ago. */
  readonly isSilent: boolean;
  /** The share of one processor. */
  readonly cpu: number;
  /** Memory that it holds. */
  readonly memoryBytes: number;
  /** 99 % of its work began at most this late, over a minute. */
  readonly loopDelayMs: number;
  /** Open connections of clients. */
  readonly connections: number;
  /** Requests in progress. */
  readonly requests: number;
  readonly databaseConnections: DatabaseConnections;
  readonly queues: DeploymentQueues;
  readonly jobs: readonly BackgroundJob[];
}

/** The last change of a setting. */
export interface SettingsChange {
  /** The time of the change. */
  readonly at: Date;
  /** The id of the operator, or cli. */
  readonly by: string;
  /** The name of the operator at that time. */
  readonly name?: string;
}

/** How users sign in. */
export interface SignInSettings {
  /** Whether a verified address signs in, too. */
  readonly byEmail?: boolean;
}

/** The users who are signed in on a device. */
export interface SignedInUsers {
  /** The id of the user whose token was used last. */
  readonly id: string;
  /** The name of this user. */
  readonly userName: string;
  /** The number of users; at most 100, then a minimum. */
  readonly users: number;
}

/**
 * The treatment of unsigned requests to an application with a shared secret.
 *
 * - `optional`: They are answered. The default.
 * - `required`: They are refused.
 */
export type SignedRequests = "optional" | "required";

/** A shared secret for signed requests. */
export interface SigningSecret {
  /** Shown only once. */
  readonly secret: string;
}

/**
 * The length of an interval, in UTC.
 *
 * - `minute`: A minute; kept for 48 hours.
 * - `hour`: An hour; kept for 90 days.
 * - `day`: A day; kept for three years.
 */
export type StatisticsInterval = "minute" | "hour" | "day";

/** A change of the application by an operator or a command. */
export interface StatisticsMarker {
  /** When it was made. */
  readonly at: Date;
  /** The name of the operation, as in the audit log. */
  readonly action: string;
  /** The name of the operator. */
  readonly by?: string;
}

/** The activity of an application's clients on a day until an hour. */
export interface StatisticsOfDay {
  /** The number of calls. */
  readonly calls: number;
  /** The number of refused or failed calls. */
  readonly errors: number;
  /** Successful registrations, also of devices that were known. */
  readonly registrations: number;
  /** Distinct devices that made calls. */
  readonly activeDevices: number;
  /** Devices that were not known before. */
  readonly newDevices: number;
  /** Users that were created. */
  readonly newUsers: number;
  /** Users that were created with a password. */
  readonly signUps: number;
  /** Check-ins that were created. */
  readonly checkins: number;
  /** Files that were stored. */
  readonly files: number;
  /** The bytes of these files. */
  readonly bytes: number;
}

/** A number in one interval. */
export interface StatisticsPoint {
  /** The first moment of the interval. */
  readonly time: Date;
  /** A count, or milliseconds. */
  readonly value: number;
}

/** A number over time. */
export interface StatisticsSeries {
  /** The series; calls and latency are several, such as `calls.4xx`. */
  readonly name: string;
  /** One for each interval; latency has none for intervals without calls. */
  readonly points: readonly StatisticsPoint[];
}

/** A device or user to try calls with, which is erased after a day. */
export interface TestCaller {
  /** The id of the device or user. */
  readonly id: string;
  /** The value of the header Authorization is `Service <access token>`. */
  readonly accessToken: string;
  /** When the token expires: after an hour. */
  readonly accessTokenExpires: Date;
}

export interface TestMailSettingsRequest {
  /** The address of the mail. */
  readonly to: string;
}

/** The lifetimes of new tokens. */
export interface TokenLifetimes {
  /** Device tokens, in milliseconds. */
  readonly deviceMs?: number;
  /** User tokens, in milliseconds. */
  readonly userMs?: number;
  /** The time after the login in which a user token can be renewed, in milliseconds: 60000 or more; 0 disables renewal. */
  readonly sessionMs?: number;
  /** Whether the reuse of a superseded user token revokes its session. */
  readonly endOnReuse?: boolean;
}

/** The numbers of a user's objects. */
export interface UserCounts {
  /** At most 1000, then a minimum. */
  readonly tokens: number;
  /** At most 1000, then a minimum. */
  readonly identities: number;
  /** At most 1000, then a minimum. */
  readonly checkins: number;
  /** At most 1000, then a minimum. */
  readonly locations: number;
  /** Pictures, videos and blobs. */
  readonly files: number;
  /** About the user and by the user: at most 1000, then a minimum. */
  readonly metadata: number;
  /** Bytes of these files together. */
  readonly fileBytes: number;
}

/** A receiver of an application's events. */
export interface Webhook {
  readonly id: string;
  /** The URL that receives the events. */
  readonly url: string;
  /** Patterns of the types that are sent. */
  readonly types: readonly string[];
  readonly name?: string;
  readonly format: WebhookFormat | (string & {});
  /** Their names. */
  readonly headers: readonly string[];
  /** Events under way at a time. */
  readonly concurrency: number;
  /** Of an attempt. */
  readonly timeoutMs: number;
  /** Attempts in a second, at most. */
  readonly perSecond: number;
  /** Locations are sent as their owners see them. */
  readonly trueLocations: boolean;
  readonly state: WebhookState | (string & {});
  readonly secrets: readonly WebhookSecret[];
  readonly behind: WebhookBehind;
  /** When an event was accepted. */
  readonly lastSuccess?: Date;
  /** When an attempt failed. */
  readonly lastFailure?: Date;
  readonly created: Date;
  readonly lastModified: Date;
}

/** The undelivered events. */
export interface WebhookBehind {
  /** Of the next 10,000 events of the log, at most 10,000. */
  readonly events: number;
  /** There may be more. */
  readonly isAtLeast?: boolean;
  /** When the oldest of them was written. */
  readonly since?: Date;
}

/** The delivery of an event to a webhook. */
export interface WebhookDelivery {
  readonly id: string;
  /** The receiver knows it as webhook-id. */
  readonly eventID: string;
  /** Of the event. */
  readonly type: string;
  /** Attempts so far. */
  readonly attempt: number;
  readonly state: WebhookDeliveryState | (string & {});
  /** Of the last answer. */
  readonly status?: number;
  /** The duration of the last attempt. */
  readonly ms?: number;
  /** The reason for a missing answer. */
  readonly error?: string;
  /** The first 1,024 characters of the last answer; not for viewers. */
  readonly response?: string;
  readonly created: Date;
  /** The time of the next attempt. */
  readonly nextAttempt?: Date;
}

export interface WebhookDeliveryPage {
  readonly pageResults: readonly WebhookDelivery[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/**
 * The state of a delivery.
 *
 * - `waiting`: It will be attempted.
 * - `delivered`: The receiver has accepted it.
 * - `failed`: The last attempt failed, and another one comes.
 * - `dead`: All attempts failed.
 * - `refused`: The URL leads to an address that webhooks may not reach.
 */
export type WebhookDeliveryState = "waiting" | "delivered" | "failed" | "dead" | "refused";

/**
 * The Content-Type of deliveries.
 *
 * - `standard`: application/json
 * - `cloudevents`: application/cloudevents+json
 */
export type WebhookFormat = "standard" | "cloudevents";

export interface WebhookPage {
  readonly pageResults: readonly Webhook[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/**
 * Deliveries that can be sent again together.
 *
 * - `dead`: All attempts failed.
 * - `failed`: The last attempt failed, and the next one is made at once.
 * - `refused`: The URL led to an address that webhooks may not reach.
 * - `logged`: Every event of the log that was written in the range `created`, also what was never sent to the webhook.
 */
export type WebhookRedeliverable = "dead" | "failed" | "refused" | "logged";

/** The numbers of deliveries to send again. */
export interface WebhookRedelivery {
  /** The number of events, at most 10,000. */
  readonly accepted: number;
  /** With logged, if there may be more events in the range: after of the next call. */
  readonly next?: string;
}

/**
 * The position to continue from.
 *
 * - `stopped`: The position at which the webhook has stopped.
 * - `now`: With the events after the call.
 */
export type WebhookResumeFrom = "stopped" | "now";

/** A secret that signs events, without its value. */
export interface WebhookSecret {
  readonly created: Date;
  /** When it stops signing. */
  readonly ends?: Date;
}

/** Settings for all webhooks of an application. */
export interface WebhookSettings {
  /** The address to which mails about disabled webhooks are sent. */
  readonly mail?: string;
}

/**
 * Whether events are sent.
 *
 * - `active`: They are.
 * - `paused`: An operator has paused it.
 * - `failing`: The receiver does not accept events; one is sent from time to time.
 * - `disabled`: The receiver did not accept events for too long, or is gone.
 */
export type WebhookState = "active" | "paused" | "failing" | "disabled";

/** The outcome of a test event. */
export interface WebhookTest {
  /** Of the answer. */
  readonly status?: number;
  /** Its duration. */
  readonly ms: number;
  /** The first 1,024 characters of the answer. */
  readonly response?: string;
  /** The reason for a missing answer. */
  readonly error?: string;
}

/**
 * List the operators, oldest first
 *
 * All operators of the deployment, with their sessions on request.
 */
export const listOperators: (fields?: ListOperatorsQuery) => Call<OperatorPage> = /* @__PURE__ */ define("listOperators", "GET /_/api/operators", "os");

/**
 * Create an operator
 *
 * Without a password in the call, the answer has one that is shown only once.
 */
export const createOperator: (fields: CreateOperatorRequest) => Call<CreatedOperator> = /* @__PURE__ */ define("createOperator", "POST /_/api/operators", "ops");

/**
 * Read the operator of the token
 *
 * Answers with the name and the role.
 */
export const getOwnOperator: () => Call<Operator> = /* @__PURE__ */ define("getOwnOperator", "GET /_/api/operators/me", "os");

/**
 * Change one's own password; all other sessions end
 *
 * Needs the current password.
 */
export const changeOwnOperator: (fields: ChangeOwnOperatorRequest) => Call<Operator> = /* @__PURE__ */ define("changeOwnOperator", "PATCH /_/api/operators/me", "ops");

/**
 * Read an operator
 *
 * Answers with the name, the role, and the time of the last sign-in.
 */
export const getOperator: (operatorId: string) => Call<Operator> = /* @__PURE__ */ define("getOperator", "GET /_/api/operators/{operatorId}", "os");

/**
 * Change the name, role or password of an operator; a new password ends all sessions of the operator
 *
 * Changes the fields that are sent. The last owner keeps that role.
 */
export const changeOperator: (operatorId: string, fields?: ChangeOperatorRequest) => Call<Operator> = /* @__PURE__ */ define("changeOperator", "PATCH /_/api/operators/{operatorId}", "ops");

/**
 * Delete an operator and end all sessions of the operator
 *
 * The last owner cannot be deleted.
 */
export const deleteOperator: (operatorId: string) => Call<void> = /* @__PURE__ */ define("deleteOperator", "DELETE /_/api/operators/{operatorId}", "ops");

/**
 * List the audit log, newest first
 *
 * Changes by operators, and refusals.
 */
export const listAudit: (fields?: ListAuditQuery) => Call<AuditEntryPage> = /* @__PURE__ */ define("listAudit", "GET /_/api/audit", "os");

/**
 * Count the entries of the audit log by hour or day, and by action
 *
 * Kept counts of past hours, and the entries since, of which at most 5,000 are counted. Other filters of the log have no counts.
 */
export const countAudit: (fields?: CountAuditQuery) => Call<AuditCounts> = /* @__PURE__ */ define("countAudit", "GET /_/api/audit/counts", "os");

/**
 * Export the audit log as CSV, newest first
 *
 * Everything that the filters find, sent while it is read. The export is an entry itself.
 */
export const exportAuditAsCsv: (fields?: ExportAuditAsCsvQuery) => Call<Download> = /* @__PURE__ */ define("exportAuditAsCsv", "GET /_/api/audit.csv", "osb");

/**
 * Export the audit log as JSON, newest first, an entry a line
 *
 * Everything that the filters find, sent while it is read. The export is an entry itself.
 */
export const exportAuditAsNdjson: (fields?: ExportAuditAsNdjsonQuery) => Call<Download> = /* @__PURE__ */ define("exportAuditAsNdjson", "GET /_/api/audit.ndjson", "osb");

/**
 * Find objects by an id or the beginning of a name
 *
 * Up to ten objects of each kind.
 */
export const searchApplication: (appid: string, fields: SearchApplicationQuery) => Call<ApplicationHits> = /* @__PURE__ */ define("searchApplication", "GET /_/api/applications/{appid}/search", "os");

/**
 * Find applications, users, operators and calls by an id or the beginning of a name
 *
 * Up to ten objects of each kind.
 */
export const searchDeployment: (fields: SearchDeploymentQuery) => Call<DeploymentHits> = /* @__PURE__ */ define("searchDeployment", "GET /_/api/search", "os");

/**
 * List the applications
 *
 * Returns the applications of this region, with `include=activity` their activity.
 */
export const listApplications: (fields?: ListApplicationsQuery) => Call<ApplicationPage> = /* @__PURE__ */ define("listApplications", "GET /_/api/applications", "os");

/**
 * Create an application; its key is shown only once
 *
 * Devices register with its id and its key.
 */
export const createApplication: (fields: CreateApplicationRequest) => Call<CreatedApplication> = /* @__PURE__ */ define("createApplication", "POST /_/api/applications", "ops");

/**
 * Read an application
 *
 * Returns its name and state.
 */
export const getApplication: (appid: string) => Call<Application> = /* @__PURE__ */ define("getApplication", "GET /_/api/applications/{appid}", "os");

/**
 * Rename an application
 *
 * Only operators see the name.
 */
export const changeApplication: (appid: string, fields?: ChangeApplicationRequest) => Call<Application> = /* @__PURE__ */ define("changeApplication", "PATCH /_/api/applications/{appid}", "ops");

/**
 * Delete an application with all data: tokens are revoked immediately, rows are erased in the background
 *
 * Requires the id in `confirm`.
 */
export const deleteApplication: (appid: string, fields: DeleteApplicationQuery) => Call<void> = /* @__PURE__ */ define("deleteApplication", "DELETE /_/api/applications/{appid}", "ops");

/**
 * Suspend an application: calls of its clients are refused; their tokens stay valid
 *
 * The suspension lasts until the application is resumed.
 */
export const suspendApplication: (appid: string) => Call<Application> = /* @__PURE__ */ define("suspendApplication", "POST /_/api/applications/{appid}/suspend", "ops");

/**
 * Resume a suspended application
 *
 * Earlier tokens are valid again.
 */
export const resumeApplication: (appid: string) => Call<Application> = /* @__PURE__ */ define("resumeApplication", "POST /_/api/applications/{appid}/resume", "ops");

/**
 * List the keys of an application, oldest first, with the number of devices of each
 *
 * The keys themselves are not shown.
 */
export const listApplicationKeys: (appid: string, fields?: ListApplicationKeysQuery) => Call<ApplicationKeyPage> = /* @__PURE__ */ define("listApplicationKeys", "GET /_/api/applications/{appid}/keys", "os");

/**
 * Create another key of an application, which is shown only once; existing keys stay valid
 *
 * For a new version of an app, or to replace a key before it is retired.
 */
export const createApplicationKey: (appid: string, fields?: CreateApplicationKeyRequest) => Call<CreatedApplicationKey> = /* @__PURE__ */ define("createApplicationKey", "POST /_/api/applications/{appid}/keys", "ops");

/**
 * Change the label of a key
 *
 * The label of a retired key can also be changed.
 */
export const changeApplicationKey: (appid: string, keyId: string, fields: ChangeApplicationKeyRequest) => Call<ChangedApplicationKey> = /* @__PURE__ */ define("changeApplicationKey", "PATCH /_/api/applications/{appid}/keys/{keyId}", "ops");

/**
 * Retire a key: devices can no longer register with it, and its tokens are revoked
 *
 * The last active key requires its id in `confirm`.
 */
export const retireApplicationKey: (appid: string, keyId: string, fields?: RetireApplicationKeyRequest) => Call<ChangedApplicationKey> = /* @__PURE__ */ define("retireApplicationKey", "POST /_/api/applications/{appid}/keys/{keyId}/retire", "ops");

/**
 * Revoke every token issued under a key; devices can register with it again
 *
 * Use it when tokens, but not the key, have leaked.
 */
export const revokeKeyTokens: (appid: string, keyId: string) => Call<void> = /* @__PURE__ */ define("revokeKeyTokens", "POST /_/api/applications/{appid}/keys/{keyId}/revoke-tokens", "ops");

/**
 * Revoke every token of an application; its keys stay valid, so devices can register again
 *
 * Devices must register again, and users must log in again.
 */
export const revokeApplicationTokens: (appid: string) => Call<void> = /* @__PURE__ */ define("revokeApplicationTokens", "POST /_/api/applications/{appid}/revoke-tokens", "ops");

/**
 * Revoke every token and key of an application and create a new key, which is shown only once
 *
 * Use it when a key has leaked: apps need the new one to register.
 */
export const replaceApplicationKeys: (appid: string) => Call<CreatedApplicationKey> = /* @__PURE__ */ define("replaceApplicationKeys", "POST /_/api/applications/{appid}/compromised", "ops");

/**
 * Count the effects of revoking all tokens of an application
 *
 * Counts stop at 1,000. A device is active when its tokens are used.
 */
export const getImpactOfApplication: (appid: string) => Call<Impact> = /* @__PURE__ */ define("getImpactOfApplication", "GET /_/api/applications/{appid}/impact", "os");

/**
 * Count the effects of revoking the tokens of a key
 *
 * Counts stop at 1,000. A device is active when its tokens are used.
 */
export const getImpactOfKey: (appid: string, keyId: string) => Call<Impact> = /* @__PURE__ */ define("getImpactOfKey", "GET /_/api/applications/{appid}/keys/{keyId}/impact", "os");

/**
 * Count the effects of revoking the tokens of a user
 *
 * Counts stop at 1,000. A device is active when its tokens are used.
 */
export const getImpactOfUser: (appid: string, userId: string) => Call<Impact> = /* @__PURE__ */ define("getImpactOfUser", "GET /_/api/applications/{appid}/users/{userId}/impact", "os");

/**
 * Read the settings of an application, without secrets
 *
 * Unset members are absent. The ETag names this version.
 */
export const getApplicationSettings: (appid: string) => Call<ApplicationSettings> = /* @__PURE__ */ define("getApplicationSettings", "GET /_/api/applications/{appid}/settings", "os");

/**
 * Replace all settings of an application
 *
 * Absent members are unset. With If-Match, replaces only the version that it names.
 */
export const putApplicationSettings: (appid: string, fields?: ApplicationSettings) => Call<ApplicationSettings> = /* @__PURE__ */ define("putApplicationSettings", "PUT /_/api/applications/{appid}/settings", "ops");

/**
 * Change some settings of an application, each completely; null unsets a setting
 *
 * Absent members do not change. With If-Match, changes only the version that it names.
 */
export const changeApplicationSettings: (appid: string, fields?: ApplicationSettings) => Call<ApplicationSettings> = /* @__PURE__ */ define("changeApplicationSettings", "PATCH /_/api/applications/{appid}/settings", "ops");

/**
 * Set a new shared secret for signed requests; it is shown only once
 *
 * Without a secret in the call, the server generates one.
 */
export const putSigningSecret: (appid: string, fields?: PutSigningSecretRequest) => Call<SigningSecret> = /* @__PURE__ */ define("putSigningSecret", "PUT /_/api/applications/{appid}/signing-secret", "ops");

/**
 * Remove the shared secret for signed requests
 *
 * Signatures are no longer checked.
 */
export const deleteSigningSecret: (appid: string) => Call<void> = /* @__PURE__ */ define("deleteSigningSecret", "DELETE /_/api/applications/{appid}/signing-secret", "ops");

/**
 * Read the effective settings of an application, their defaults and last changes
 *
 * PUT does not accept this result, but that of GET …/settings.
 */
export const getEffectiveSettings: (appid: string) => Call<EffectiveSettings> = /* @__PURE__ */ define("getEffectiveSettings", "GET /_/api/applications/{appid}/settings/effective", "os");

/**
 * Send a test mail with the stored settings
 *
 * An application can send five an hour. A failed attempt is not repeated.
 */
export const testMailSettings: (appid: string, fields: TestMailSettingsRequest) => Call<MailTestResult> = /* @__PURE__ */ define("testMailSettings", "POST /_/api/applications/{appid}/settings/mail/test", "ops");

/**
 * Fetch the keys of a configured identity provider
 *
 * Fetches its jwksUrl within ten seconds, without following redirects.
 */
export const testOidcProvider: (appid: string, provider: string) => Call<ProviderTestResult> = /* @__PURE__ */ define("testOidcProvider", "POST /_/api/applications/{appid}/settings/oidc/{provider}/test", "ops");

/**
 * List the applications in other regions: in the main region all, in other regions those that moved away
 *
 * Returns each with its region and the state of its move.
 */
export const listApplicationsElsewhere: (fields?: ListApplicationsElsewhereQuery) => Call<RemoteApplicationPage> = /* @__PURE__ */ define("listApplicationsElsewhere", "GET /_/api/applications-elsewhere", "os");

/**
 * Search the users of an application, including fields they do not show to others
 *
 * Finds disabled users and users with celebMode, too.
 */
export const searchOperatedUsers: (appid: string, fields?: SearchOperatedUsersQuery) => Call<OperatedUserPage> = /* @__PURE__ */ define("searchOperatedUsers", "GET /_/api/applications/{appid}/users", "os");

/**
 * Create a user, as a sign-up does, without a token
 *
 * The user logs in with this password.
 */
export const createOperatedUser: (appid: string, fields: CreateOperatedUserRequest) => Call<OperatedUserWithCounts> = /* @__PURE__ */ define("createOperatedUser", "POST /_/api/applications/{appid}/users", "ops");

/**
 * Read a user: the profile, the true location and the number of objects
 *
 * Never with the password.
 */
export const getOperatedUser: (appid: string, userId: string) => Call<OperatedUserWithCounts> = /* @__PURE__ */ define("getOperatedUser", "GET /_/api/applications/{appid}/users/{userId}", "os");

/**
 * Delete a user with all data
 *
 * Needs the id once more in `confirm`. The data is erased in the background.
 */
export const eraseUser: (appid: string, userId: string, fields: EraseUserQuery) => Call<void> = /* @__PURE__ */ define("eraseUser", "DELETE /_/api/applications/{appid}/users/{userId}", "ops");

/**
 * Change names, address or privacy of a user
 *
 * Changes the fields that are sent; an empty text clears a field. Former addresses get a notice.
 */
export const changeOperatedUser: (appid: string, userId: string, fields?: ChangeOperatedUserRequest) => Call<OperatedUserWithCounts> = /* @__PURE__ */ define("changeOperatedUser", "PATCH /_/api/applications/{appid}/users/{userId}", "ops");

/**
 * Disable a user: no login, and no use of existing tokens, until the user is enabled
 *
 * The data stays as it is.
 */
export const disableUser: (appid: string, userId: string) => Call<OperatedUserWithCounts> = /* @__PURE__ */ define("disableUser", "POST /_/api/applications/{appid}/users/{userId}/disable", "ops");

/**
 * Enable a user: logins and existing tokens work again
 *
 * Has no effect on a user who is not disabled.
 */
export const enableUser: (appid: string, userId: string) => Call<OperatedUserWithCounts> = /* @__PURE__ */ define("enableUser", "POST /_/api/applications/{appid}/users/{userId}/enable", "ops");

/**
 * End all tokens of a user, who has to log in again on every device
 *
 * The user has to log in again.
 */
export const endTokensOfUser: (appid: string, userId: string) => Call<void> = /* @__PURE__ */ define("endTokensOfUser", "POST /_/api/applications/{appid}/users/{userId}/revoke-tokens", "ops");

/**
 * Mail a password reset code to a user
 *
 * Without subject and body in the application's own text.
 */
export const sendPasswordReset: (appid: string, userId: string, fields?: SendPasswordResetRequest) => Call<void> = /* @__PURE__ */ define("sendPasswordReset", "POST /_/api/applications/{appid}/users/{userId}/password-reset", "ops");

/**
 * List the active tokens of a user, newest first
 *
 * One entry for each login.
 */
export const listTokensOfUser: (appid: string, userId: string, fields?: ListTokensOfUserQuery) => Call<OperatedTokenPage> = /* @__PURE__ */ define("listTokensOfUser", "GET /_/api/applications/{appid}/users/{userId}/tokens", "os");

/**
 * End one token of a user
 *
 * The user has to log in again on that device.
 */
export const endTokenOfUser: (appid: string, userId: string, tokenId: string) => Call<void> = /* @__PURE__ */ define("endTokenOfUser", "DELETE /_/api/applications/{appid}/users/{userId}/tokens/{tokenId}", "ops");

/**
 * Export a user as a ZIP of JSON and files with a manifest
 *
 * Contains all stored data of the user. The archive is sent while it is written.
 */
export const exportUser: (appid: string, userId: string) => Call<Download> = /* @__PURE__ */ define("exportUser", "POST /_/api/applications/{appid}/users/{userId}/export", "opsb");

/**
 * Export a user, as POST does, for the download of a browser
 *
 * In the audit log it is an entry like that of POST.
 */
export const downloadUser: (appid: string, userId: string) => Call<Download> = /* @__PURE__ */ define("downloadUser", "GET /_/api/applications/{appid}/users/{userId}/export", "osb");

/**
 * List deleted users with data left to erase
 *
 * Clients no longer find this data.
 */
export const listErasures: (appid: string) => Call<Erasures> = /* @__PURE__ */ define("listErasures", "GET /_/api/applications/{appid}/erasures", "os");

/**
 * List the users who have a token on a device
 *
 * The users who are signed in on it, and those whose token has expired a short while ago.
 */
export const listUsersOfDevice: (appid: string, deviceId: string, fields?: ListUsersOfDeviceQuery) => Call<OperatedUserPage> = /* @__PURE__ */ define("listUsersOfDevice", "GET /_/api/applications/{appid}/devices/{deviceId}/users", "os");

/**
 * List the identities of a user in other systems, newest first
 *
 * Those of all providers.
 */
export const listIdentitiesOfUser: (appid: string, userId: string, fields?: ListIdentitiesOfUserQuery) => Call<IdentityPage> = /* @__PURE__ */ define("listIdentitiesOfUser", "GET /_/api/applications/{appid}/users/{userId}/identities", "os");

/**
 * Search the devices of an application
 *
 * Finds devices by the data that they reported, or by the key of their registration.
 */
export const searchOperatedDevices: (appid: string, fields?: SearchOperatedDevicesQuery) => Call<OperatedDevicePage> = /* @__PURE__ */ define("searchOperatedDevices", "GET /_/api/applications/{appid}/devices", "os");

/**
 * Read a device
 *
 * Returns the device with the key of its latest registration.
 */
export const getOperatedDevice: (appid: string, deviceId: string) => Call<OperatedDevice> = /* @__PURE__ */ define("getOperatedDevice", "GET /_/api/applications/{appid}/devices/{deviceId}", "os");

/**
 * List the devices that have a token of a user, newest first
 *
 * Returns the devices on which the user is signed in, and those whose token has expired recently.
 */
export const listDevicesOfUser: (appid: string, userId: string, fields?: ListDevicesOfUserQuery) => Call<OperatedDevicePage> = /* @__PURE__ */ define("listDevicesOfUser", "GET /_/api/applications/{appid}/users/{userId}/devices", "os");

/**
 * Revoke all tokens of a device and of the users on it; it must register again
 *
 * Use it for a lost device.
 */
export const endTokensOfDevice: (appid: string, deviceId: string) => Call<void> = /* @__PURE__ */ define("endTokensOfDevice", "POST /_/api/applications/{appid}/devices/{deviceId}/revoke-tokens", "ops");

/**
 * Search the check-ins of an application, regardless of permissions
 *
 * Finds private objects, too, at their true locations.
 */
export const searchOperatedCheckins: (appid: string, fields?: SearchOperatedCheckinsQuery) => Call<OperatedCheckinPage> = /* @__PURE__ */ define("searchOperatedCheckins", "GET /_/api/applications/{appid}/checkins", "os");

/**
 * Read a check-in
 *
 * With its true location, and the one that others see.
 */
export const getOperatedCheckin: (appid: string, checkinId: string) => Call<OperatedCheckin> = /* @__PURE__ */ define("getOperatedCheckin", "GET /_/api/applications/{appid}/checkins/{checkinId}", "os");

/**
 * Search the locations of an application, regardless of permissions
 *
 * Finds private objects, too, at their true locations.
 */
export const searchOperatedLocations: (appid: string, fields?: SearchOperatedLocationsQuery) => Call<OperatedLocationPage> = /* @__PURE__ */ define("searchOperatedLocations", "GET /_/api/applications/{appid}/locations", "os");

/**
 * Create a public location, readable by every user
 *
 * It belongs to no user, and only operators can change it.
 */
export const createPublicLocation: (appid: string, fields: CreatePublicLocationRequest) => Call<Location> = /* @__PURE__ */ define("createPublicLocation", "POST /_/api/applications/{appid}/locations", "ops");

/**
 * Read a location
 *
 * With its true location, and the one that others see.
 */
export const getOperatedLocation: (appid: string, locationId: string) => Call<OperatedLocation> = /* @__PURE__ */ define("getOperatedLocation", "GET /_/api/applications/{appid}/locations/{locationId}", "os");

/**
 * Change a public location
 *
 * Changes the fields that are sent; an empty text clears a field.
 */
export const changePublicLocation: (appid: string, locationId: string, fields?: ChangePublicLocationRequest) => Call<Location> = /* @__PURE__ */ define("changePublicLocation", "PATCH /_/api/applications/{appid}/locations/{locationId}", "ops");

/**
 * Delete a public location
 *
 * Users do not find it any more.
 */
export const deletePublicLocation: (appid: string, locationId: string) => Call<void> = /* @__PURE__ */ define("deletePublicLocation", "DELETE /_/api/applications/{appid}/locations/{locationId}", "ops");

/**
 * List the flags of locations, newest first
 *
 * Reports of users about locations.
 */
export const listLocationFlags: (appid: string, fields?: ListLocationFlagsQuery) => Call<LocationFlagPage> = /* @__PURE__ */ define("listLocationFlags", "GET /_/api/applications/{appid}/location-flags", "os");

/**
 * Read the number and total size of an application's files
 *
 * With the quotas of the application, if it has some.
 */
export const getFileUsage: (appid: string) => Call<FileUsage> = /* @__PURE__ */ define("getFileUsage", "GET /_/api/applications/{appid}/file-usage", "os");

/**
 * Search the pictures of an application, regardless of permissions
 *
 * Finds private objects, too, at their true locations.
 */
export const searchOperatedPictures: (appid: string, fields?: SearchOperatedPicturesQuery) => Call<OperatedPicturePage> = /* @__PURE__ */ define("searchOperatedPictures", "GET /_/api/applications/{appid}/pictures", "os");

/**
 * Read a picture
 *
 * With its true location, and the one that others see.
 */
export const getOperatedPicture: (appid: string, pictureId: string) => Call<OperatedPicture> = /* @__PURE__ */ define("getOperatedPicture", "GET /_/api/applications/{appid}/pictures/{pictureId}", "os");

/**
 * Read the bytes of a picture
 *
 * In ranges on request. Always the bytes that the owner uploaded. Without `size`, this requires the role editor.
 */
export const readOperatedPictureFile: (appid: string, pictureId: string, fields?: ReadOperatedPictureFileQuery) => Call<Download> = /* @__PURE__ */ define("readOperatedPictureFile", "GET /_/api/applications/{appid}/pictures/{pictureId}/file", "osb");

/**
 * Search the videos of an application, regardless of permissions
 *
 * Finds private objects, too, at their true locations.
 */
export const searchOperatedVideos: (appid: string, fields?: SearchOperatedVideosQuery) => Call<OperatedVideoPage> = /* @__PURE__ */ define("searchOperatedVideos", "GET /_/api/applications/{appid}/videos", "os");

/**
 * Read a video
 *
 * With its true location, and the one that others see.
 */
export const getOperatedVideo: (appid: string, videoId: string) => Call<OperatedVideo> = /* @__PURE__ */ define("getOperatedVideo", "GET /_/api/applications/{appid}/videos/{videoId}", "os");

/**
 * Read the bytes of a video
 *
 * In ranges on request. Always the bytes that the owner uploaded.
 */
export const readOperatedVideoFile: (appid: string, videoId: string) => Call<Download> = /* @__PURE__ */ define("readOperatedVideoFile", "GET /_/api/applications/{appid}/videos/{videoId}/file", "osb");

/**
 * Search the blobs of an application, regardless of permissions
 *
 * Finds private objects, too, at their true locations.
 */
export const searchOperatedBlobs: (appid: string, fields?: SearchOperatedBlobsQuery) => Call<OperatedBlobPage> = /* @__PURE__ */ define("searchOperatedBlobs", "GET /_/api/applications/{appid}/blobs", "os");

/**
 * Read a blob
 *
 * With its true location, and the one that others see.
 */
export const getOperatedBlob: (appid: string, blobId: string) => Call<OperatedBlob> = /* @__PURE__ */ define("getOperatedBlob", "GET /_/api/applications/{appid}/blobs/{blobId}", "os");

/**
 * Read the bytes of a blob
 *
 * In ranges on request. Always the bytes that the owner uploaded.
 */
export const readOperatedBlobFile: (appid: string, blobId: string) => Call<Download> = /* @__PURE__ */ define("readOperatedBlobFile", "GET /_/api/applications/{appid}/blobs/{blobId}/file", "osb");

/**
 * List the recorded events, newest first, or follow the log
 *
 * Reads a part of the log, so a page may be empty and have a nextToken. Only a call with after starts the recording.
 */
export const listOperatedEvents: (appid: string, fields?: ListOperatedEventsQuery) => Call<OperatedEventPage> = /* @__PURE__ */ define("listOperatedEvents", "GET /_/api/applications/{appid}/events", "os");

/**
 * Read an event
 *
 * Returns the event with its current object and the stored deliveries to webhooks.
 */
export const getOperatedEvent: (appid: string, sequence: string) => Call<DeliveredEvent> = /* @__PURE__ */ define("getOperatedEvent", "GET /_/api/applications/{appid}/events/{sequence}", "os");

/**
 * List the metadata of an object by key: shared values first, then those of each user
 *
 * Private values are among them.
 */
export const listOperatedMetadata: (appid: string, objectId: string, fields?: ListOperatedMetadataQuery) => Call<OperatedMetadataItemPage> = /* @__PURE__ */ define("listOperatedMetadata", "GET /_/api/applications/{appid}/metadata/{objectId}", "os");

/**
 * Send the events of an application to a URL, from now on
 *
 * The secret that signs them is shown only once.
 */
export const createWebhook: (appid: string, fields: CreateWebhookRequest) => Call<CreatedWebhook> = /* @__PURE__ */ define("createWebhook", "POST /_/api/applications/{appid}/webhooks", "ops");

/**
 * List the webhooks of an application, oldest first
 *
 * Secrets and the values of headers are not shown.
 */
export const listWebhooks: (appid: string, fields?: ListWebhooksQuery) => Call<WebhookPage> = /* @__PURE__ */ define("listWebhooks", "GET /_/api/applications/{appid}/webhooks", "os");

/**
 * Read a webhook
 *
 * Its secrets and the values of its headers are not shown.
 */
export const getWebhook: (appid: string, webhookId: string) => Call<Webhook> = /* @__PURE__ */ define("getWebhook", "GET /_/api/applications/{appid}/webhooks/{webhookId}", "os");

/**
 * Change a webhook, from the next attempt on
 *
 * The secret stays. Types that are added begin with the events after the call.
 */
export const changeWebhook: (appid: string, webhookId: string, fields?: ChangeWebhookRequest) => Call<Webhook> = /* @__PURE__ */ define("changeWebhook", "PATCH /_/api/applications/{appid}/webhooks/{webhookId}", "ops");

/**
 * Delete a webhook with its deliveries
 *
 * Events that are under way are not waited for.
 */
export const deleteWebhook: (appid: string, webhookId: string) => Call<void> = /* @__PURE__ */ define("deleteWebhook", "DELETE /_/api/applications/{appid}/webhooks/{webhookId}", "ops");

/**
 * Replace the secret of a webhook; the new one is shown only once
 *
 * For some hours events are signed with the old secret, too. A secret from before that ends at once.
 */
export const rotateWebhookSecret: (appid: string, webhookId: string, fields?: RotateWebhookSecretRequest) => Call<RotatedWebhookSecret> = /* @__PURE__ */ define("rotateWebhookSecret", "POST /_/api/applications/{appid}/webhooks/{webhookId}/rotate-secret", "ops");

/**
 * Stop sending events to a webhook
 *
 * They wait as long as the log keeps them.
 */
export const pauseWebhook: (appid: string, webhookId: string) => Call<Webhook> = /* @__PURE__ */ define("pauseWebhook", "POST /_/api/applications/{appid}/webhooks/{webhookId}/pause", "ops");

/**
 * Send events to a webhook again
 *
 * Also to one that is failing or disabled. Deliveries that wait for another attempt are due at once.
 */
export const resumeWebhook: (appid: string, webhookId: string, fields?: ResumeWebhookRequest) => Call<Webhook> = /* @__PURE__ */ define("resumeWebhook", "POST /_/api/applications/{appid}/webhooks/{webhookId}/resume", "ops");

/**
 * List the deliveries of a webhook, newest first
 *
 * Of the successful ones the newest 1,000 are kept.
 */
export const listWebhookDeliveries: (appid: string, webhookId: string, fields?: ListWebhookDeliveriesQuery) => Call<WebhookDeliveryPage> = /* @__PURE__ */ define("listWebhookDeliveries", "GET /_/api/applications/{appid}/webhooks/{webhookId}/deliveries", "os");

/**
 * Send the event of a delivery again
 *
 * Also one that was accepted. Receivers know the event by its id.
 */
export const repeatWebhookDelivery: (appid: string, webhookId: string, deliveryId: string) => Call<WebhookDelivery> = /* @__PURE__ */ define("repeatWebhookDelivery", "POST /_/api/applications/{appid}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver", "ops");

/**
 * Send the events of deliveries again, or those of a range of time, the oldest 10,000
 *
 * Another call takes the next; with logged, it sends next as after.
 */
export const redeliverWebhook: (appid: string, webhookId: string, fields?: RedeliverWebhookRequest) => Call<WebhookRedelivery> = /* @__PURE__ */ define("redeliverWebhook", "POST /_/api/applications/{appid}/webhooks/{webhookId}/redeliver", "ops");

/**
 * Send a test event to a webhook at once
 *
 * Once, in any state of the webhook; six in a minute.
 */
export const testWebhook: (appid: string, webhookId: string) => Call<WebhookTest> = /* @__PURE__ */ define("testWebhook", "POST /_/api/applications/{appid}/webhooks/{webhookId}/test", "ops");

/**
 * List the crashes of an application, one group per bug
 *
 * Reports are grouped by the parts of their stacks that do not change with each build.
 */
export const listCrashGroups: (appid: string, fields?: ListCrashGroupsQuery) => Call<CrashGroupPage> = /* @__PURE__ */ define("listCrashGroups", "GET /_/api/applications/{appid}/crashes", "os");

/**
 * Read one crash of an application
 *
 * Returns the crash as in the list.
 */
export const getCrashGroup: (appid: string, fingerprint: string) => Call<CrashGroup> = /* @__PURE__ */ define("getCrashGroup", "GET /_/api/applications/{appid}/crashes/{fingerprint}", "os");

/**
 * Resolve, ignore or reopen a crash, or write a note about it
 *
 * A later report that meets its conditions reopens a resolved or ignored crash.
 */
export const changeCrashGroup: (appid: string, fingerprint: string, fields?: ChangeCrashGroupRequest) => Call<CrashGroup> = /* @__PURE__ */ define("changeCrashGroup", "PATCH /_/api/applications/{appid}/crashes/{fingerprint}", "ops");

/**
 * Read the reports of one crash by day, and by version of app and system
 *
 * Days are in UTC. Counts are stored as long as reports.
 */
export const readCrashStatistics: (appid: string, fingerprint: string, fields?: ReadCrashStatisticsQuery) => Call<CrashStatistics> = /* @__PURE__ */ define("readCrashStatistics", "GET /_/api/applications/{appid}/crashes/{fingerprint}/statistics", "os");

/**
 * List the stored reports of one crash, newest first
 *
 * Returns each with its stack trace.
 */
export const listCrashReports: (appid: string, fingerprint: string, fields?: ListCrashReportsQuery) => Call<ListedCrashReportPage> = /* @__PURE__ */ define("listCrashReports", "GET /_/api/applications/{appid}/crashes/{fingerprint}/reports", "os");

/**
 * List the metric keys of an application
 *
 * Each with the number of its events, and on request with those of each day.
 */
export const listMetrics: (appid: string, fields?: ListMetricsQuery) => Call<MetricPage> = /* @__PURE__ */ define("listMetrics", "GET /_/api/applications/{appid}/metrics", "os");

/**
 * Read a metric by hour, day, week or month: counts and values
 *
 * One series, or one for each content of the value to group by.
 */
export const readMetric: (appid: string, key: string, fields?: ReadMetricQuery) => Call<MetricSeries> = /* @__PURE__ */ define("readMetric", "GET /_/api/applications/{appid}/metrics/{key}", "os");

/**
 * List the names of the values that events of a key have
 *
 * Of the last 30 days without a range. Texts and booleans can be grouped by.
 */
export const listMetricValues: (appid: string, key: string, fields?: ListMetricValuesQuery) => Call<MetricValueNames> = /* @__PURE__ */ define("listMetricValues", "GET /_/api/applications/{appid}/metrics/{key}/values", "os");

/**
 * List the events of a key as they were reported, the latest first
 *
 * Devices and users are salted hashes.
 */
export const listMetricEvents: (appid: string, key: string, fields?: ListMetricEventsQuery) => Call<ReportedMetricEventPage> = /* @__PURE__ */ define("listMetricEvents", "GET /_/api/applications/{appid}/metrics/{key}/events", "os");

/**
 * Create a device for trying calls
 *
 * Its token is valid for an hour. Beyond 20 test devices, the oldest is deleted.
 */
export const createTestDevice: (appid: string) => Call<TestCaller> = /* @__PURE__ */ define("createTestDevice", "POST /_/api/applications/{appid}/test-devices", "ops");

/**
 * Create a user to try calls with, on a device of its own
 *
 * Has celebMode and no password. The token lives for an hour. Beyond 20 test users, the oldest one ends.
 */
export const createTestUser: (appid: string) => Call<TestCaller> = /* @__PURE__ */ define("createTestUser", "POST /_/api/applications/{appid}/test-users", "ops");

/**
 * Read the activity of an application's clients, by minute, hour or day
 *
 * Calls, latency, errors, registrations, log-ins and more. Processes write their counts once a minute.
 */
export const readApplicationStatistics: (appid: string, fields?: ReadApplicationStatisticsQuery) => Call<ApplicationStatistics> = /* @__PURE__ */ define("readApplicationStatistics", "GET /_/api/applications/{appid}/statistics", "os");

/**
 * Read the totals and the activity of an application, in one answer
 *
 * Totals, today compared with the same weekday before, all statistics of a range, changes and new crashes in it.
 */
export const readApplicationOverview: (appid: string, fields?: ReadApplicationOverviewQuery) => Call<ApplicationOverview> = /* @__PURE__ */ define("readApplicationOverview", "GET /_/api/applications/{appid}/overview", "os");

/**
 * Read the activity of all clients and operators, and the busiest applications
 *
 * The same series as of one application, over all calls, with those that belong to no application.
 */
export const readDeploymentStatistics: (fields?: ReadDeploymentStatisticsQuery) => Call<DeploymentStatistics> = /* @__PURE__ */ define("readDeploymentStatistics", "GET /_/api/statistics", "os");

/**
 * List the calls of an application that this machine answered last
 *
 * For a live log: send the cursor of each answer with the next call. With the `before` of an answer, earlier ones. They are kept in memory, a thousand for each application and process, and 200 refusals.
 */
export const listRequests: (appid: string, fields?: ListRequestsQuery) => Call<RecentRequests> = /* @__PURE__ */ define("listRequests", "GET /_/api/applications/{appid}/requests", "os");

/**
 * Read whether the deployment is well, with its processes, queues, storage and settings
 *
 * Each process reports itself every ten seconds. Secrets of settings are not shown.
 */
export const readDeployment: () => Call<Deployment> = /* @__PURE__ */ define("readDeployment", "GET /_/api/deployment", "os");
