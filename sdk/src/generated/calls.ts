// Written by "npm run docs" from docs/openapi.json.
import type { BatchableCall, Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { Download } from "../wire/download.ts";
import type { AddIdentityRequest, BatchResult, Blob, BlobPage, ChangeBlobRequest, ChangeCheckinRequest, ChangeDeviceRequest, ChangeLocationRequest, ChangePictureRequest, ChangeUserRequest, ChangeVideoRequest, Checkin, CheckinPage, CrashReport, CreateBlobForm, CreateCheckinRequest, CreateCrashReportRequest, CreateEventStreamRequest, CreateLocationRequest, CreateMetricEventRequest, CreateMetricEventsRequest, CreatePictureForm, CreateUserRequest, CreateVideoForm, CreatedMetricEvent, CreatedMetricEvents, DeleteIdentitiesQuery, DeleteMetadataQuery, Device, DeviceRegistration, DeviceToken, EndedMetricEvent, EventPage, EventStreamUrl, FlagLocationRequest, GetMetadataQuery, GetProfilePictureQuery, IdentityPage, IncrementMetadataRequest, ListEventsQuery, ListIdentitiesOfProviderQuery, ListIdentitiesQuery, ListTokensQuery, Location, LocationPage, LoginSocialUserRequest, LoginUserRequest, MetadataItem, MetadataItemPage, OwnUser, Picture, PicturePage, PutManyMetadataRequest, PutMetadataRequest, ReadPictureFileQuery, ReadProfilePictureFileQuery, RegisterDeviceRequest, RenewedToken, RequestEmailCodeRequest, RequestPasswordResetRequest, ResetPasswordRequest, RunBatchRequest, SearchBlobsQuery, SearchCheckinsQuery, SearchLocationsQuery, SearchMetadataQuery, SearchPicturesQuery, SearchUsersQuery, SearchVideosQuery, SetProfilePictureForm, ShownUser, ShownUserPage, SocialUserWithToken, StreamEventsQuery, UserTokenPage, UserWithToken, VerifyEmailRequest, Video, VideoPage } from "./types.ts";

/**
 * Register a device
 *
 * Takes the application's credentials and data about the device. Another registration with the same uniqueId returns a new token of the same device.
 */
export const registerDevice: (fields: RegisterDeviceRequest) => BatchableCall<DeviceRegistration> = /* @__PURE__ */ define("registerDevice", "POST /devices", "apr");

/**
 * Read the device of the token
 *
 * Returns all data that the app has reported, the push token only to the token that set it.
 */
export const getDevice: () => BatchableCall<Device> = /* @__PURE__ */ define("getDevice", "GET /devices/current", "d");

/**
 * Change the device of the token
 *
 * Changes the fields that are sent; an empty string clears a field.
 */
export const changeDevice: (fields?: ChangeDeviceRequest) => BatchableCall<Device> = /* @__PURE__ */ define("changeDevice", "PATCH /devices/current", "d");

/**
 * Report a crash of the app on the device of the token
 *
 * Stores the report. Operators see it grouped with other reports of the same bug.
 */
export const createCrashReport: (fields: CreateCrashReportRequest) => BatchableCall<CrashReport> = /* @__PURE__ */ define("createCrashReport", "POST /devices/current/crashreports", "d");

/**
 * Create a user
 *
 * Creates a user with a name that is unique in the application, and signs the user in on this device.
 */
export const createUser: (fields: CreateUserRequest) => BatchableCall<UserWithToken> = /* @__PURE__ */ define("createUser", "POST /users", "d");

/**
 * Search the users of the application
 *
 * Finds users by the fields that they show to others. Only users themselves find their account with celebMode.
 */
export const searchUsers: (fields?: SearchUsersQuery) => BatchableCall<ShownUserPage> = /* @__PURE__ */ define("searchUsers", "GET /users");

/**
 * Log out: end this user token
 *
 * Ends the user token of the call at once, and answers with a new device token.
 */
export const logoutUser: () => BatchableCall<DeviceToken> = /* @__PURE__ */ define("logoutUser", "POST /users/me/logout");

/**
 * Renew this user token: get its successor
 *
 * Returns the same successor as long as the token is valid. The token stays valid for some minutes after the first use of the successor.
 */
export const renewToken: () => BatchableCall<RenewedToken> = /* @__PURE__ */ define("renewToken", "POST /users/me/tokens");

/**
 * List the active tokens of the current user, newest first
 *
 * One entry for each login.
 */
export const listTokens: (fields?: ListTokensQuery) => BatchableCall<UserTokenPage> = /* @__PURE__ */ define("listTokens", "GET /users/me/tokens");

/**
 * End one token of the current user
 *
 * Calls with that token are refused from now on; its device has to log in again.
 */
export const endToken: (tokenId: string) => BatchableCall<void> = /* @__PURE__ */ define("endToken", "DELETE /users/me/tokens/{tokenId}");

/**
 * Log in a user
 *
 * Answers with the profile and a new user token for this device. After too many wrong passwords, attempts are RateLimitExceeded.
 */
export const loginUser: (fields: LoginUserRequest) => BatchableCall<UserWithToken> = /* @__PURE__ */ define("loginUser", "POST /users/login", "d");

/**
 * Mail a password reset code to a user; the response is the same if no such user exists
 *
 * Mails a code to the address of the user, if there is one.
 */
export const requestPasswordReset: (fields: RequestPasswordResetRequest) => BatchableCall<void> = /* @__PURE__ */ define("requestPasswordReset", "POST /users/password", "d");

/**
 * Set a new password with a mailed code; every token of the user ends
 *
 * Takes the code of the mail. Each code works once and for a limited time.
 */
export const resetPassword: (fields: ResetPasswordRequest) => BatchableCall<void> = /* @__PURE__ */ define("resetPassword", "PATCH /users/password", "d");

/**
 * Mail a code to an address, to verify it or to change to it
 *
 * Mails at most one code a minute to the same address, and five an hour.
 */
export const requestEmailCode: (fields?: RequestEmailCodeRequest) => BatchableCall<void> = /* @__PURE__ */ define("requestEmailCode", "POST /users/me/email");

/**
 * Verify the address that a mailed code went to; it becomes the user's address
 *
 * An address is verified by one user of the application at a time.
 */
export const verifyEmail: (fields: VerifyEmailRequest) => BatchableCall<void> = /* @__PURE__ */ define("verifyEmail", "PATCH /users/me/email");

/**
 * Log in with an OpenID Connect id_token; the first login creates the user
 *
 * Checks the id_token with the keys of the provider in the application's settings.
 */
export const loginSocialUser: (fields: LoginSocialUserRequest) => BatchableCall<SocialUserWithToken> = /* @__PURE__ */ define("loginSocialUser", "POST /users/login/social", "d");

/**
 * Read one's own profile
 *
 * Answers with all fields, also those that others do not see.
 */
export const getOwnUser: () => BatchableCall<OwnUser> = /* @__PURE__ */ define("getOwnUser", "GET /users/me");

/**
 * Read a user's profile; users see all fields of their own
 *
 * Others see the name, the shared profile picture and the date of creation.
 */
export const getUser: (userId: string) => BatchableCall<ShownUser> = /* @__PURE__ */ define("getUser", "GET /users/{userId}");

/**
 * Change one's own profile, settings or password
 *
 * Changes the fields that are sent; an empty text clears a field. A new password needs currentPassword and ends the user's other tokens.
 */
export const changeUser: (userId: string, fields?: ChangeUserRequest) => BatchableCall<OwnUser> = /* @__PURE__ */ define("changeUser", "PATCH /users/{userId}");

/**
 * Delete the current user with all data
 *
 * Ends every token of the user at once. The data is invisible from then on, and erased in the background.
 */
export const deleteUser: (userId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteUser", "DELETE /users/{userId}");

/**
 * Add an identity to the current user
 *
 * Links the user to an identifier in another system, which only one user of the application can have.
 */
export const addIdentity: (identityProviderName: string, fields: AddIdentityRequest) => BatchableCall<number> = /* @__PURE__ */ define("addIdentity", "POST /users/me/identities/{identityProviderName}");

/**
 * List the current user's identities of one provider
 *
 * Newest first.
 */
export const listIdentitiesOfProvider: (identityProviderName: string, fields?: ListIdentitiesOfProviderQuery) => BatchableCall<IdentityPage> = /* @__PURE__ */ define("listIdentitiesOfProvider", "GET /users/me/identities/{identityProviderName}");

/**
 * Remove one or all identities of a provider from the current user
 *
 * Removes one identity if identityId is sent, and all of the provider otherwise.
 */
export const deleteIdentities: (identityProviderName: string, fields?: DeleteIdentitiesQuery) => BatchableCall<void> = /* @__PURE__ */ define("deleteIdentities", "DELETE /users/me/identities/{identityProviderName}");

/**
 * List the current user's identities, newest first
 *
 * Identities of all providers.
 */
export const listIdentities: (fields?: ListIdentitiesQuery) => BatchableCall<IdentityPage> = /* @__PURE__ */ define("listIdentities", "GET /users/me/identities");

/**
 * Remove an identity from the current user
 *
 * Afterwards another user can have it.
 */
export const deleteIdentity: (identityProviderName: string, identityId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteIdentity", "DELETE /users/me/identities/{identityProviderName}/{identityId}");

/**
 * Find the user with an identity
 *
 * Answers with the id of the user.
 */
export const findUserOfIdentity: (identityProviderName: string, identityId: string) => BatchableCall<string> = /* @__PURE__ */ define("findUserOfIdentity", "GET /users/identities/{identityProviderName}/{identityId}");

/**
 * Check in at a place
 *
 * Stores where the user is. Instead of a point, the id of a location may be sent; the check-in keeps its name.
 */
export const createCheckin: (fields: CreateCheckinRequest) => BatchableCall<Checkin> = /* @__PURE__ */ define("createCheckin", "POST /checkins");

/**
 * Search one's own check-ins and those that others share
 *
 * All filters have to fit. Without any, the newest check-ins come first.
 */
export const searchCheckins: (fields?: SearchCheckinsQuery) => BatchableCall<CheckinPage> = /* @__PURE__ */ define("searchCheckins", "GET /checkins");

/**
 * Read one check-in
 *
 * Answers as for a check-in that never existed if the user may not read it.
 */
export const getCheckin: (checkinId: string) => BatchableCall<Checkin> = /* @__PURE__ */ define("getCheckin", "GET /checkins/{checkinId}");

/**
 * Change a check-in: the caller's own, or a shared one with write permission
 *
 * Changes the fields that are sent; an empty text clears a field. Only the owner changes permissions.
 */
export const changeCheckin: (checkinId: string, fields?: ChangeCheckinRequest) => BatchableCall<Checkin> = /* @__PURE__ */ define("changeCheckin", "PATCH /checkins/{checkinId}");

/**
 * Delete one's own check-in
 *
 * Its metadata is deleted, too.
 */
export const deleteCheckin: (checkinId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteCheckin", "DELETE /checkins/{checkinId}");

/**
 * Create a location
 *
 * Creates a place that the user owns and may share.
 */
export const createLocation: (fields: CreateLocationRequest) => BatchableCall<Location> = /* @__PURE__ */ define("createLocation", "POST /locations");

/**
 * Search one's own locations and those that others share
 *
 * All filters have to fit. Without any, the newest locations come first.
 */
export const searchLocations: (fields?: SearchLocationsQuery) => BatchableCall<LocationPage> = /* @__PURE__ */ define("searchLocations", "GET /locations");

/**
 * Read a location
 *
 * Answers as for a location that never existed if the user may not read it.
 */
export const getLocation: (locationId: string) => BatchableCall<Location> = /* @__PURE__ */ define("getLocation", "GET /locations/{locationId}");

/**
 * Change a location: the caller's own, or a shared one with write permission
 *
 * Changes the fields that are sent; an empty text clears a field. Only the owner changes permissions.
 */
export const changeLocation: (locationId: string, fields?: ChangeLocationRequest) => BatchableCall<Location> = /* @__PURE__ */ define("changeLocation", "PATCH /locations/{locationId}");

/**
 * Delete one's own location
 *
 * Its metadata is deleted, too.
 */
export const deleteLocation: (locationId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteLocation", "DELETE /locations/{locationId}");

/**
 * Report a location to the operators; replaces an earlier report of the same user
 *
 * Tells the operators that something about a location is wrong.
 */
export const flagLocation: (locationId: string, fields?: FlagLocationRequest) => BatchableCall<void> = /* @__PURE__ */ define("flagLocation", "POST /locations/{locationId}/flag");

/**
 * Upload a picture
 *
 * The parameters may come before or after the file. Larger files are better sent as resumable uploads.
 */
export const createPicture: (fields: CreatePictureForm) => Call<Picture> = /* @__PURE__ */ define("createPicture", "POST /pictures", "sf");

/**
 * Search one's own pictures and those that others share
 *
 * All filters have to fit. Without any, the newest pictures come first.
 */
export const searchPictures: (fields?: SearchPicturesQuery) => BatchableCall<PicturePage> = /* @__PURE__ */ define("searchPictures", "GET /pictures");

/**
 * Read a picture
 *
 * Answers as for a picture that never existed if the user may not read it.
 */
export const getPicture: (pictureId: string) => BatchableCall<Picture> = /* @__PURE__ */ define("getPicture", "GET /pictures/{pictureId}");

/**
 * Change what is known of a picture: one's own, or one that its owner lets others write
 *
 * Changes the fields that are sent; an empty text clears a field. Only the owner changes permissions.
 */
export const changePicture: (pictureId: string, fields?: ChangePictureRequest) => BatchableCall<Picture> = /* @__PURE__ */ define("changePicture", "PATCH /pictures/{pictureId}");

/**
 * Delete one's own picture, and its bytes
 *
 * Its metadata is deleted, too.
 */
export const deletePicture: (pictureId: string) => BatchableCall<void> = /* @__PURE__ */ define("deletePicture", "DELETE /pictures/{pictureId}");

/**
 * Read the bytes of a picture
 *
 * In ranges on request, and without a token at the address of `signedUrl`.
 */
export const readPictureFile: (pictureId: string, fields?: ReadPictureFileQuery) => Call<Download> = /* @__PURE__ */ define("readPictureFile", "GET /pictures/{pictureId}/file", "sb");

/**
 * Upload a video
 *
 * The parameters may come before or after the file. Larger files are better sent as resumable uploads.
 */
export const createVideo: (fields: CreateVideoForm) => Call<Video> = /* @__PURE__ */ define("createVideo", "POST /videos", "sf");

/**
 * Search one's own videos and those that others share
 *
 * All filters have to fit. Without any, the newest videos come first.
 */
export const searchVideos: (fields?: SearchVideosQuery) => BatchableCall<VideoPage> = /* @__PURE__ */ define("searchVideos", "GET /videos");

/**
 * Read a video
 *
 * Answers as for a video that never existed if the user may not read it.
 */
export const getVideo: (videoId: string) => BatchableCall<Video> = /* @__PURE__ */ define("getVideo", "GET /videos/{videoId}");

/**
 * Change what is known of a video: one's own, or one that its owner lets others write
 *
 * Changes the fields that are sent; an empty text clears a field. Only the owner changes permissions.
 */
export const changeVideo: (videoId: string, fields?: ChangeVideoRequest) => BatchableCall<Video> = /* @__PURE__ */ define("changeVideo", "PATCH /videos/{videoId}");

/**
 * Delete one's own video, and its bytes
 *
 * Its metadata is deleted, too.
 */
export const deleteVideo: (videoId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteVideo", "DELETE /videos/{videoId}");

/**
 * Read the bytes of a video
 *
 * In ranges on request, and without a token at the address of `signedUrl`.
 */
export const readVideoFile: (videoId: string) => Call<Download> = /* @__PURE__ */ define("readVideoFile", "GET /videos/{videoId}/file", "sb");

/**
 * Upload a blob
 *
 * The parameters may come before or after the file. Larger files are better sent as resumable uploads.
 */
export const createBlob: (fields: CreateBlobForm) => Call<Blob> = /* @__PURE__ */ define("createBlob", "POST /blobs", "sf");

/**
 * Search one's own blobs and those that others share
 *
 * All filters have to fit. Without any, the newest blobs come first.
 */
export const searchBlobs: (fields?: SearchBlobsQuery) => BatchableCall<BlobPage> = /* @__PURE__ */ define("searchBlobs", "GET /blobs");

/**
 * Read a blob
 *
 * Answers as for a blob that never existed if the user may not read it.
 */
export const getBlob: (blobId: string) => BatchableCall<Blob> = /* @__PURE__ */ define("getBlob", "GET /blobs/{blobId}");

/**
 * Change what is known of a blob: one's own, or one that its owner lets others write
 *
 * Changes the fields that are sent; an empty text clears a field. Only the owner changes permissions.
 */
export const changeBlob: (blobId: string, fields?: ChangeBlobRequest) => BatchableCall<Blob> = /* @__PURE__ */ define("changeBlob", "PATCH /blobs/{blobId}");

/**
 * Delete one's own blob, and its bytes
 *
 * Its metadata is deleted, too.
 */
export const deleteBlob: (blobId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteBlob", "DELETE /blobs/{blobId}");

/**
 * Read the bytes of a blob
 *
 * In ranges on request, and without a token at the address of `signedUrl`.
 */
export const readBlobFile: (blobId: string) => Call<Download> = /* @__PURE__ */ define("readBlobFile", "GET /blobs/{blobId}/file", "sb");

/**
 * Upload one's own profile picture, replacing an existing one
 *
 * The bytes are read by every user of the application who can see the profile.
 */
export const setProfilePicture: (userId: string, fields: SetProfilePictureForm) => Call<Picture> = /* @__PURE__ */ define("setProfilePicture", "POST /users/{userId}/profilepicture", "sf");

/**
 * Read one's own profile picture, optionally scaled
 *
 * Answers with the picture's fields and a signedUrl, of the given size if one is sent.
 */
export const getProfilePicture: (userId: string, fields?: GetProfilePictureQuery) => BatchableCall<Picture> = /* @__PURE__ */ define("getProfilePicture", "GET /users/{userId}/profilepicture");

/**
 * Delete one's own profile picture
 *
 * Deletes the picture and its bytes.
 */
export const deleteProfilePicture: (userId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteProfilePicture", "DELETE /users/{userId}/profilepicture");

/**
 * Read the bytes of a user's profile picture, optionally scaled
 *
 * Answers with the bytes, in ranges on request.
 */
export const readProfilePictureFile: (userId: string, fields?: ReadProfilePictureFileQuery) => Call<Download> = /* @__PURE__ */ define("readProfilePictureFile", "GET /users/{userId}/profilepicture/file", "sb");

/**
 * Set the value of a key, replacing an existing one
 *
 * Stores any JSON under a key of an object: only for the caller, or shared.
 */
export const putMetadata: (id: string, key: string, fields: PutMetadataRequest) => BatchableCall<void> = /* @__PURE__ */ define("putMetadata", "PUT /metadata/{id}/{key}", "d");

/**
 * Read the value of a key
 *
 * Answers with the JSON that was put.
 */
export const getMetadata: (id: string, key: string, fields?: GetMetadataQuery) => BatchableCall<MetadataItem> = /* @__PURE__ */ define("getMetadata", "GET /metadata/{id}/{key}", "d");

/**
 * Delete a key
 *
 * Deletes the value that the given visibility names.
 */
export const deleteMetadata: (id: string, key: string, fields?: DeleteMetadataQuery) => BatchableCall<void> = /* @__PURE__ */ define("deleteMetadata", "DELETE /metadata/{id}/{key}", "d");

/**
 * Increment the number of a key; a missing one starts at 0
 *
 * Adds to a number atomically, so that increments of several clients add up.
 */
export const incrementMetadata: (id: string, key: string, fields?: IncrementMetadataRequest) => BatchableCall<MetadataItem> = /* @__PURE__ */ define("incrementMetadata", "POST /metadata/{id}/{key}/increment", "d");

/**
 * Set the values of several keys, all or none
 *
 * Stores up to 100 values in one transaction.
 */
export const putManyMetadata: (id: string, fields: PutManyMetadataRequest) => BatchableCall<void> = /* @__PURE__ */ define("putManyMetadata", "PUT /metadata/{id}", "d");

/**
 * Search the metadata of an object
 *
 * Finds the values of one object that the caller may read.
 */
export const searchMetadata: (id: string, fields?: SearchMetadataQuery) => BatchableCall<MetadataItemPage> = /* @__PURE__ */ define("searchMetadata", "GET /metadata/{id}", "d");

/**
 * Report an event; with timeoutInSeconds, a timed one
 *
 * Stores one event with its values. A timed event is ended by a second call.
 */
export const createMetricEvent: (event: string, fields?: CreateMetricEventRequest) => BatchableCall<CreatedMetricEvent> = /* @__PURE__ */ define("createMetricEvent", "POST /metrics/events/{event}", "d");

/**
 * End a timed event and return its duration
 *
 * Stores the time since the event was reported.
 */
export const endMetricEvent: (event: string) => BatchableCall<EndedMetricEvent> = /* @__PURE__ */ define("endMetricEvent", "DELETE /metrics/events/{event}", "d");

/**
 * Report events that a device collected while it was offline
 *
 * Accepts the valid events, and lists the others. Dates are corrected by sentAt if the clock of the device is wrong.
 */
export const createMetricEvents: (fields: CreateMetricEventsRequest) => BatchableCall<CreatedMetricEvents> = /* @__PURE__ */ define("createMetricEvents", "POST /metrics/events", "d");

/**
 * Read the changes since an earlier call
 *
 * Returns the changes that the caller may see, in their order. The first call has no `after`.
 */
export const listEvents: (fields?: ListEventsQuery) => BatchableCall<EventPage> = /* @__PURE__ */ define("listEvents", "GET /events", "d");

/**
 * Receive changes as they happen
 *
 * Sends Server-Sent Events until either side closes the stream. A client that connects again with the last `id` as `Last-Event-ID` misses no event.
 */
export const streamEvents: (fields?: StreamEventsQuery) => Call<Download> = /* @__PURE__ */ define("streamEvents", "GET /events/stream", "dsb");

/**
 * Create a url that opens streams
 *
 * For EventSource, which cannot send a token. The url is valid as long as the session of the token.
 */
export const createEventStream: (fields?: CreateEventStreamRequest) => BatchableCall<EventStreamUrl> = /* @__PURE__ */ define("createEventStream", "POST /events/streams", "d");

/**
 * Run several calls, each exactly as if it were sent separately
 *
 * Each item has separate parameters and a separate response. All items use the token of the batch.
 */
export const runBatch: (fields: RunBatchRequest) => Call<BatchResult> = /* @__PURE__ */ define("runBatch", "POST /batch", "ds");

/**
 * Answer Pong, whether the token is valid, invalid or missing
 *
 * For clients that check their connection.
 */
export const ping: () => BatchableCall<string> = /* @__PURE__ */ define("ping", "GET /service/ping", "a");
