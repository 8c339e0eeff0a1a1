// Written by "npm run docs" from docs/openapi.json.
import type { Source } from "../wire/source.ts";
import type { Box, DateRange, Near, Place } from "../wire/values.ts";

export interface AddIdentityRequest {
  /** The identifier in that system. */
  readonly identityId: string;
}

/** One call of a batch. */
export interface BatchItem {
  /** The key of the response; the index of the item by default. */
  readonly key?: string | undefined;
  /** The verb, such as POST. */
  readonly method: string;
  /** The path, with its query, such as /checkins. */
  readonly path: string;
  /** The parameters of the query or the body, by their names. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  /** The same as the header Idempotency-Key. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * The effect of a failed item on the others.
 *
 * - `independent`: Nothing. The default.
 * - `sequential`: The items after it are not run.
 * - `atomic`: None of the items takes effect: all or nothing, in one transaction.
 */
export type BatchMode = "independent" | "sequential" | "atomic";

/** The response to one item of a batch: its key and its envelope. */
export interface BatchResponse {
  /** The key of the item. */
  readonly key: string;
  readonly status: number;
  readonly result?: unknown;
  /** The name of the error. */
  readonly error?: string;
  /** The number of the error. */
  readonly errorNumber?: number;
  /** An explanation for people. */
  readonly message?: string;
  /** The invalid parameter, if there is exactly one. */
  readonly parameter?: string;
  /** With 429 and 503: the time to wait before the next attempt. */
  readonly retryAfterSeconds?: number;
  /** Identifies the item in the log of the server. */
  readonly request_id: string;
  readonly success: boolean;
}

/** The responses to the items of a batch, in the order of the items. */
export interface BatchResult {
  readonly responses: readonly BatchResponse[];
}

/** A blob of a user. */
export interface Blob {
  /** A name for people. */
  readonly friendlyName?: string;
  readonly id: string;
  readonly userID: string;
  readonly contentType: string;
  /** Absent, as contentHash, for others while the owner has locationFuzzing. */
  readonly contentLength?: number;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly contentHash?: string;
  /** Reads the bytes without a token, for some time. */
  readonly signedUrl: string;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
}

export interface BlobPage {
  readonly pageResults: readonly Blob[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type BlobSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "tag" | "-tag" | "friendlyName" | "-friendlyName" | "distance" | "-distance";

export interface ChangeBlobRequest {
  /** A name for people. */
  readonly friendlyName?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface ChangeCheckinRequest {
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  readonly comment?: string | undefined;
  readonly description?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface ChangeDeviceRequest {
  readonly model?: string | undefined;
  readonly osVersion?: string | undefined;
  readonly appVersion?: string | undefined;
  /** Also accepted as deviceToken. */
  readonly pushToken?: string | undefined;
  /** A free text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  readonly connectionType?: ConnectionType | undefined;
  /** Whether the app is a released version. */
  readonly isProduction?: boolean | undefined;
}

export interface ChangeLocationRequest {
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
  /** true for readPermissions App, where that is not sent. */
  readonly isPublic?: boolean | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface ChangePictureRequest {
  readonly caption?: string | undefined;
  readonly title?: string | undefined;
  /** A text for a watermark, which the app draws. */
  readonly watermark?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface ChangeUserRequest {
  /** Unique regardless of case, Unicode form, blanks and invisible characters. */
  readonly userName?: string | undefined;
  /** The new password. */
  readonly password?: string | undefined;
  /** Required with password. The empty text is a wrong one. */
  readonly currentPassword?: string | undefined;
  readonly email?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly gender?: Gender | undefined;
  readonly dateOfBirth?: Date | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** Of mails: a BCP 47 tag. Any other text is ignored. */
  readonly language?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** Others do not find the user, nor read the profile. */
  readonly celebMode?: boolean | undefined;
  /** Others see the user's locations shifted by about a kilometre. */
  readonly locationFuzzing?: boolean | undefined;
}

export interface ChangeVideoRequest {
  readonly title?: string | undefined;
  /** The encoding of the video, defined by the app. */
  readonly encoding?: string | undefined;
  /** A name for people. */
  readonly friendlyName?: string | undefined;
  /** In bits per second. */
  readonly bitRate?: number | undefined;
  /** The duration. */
  readonly lengthInSeconds?: number | undefined;
  /** The id of a picture. */
  readonly thumbnailID?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

/** A check-in of a user. */
export interface Checkin {
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
}

/** The location of a check-in. */
export interface CheckinLocation {
  /** Degrees north. */
  readonly lat: number;
  /** Degrees east. */
  readonly lng: number;
  /** Of the location that was sent by its id. */
  readonly id?: string;
  /** Of that location, at that time. */
  readonly name?: string;
}

export interface CheckinPage {
  readonly pageResults: readonly Checkin[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type CheckinSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "occurred" | "-occurred" | "comment" | "-comment" | "description" | "-description" | "tag" | "-tag" | "distance" | "-distance";

/**
 * The connection of a device.
 *
 * - `Unknown`: Not known.
 * - `Carrier`: Over a mobile network.
 * - `Wifi`: Over a wireless local network.
 */
export type ConnectionType = "Unknown" | "Carrier" | "Wifi";

/** A crash of the app on a device. */
export interface CrashReport {
  readonly id: string;
  readonly stackTrace: string;
  readonly message?: string;
  readonly methodName?: string;
  readonly location?: Place;
  /** A free text of the app. */
  readonly tag?: string;
  readonly created: Date;
  readonly lastModified: Date;
}

export interface CreateBlobForm extends CreateBlobRequest {
  /** The file. */
  readonly data: Source;
}

export interface CreateBlobRequest {
  /** A name for people. */
  readonly friendlyName?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface CreateCheckinRequest {
  /** A point, or the id of a location. */
  readonly location: Place | string;
  readonly comment?: string | undefined;
  readonly description?: string | undefined;
  /** When it happened; absent if it was created then. */
  readonly occurred?: Date | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface CreateCrashReportRequest {
  readonly stackTrace: string;
  readonly message?: string | undefined;
  readonly methodName?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** A free text of the app. */
  readonly tag?: string | undefined;
}

export interface CreateEventStreamRequest {
  /** A cursor; Last-Event-ID takes precedence. Without either, the stream begins now. */
  readonly after?: string | undefined;
  /** Types such as checkin.created or checkin.*, separated by commas; all by default. */
  readonly types?: string | undefined;
  /** Only events of this owner; me for the caller. */
  readonly userID?: string | undefined;
  /** Only events about this object; me, current, app. */
  readonly objectID?: string | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** Only metadata with this key. */
  readonly key?: string | undefined;
  /** Only metadata whose key begins with this string. */
  readonly keyPrefix?: string | undefined;
  /** Only metadata with this visibility. */
  readonly visibility?: Permission | undefined;
  /** In place of other filters: an event that matches any of these is sent once. */
  readonly subscriptions?: readonly EventSubscription[] | undefined;
  /** The lifetime of the url. */
  readonly expiresInSeconds?: number | undefined;
}

export interface CreateLocationRequest {
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
  /** true for readPermissions App, where that is not sent. */
  readonly isPublic?: boolean | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface CreateMetricEventRequest {
  /** The value with the name `value`; an object is taken as `values`. */
  readonly value?: string | number | boolean | undefined;
  /** Values by name. */
  readonly values?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** When it happened; now by default. */
  readonly timestamp?: Date | undefined;
  /** Makes it a timed event, to be ended within this time. */
  readonly timeoutInSeconds?: number | undefined;
}

export interface CreateMetricEventsRequest {
  /** The events, in any order. */
  readonly events: readonly MetricEvent[];
  /** The time of the device's clock when it sent this. */
  readonly sentAt?: Date | undefined;
}

export interface CreatePictureForm extends CreatePictureRequest {
  /** The file. */
  readonly data: Source;
}

export interface CreatePictureRequest {
  readonly caption?: string | undefined;
  readonly title?: string | undefined;
  /** A text for a watermark, which the app draws. */
  readonly watermark?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

export interface CreateUserRequest {
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
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
}

export interface CreateVideoForm extends CreateVideoRequest {
  /** The file. */
  readonly data: Source;
}

export interface CreateVideoRequest {
  readonly title?: string | undefined;
  /** The encoding of the video, defined by the app. */
  readonly encoding?: string | undefined;
  /** A name for people. */
  readonly friendlyName?: string | undefined;
  /** In bits per second. */
  readonly bitRate?: number | undefined;
  /** The duration. */
  readonly lengthInSeconds?: number | undefined;
  /** The id of a picture. */
  readonly thumbnailID?: string | undefined;
  /** Any text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  /** The users who may read it; only the owner if absent. */
  readonly readPermissions?: Permission | undefined;
  /** The users who may change it; only the owner if absent. App needs readPermissions App. */
  readonly writePermissions?: Permission | undefined;
}

/** A reported event. */
export interface CreatedMetricEvent {
  /** Ends a timed event. */
  readonly id: string;
  readonly success: boolean;
}

/** The outcome of reported events. */
export interface CreatedMetricEvents {
  /** The number of stored events. */
  readonly accepted: number;
  readonly rejected: readonly RejectedMetricEvent[];
}

/** What deleteIdentities looks for. */
export interface DeleteIdentitiesQuery {
  /** Without one, all of the provider. */
  readonly identityId?: string | undefined;
}

/** What deleteMetadata looks for. */
export interface DeleteMetadataQuery {
  /** User: the caller's own, needs a user token. App: shared. */
  readonly visibility?: Permission | undefined;
}

/** A device, as its app reported it. */
export interface Device {
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
}

/** The result of a registration. */
export interface DeviceRegistration {
  /** Device access token, opaque. */
  readonly accessToken: string;
  readonly accessTokenExpires: Date;
  /** The base address of all other calls, if the application is in a remote region. */
  readonly serviceRoot?: string;
  /** Proves that the server has the shared secret of the application, if there is one. */
  readonly serverSignature?: string;
}

/** A new token of the device. */
export interface DeviceToken {
  /** Device access token, opaque. */
  readonly accessToken: string;
  readonly accessTokenExpires: Date;
}

/** The duration of a timed event. */
export interface EndedMetricEvent {
  /** The time between the report of the event and its end. */
  readonly elapsedTimeInMs: number;
}

/** A change, as the caller may see it. */
export interface Event {
  /** The id of the event, the same in every answer. */
  readonly id: string;
  /** The type, such as checkin.created. */
  readonly type: string;
  readonly created: Date;
  /** The id of the object; of metadata, of the object that carries the key. */
  readonly objectID: string;
  /** The owner. */
  readonly userID?: string;
  /** The key of metadata; of identities, the provider. */
  readonly key?: string;
  readonly visibility?: Permission | (string & {});
  /** The names of changed fields. */
  readonly changed?: readonly string[];
  /** The current result of GET. */
  readonly object?: unknown;
  /** The object is larger than 32 KiB. */
  readonly isTooLarge?: boolean;
}

/** Events in the order of the log. */
export interface EventPage {
  readonly pageResults: readonly Event[];
  /** The position to continue from. */
  readonly currentToken: string;
  /** The same token, if more events follow. */
  readonly nextToken?: string;
  /** Events are missing: read all data again, then continue from currentToken. */
  readonly isReset?: boolean;
}

/** A url that opens streams, for clients that cannot send headers. */
export interface EventStreamUrl {
  /** A secret: it opens streams without a token. */
  readonly url: string;
  /** The time at which it expires, unless the session of the token ends earlier. */
  readonly expires: Date;
}

/** Conditions that all have to hold. */
export interface EventSubscription {
  /** Types such as checkin.created or checkin.*, separated by commas; all by default. */
  readonly types?: string | undefined;
  /** Only events of this owner; me for the caller. */
  readonly userID?: string | undefined;
  /** Only events about this object; me, current, app. */
  readonly objectID?: string | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** Only metadata with this key. */
  readonly key?: string | undefined;
  /** Only metadata whose key begins with this string. */
  readonly keyPrefix?: string | undefined;
  /** Only metadata with this visibility. */
  readonly visibility?: Permission | undefined;
}

export interface FlagLocationRequest {
  /** The problem. */
  readonly flagReason?: string | undefined;
  readonly comment?: string | undefined;
}

/**
 * The gender of a user. Requests may send its number instead.
 *
 * - `Unknown`: 0: not known.
 * - `Male`: 1: male.
 * - `Female`: 2: female.
 */
export type Gender = "Unknown" | "Male" | "Female";

/** What getMetadata looks for. */
export interface GetMetadataQuery {
  /** User: the caller's own, needs a user token. App: shared. */
  readonly visibility?: Permission | undefined;
}

/** What getProfilePicture looks for. */
export interface GetProfilePictureQuery {
  /** Scaled to fit <n> or <w>,<h> pixels, and never up. */
  readonly size?: string | undefined;
}

/** An identity of a user in another system. */
export interface Identity {
  /** The name of the other system. */
  readonly identityProviderName: string;
  /** The identifier in that system. */
  readonly identityProviderID: string;
  readonly created: Date;
}

export interface IdentityPage {
  readonly pageResults: readonly Identity[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

export interface IncrementMetadataRequest {
  /** The number to add. */
  readonly delta?: number | undefined;
  /** User: the caller's own, needs a user token. App: shared. */
  readonly visibility?: Permission | undefined;
}

/** What listEvents looks for. */
export interface ListEventsQuery {
  /** A currentToken; without it, the page has no events and the current token. */
  readonly after?: string | undefined;
  /** Types such as checkin.created or checkin.*, separated by commas; all by default. */
  readonly types?: string | undefined;
  /** Only events of this owner; me for the caller. */
  readonly userID?: string | undefined;
  /** Only events about this object; me, current, app. */
  readonly objectID?: string | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** Only metadata with this key. */
  readonly key?: string | undefined;
  /** Only metadata whose key begins with this string. */
  readonly keyPrefix?: string | undefined;
  /** Only metadata with this visibility. */
  readonly visibility?: Permission | undefined;
  /** The number of events. */
  readonly pageSize?: number | undefined;
  /** The time to wait for an event. */
  readonly waitSeconds?: number | undefined;
}

/** What listIdentitiesOfProvider looks for. */
export interface ListIdentitiesOfProviderQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listIdentities looks for. */
export interface ListIdentitiesQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What listTokens looks for. */
export interface ListTokensQuery {
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** A place that users can find and check in at. */
export interface Location {
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
}

export interface LocationPage {
  readonly pageResults: readonly Location[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type LocationSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "tag" | "-tag" | "name" | "-name" | "address1" | "-address1" | "address2" | "-address2" | "city" | "-city" | "region" | "-region" | "country" | "-country" | "postalCode" | "-postalCode" | "phone" | "-phone" | "fax" | "-fax" | "website" | "-website" | "category" | "-category" | "distance" | "-distance";

export interface LoginSocialUserRequest {
  /** As in the settings of the application. */
  readonly identityProviderName: string;
  /** The subject (sub) of the id_token. */
  readonly identityID: string;
  /** An OpenID Connect id_token. */
  readonly identityAccessToken: string;
}

export interface LoginUserRequest {
  /** In any case. */
  readonly userName: string;
  /** The empty text is a wrong password. */
  readonly password: string;
}

/** The value of a key of an object. */
export interface MetadataItem {
  /** The key of the value. */
  readonly key: string;
  /** The JSON that was put. */
  readonly value: unknown;
  readonly visibility: Permission | (string & {});
  readonly location?: Place;
  readonly created: Date;
  readonly lastModified: Date;
}

export interface MetadataItemPage {
  readonly pageResults: readonly MetadataItem[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type MetadataSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "key" | "-key" | "distance" | "-distance";

/** An event to report. */
export interface MetricEvent {
  /** The type of the event. */
  readonly key: string;
  /** The value with the name `value`; an object is taken as `values`. */
  readonly value?: string | number | boolean | undefined;
  /** Values by name. */
  readonly values?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** When it happened; now by default. */
  readonly timestamp?: Date | undefined;
}

/** A user, as the user sees it. */
export interface OwnUser {
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
}

/**
 * The users with a permission.
 *
 * - `User`: Only the user.
 * - `App`: Every user of the application.
 */
export type Permission = "User" | "App";

/** A picture of a user. */
export interface Picture {
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
  /** Reads the bytes without a token, for some time. */
  readonly signedUrl: string;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
}

export interface PicturePage {
  readonly pageResults: readonly Picture[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** The size of a picture in pixels. */
export interface PictureSize {
  /** Width. */
  readonly w: number;
  /** Height. */
  readonly h: number;
}

/** Ascending, with `-` descending. */
export type PictureSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "tag" | "-tag" | "caption" | "-caption" | "title" | "-title" | "watermark" | "-watermark" | "distance" | "-distance";

export interface PutManyMetadataRequest {
  /** Values by key; a null is a value here. */
  readonly values: Readonly<Record<string, unknown>>;
  /** User: the caller's own, needs a user token. App: shared. */
  readonly visibility?: Permission | undefined;
}

export interface PutMetadataRequest {
  /** Any JSON except null, up to 32 KiB. */
  readonly value: unknown;
  /** User: the caller's own, needs a user token. App: shared. */
  readonly visibility?: Permission | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
}

/** What readPictureFile looks for. */
export interface ReadPictureFileQuery {
  /** Scaled to fit <n> or <w>,<h> pixels, and never up. */
  readonly size?: string | undefined;
}

/** What readProfilePictureFile looks for. */
export interface ReadProfilePictureFileQuery {
  /** Scaled to fit <n> or <w>,<h> pixels, and never up. */
  readonly size?: string | undefined;
}

export interface RegisterDeviceRequest {
  /** Application id. */
  readonly appid: string;
  /** Application key. */
  readonly appkey: string;
  /** Client platform name. */
  readonly platform: string;
  /** A random unique value, which identifies the device when it registers again. */
  readonly uniqueId?: string | undefined;
  readonly model?: string | undefined;
  readonly osVersion?: string | undefined;
  readonly appVersion?: string | undefined;
  /** Also accepted as deviceToken. */
  readonly pushToken?: string | undefined;
  /** A free text of the app. */
  readonly tag?: string | undefined;
  /** A point, or the id of a location. */
  readonly location?: Place | string | undefined;
  readonly connectionType?: ConnectionType | undefined;
  /** Whether the app is a released version. */
  readonly isProduction?: boolean | undefined;
}

/** An event that was not accepted, and why. */
export interface RejectedMetricEvent {
  /** Of the event in the call, from 0. */
  readonly index: number;
  /** The name of the error. */
  readonly error: string;
  /** Explains the error to people. */
  readonly message: string;
}

/** The successor of a user token. */
export interface RenewedToken {
  /** User access token, opaque. */
  readonly accessToken: string;
  readonly accessTokenExpires: Date;
}

export interface RequestEmailCodeRequest {
  /** The address to verify; the present one if it is absent. */
  readonly email?: string | undefined;
  /** Subject of the mail. */
  readonly subject?: string | undefined;
  /** Text of the mail, with @VerifyCode in place of the code. */
  readonly body?: string | undefined;
}

export interface RequestPasswordResetRequest {
  /** The name of the user, in any case. */
  readonly userName: string;
  /** Subject of the mail. */
  readonly subject: string;
  /** Text of the mail, with @ResetCode in place of the code. */
  readonly body: string;
}

export interface ResetPasswordRequest {
  /** The name of the user, in any case. */
  readonly userName: string;
  /** The mailed code, in any case, with or without blanks and dashes. */
  readonly resetCode: string;
  /** The new password. */
  readonly newPassword: string;
}

export interface RunBatchRequest {
  /** The calls; also a string that holds the array, with double or single quotes. */
  readonly requests: readonly BatchItem[];
  readonly mode?: BatchMode | undefined;
  /** A later item may use the result of an earlier one: {{key.result.id}} in its path or in a string of its parameters. */
  readonly references?: boolean | undefined;
}

/** What searchBlobs looks for. */
export interface SearchBlobsQuery {
  /** Only objects with this friendlyName. */
  readonly friendlyName?: string | undefined;
  /** Only files of this user; me for one's own. */
  readonly userID?: string | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: BlobSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchCheckins looks for. */
export interface SearchCheckinsQuery {
  /** Only check-ins of this user; me for one's own. */
  readonly userID?: string | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** Only objects with this comment. */
  readonly comment?: string | undefined;
  /** Only objects with this description. */
  readonly description?: string | undefined;
  /** Only objects with this occurred. */
  readonly occurred?: DateRange | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: CheckinSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchLocations looks for. */
export interface SearchLocationsQuery {
  /** Only objects with this name. */
  readonly name?: string | undefined;
  /** Only objects with this address1. */
  readonly address1?: string | undefined;
  /** Only objects with this address2. */
  readonly address2?: string | undefined;
  /** Only objects with this city. */
  readonly city?: string | undefined;
  /** Only objects with this region. */
  readonly region?: string | undefined;
  /** Only objects with this country. */
  readonly country?: string | undefined;
  /** Only objects with this postalCode. */
  readonly postalCode?: string | undefined;
  /** Only objects with this phone. */
  readonly phone?: string | undefined;
  /** Only objects with this fax. */
  readonly fax?: string | undefined;
  /** Only objects with this website. */
  readonly website?: string | undefined;
  /** Only objects with this category. */
  readonly category?: string | undefined;
  /** Only locations of this user; me for one's own. */
  readonly userID?: string | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: LocationSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchMetadata looks for. */
export interface SearchMetadataQuery {
  /** Only this key. */
  readonly key?: string | undefined;
  /** Only keys that begin with this text. */
  readonly keyPrefix?: string | undefined;
  /** User: the caller's own, needs a user token. App: shared. */
  readonly visibility?: Permission | undefined;
  /** Only items whose value is this text, number, true or false. */
  readonly value?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: MetadataSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchPictures looks for. */
export interface SearchPicturesQuery {
  /** Only objects with this caption. */
  readonly caption?: string | undefined;
  /** Only objects with this title. */
  readonly title?: string | undefined;
  /** Only objects with this watermark. */
  readonly watermark?: string | undefined;
  /** Only files of this user; me for one's own. */
  readonly userID?: string | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: PictureSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchUsers looks for. */
export interface SearchUsersQuery {
  /** Regardless of case and of Unicode form. */
  readonly userName?: string | undefined;
  /** Exact, except for blanks around it. */
  readonly email?: string | undefined;
  /** Exact. */
  readonly firstName?: string | undefined;
  /** Exact. */
  readonly lastName?: string | undefined;
  /** Exact. */
  readonly gender?: Gender | undefined;
  /** Finds only the caller: others cannot see it. */
  readonly dateOfBirth?: Date | undefined;
  /** Of dateOfBirth. Finds only the caller. */
  readonly dobRange?: DateRange | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: UserSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

/** What searchVideos looks for. */
export interface SearchVideosQuery {
  /** Only objects with this title. */
  readonly title?: string | undefined;
  /** Only objects with this encoding. */
  readonly encoding?: string | undefined;
  /** Only objects with this friendlyName. */
  readonly friendlyName?: string | undefined;
  /** Only objects with this bitRate. */
  readonly bitRate?: number | undefined;
  /** Only objects with this lengthInSeconds. */
  readonly lengthInSeconds?: number | undefined;
  /** Only objects with this thumbnailID. */
  readonly thumbnailID?: string | undefined;
  /** Only files of this user; me for one's own. */
  readonly userID?: string | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** When it was created. */
  readonly created?: DateRange | undefined;
  /** When it was changed last. */
  readonly lastModified?: DateRange | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** The order of the results. distance needs a locationRange. */
  readonly sortOrder?: VideoSortOrder | undefined;
  /** The number of objects on the page. */
  readonly pageSize?: number | undefined;
  /** A token of an earlier page, which restores filters and order; or <pageSize>;<offset>. */
  readonly pagingToken?: string | undefined;
}

export interface SetProfilePictureForm extends SetProfilePictureRequest {
  /** The file. */
  readonly data: Source;
}

export interface SetProfilePictureRequest {
  readonly caption?: string | undefined;
  readonly title?: string | undefined;
}

/** A user, as other users of the application see it: without most of the optional fields. */
export interface ShownUser {
  readonly id: string;
  /** Unique in the application. */
  readonly userName: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly gender?: Gender | (string & {});
  readonly dateOfBirth?: Date;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The id of the profile picture. */
  readonly profilePictureID?: string;
  /** Reads its bytes without a token, for some time. */
  readonly profilePictureUrl?: string;
  /** Whether others neither find the user nor read the profile. */
  readonly celebMode?: boolean;
  /** Whether others see the user's locations shifted by about a kilometre. */
  readonly locationFuzzing?: boolean;
  readonly lastLogin?: Date;
  readonly created: Date;
  readonly lastModified?: Date;
}

export interface ShownUserPage {
  readonly pageResults: readonly ShownUser[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A user who logged in with an identity provider, and a new token of the user. */
export interface SocialUserWithToken {
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
  /** User access token, opaque. */
  readonly accessToken: string;
  readonly accessTokenExpires: Date;
  /** True when this login created the user. */
  readonly isNew: boolean;
}

/** What streamEvents looks for. */
export interface StreamEventsQuery {
  /** A cursor; Last-Event-ID takes precedence. Without either, the stream begins now. */
  readonly after?: string | undefined;
  /** Types such as checkin.created or checkin.*, separated by commas; all by default. */
  readonly types?: string | undefined;
  /** Only events of this owner; me for the caller. */
  readonly userID?: string | undefined;
  /** Only events about this object; me, current, app. */
  readonly objectID?: string | undefined;
  /** Within a circle. */
  readonly near?: Near | undefined;
  /** Within a box. */
  readonly box?: Box | undefined;
  /** Only objects with this tag. */
  readonly tag?: string | undefined;
  /** Only metadata with this key. */
  readonly key?: string | undefined;
  /** Only metadata whose key begins with this string. */
  readonly keyPrefix?: string | undefined;
  /** Only metadata with this visibility. */
  readonly visibility?: Permission | undefined;
  /** In place of other filters: an event that matches any of these is sent once. */
  readonly subscriptions?: readonly EventSubscription[] | undefined;
  /** In place of a token: the ticket in a url of createEventStream. */
  readonly ticket?: string | undefined;
}

/** Ascending, with `-` descending. */
export type UserSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "userName" | "-userName" | "firstName" | "-firstName" | "lastName" | "-lastName" | "gender" | "-gender" | "distance" | "-distance";

/** An active token of a user. */
export interface UserToken {
  readonly id: string;
  readonly deviceID: string;
  readonly platform: string;
  readonly created: Date;
  readonly lastUsed: Date;
  readonly expires: Date;
  /** Whether the call was made with it. */
  readonly current: boolean;
}

export interface UserTokenPage {
  readonly pageResults: readonly UserToken[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** A user, and a new token of the user. */
export interface UserWithToken {
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
  /** User access token, opaque. */
  readonly accessToken: string;
  readonly accessTokenExpires: Date;
}

export interface VerifyEmailRequest {
  /** The mailed code, in any case, with or without blanks and dashes. */
  readonly verifyCode: string;
  /** Makes another address receive reset codes immediately. */
  readonly currentPassword?: string | undefined;
}

/** A video of a user. */
export interface Video {
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
  /** Reads the bytes without a token, for some time. */
  readonly signedUrl: string;
  /** Any text of the app. */
  readonly tag?: string;
  readonly location?: Place;
  /** The users who may read it. */
  readonly readPermissions?: Permission | (string & {});
  /** The users who may change it. */
  readonly writePermissions?: Permission | (string & {});
  readonly created: Date;
  readonly lastModified: Date;
}

export interface VideoPage {
  readonly pageResults: readonly Video[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Ascending, with `-` descending. */
export type VideoSortOrder = "created" | "-created" | "lastModified" | "-lastModified" | "tag" | "-tag" | "title" | "-title" | "encoding" | "-encoding" | "friendlyName" | "-friendlyName" | "bitRate" | "-bitRate" | "lengthInSeconds" | "-lengthInSeconds" | "thumbnailID" | "-thumbnailID" | "distance" | "-distance";
