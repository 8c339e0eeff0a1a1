// Written by "npm run docs" from docs/openapi.json.
import type { BatchableCall, Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { Download } from "../wire/download.ts";
import type { AddIdentityRequest, BatchResult, Blob, BlobPage, ChangeBlobRequest, ChangeCheckinRequest, ChangeDeviceRequest, ChangeLocationRequest, ChangePictureRequest, ChangeUserRequest, ChangeVideoRequest, Checkin, CheckinPage, CrashReport, CreateBlobForm, CreateCheckinRequest, CreateCrashReportRequest, CreateLocationRequest, CreateMetricEventRequest, CreateMetricEventsRequest, CreatePictureForm, CreateUserRequest, CreateVideoForm, CreatedMetricEvent, CreatedMetricEvents, DeleteIdentitiesQuery, DeleteMetadataQuery, Device, DeviceRegistration, DeviceToken, EndedMetricEvent, FlagLocationRequest, GetMetadataQuery, GetProfilePictureQuery, IdentityPage, IncrementMetadataRequest, ListIdentitiesOfProviderQuery, ListIdentitiesQuery, ListTokensQuery, Location, LocationPage, LoginSocialUserRequest, LoginUserRequest, MetadataItem, MetadataItemPage, OwnUser, Picture, PicturePage, PutManyMetadataRequest, PutMetadataRequest, ReadPictureFileQuery, ReadProfilePictureFileQuery, RegisterDeviceRequest, RenewedToken, RequestPasswordResetRequest, ResetPasswordRequest, RunBatchRequest, SearchBlobsQuery, SearchCheckinsQuery, SearchLocationsQuery, SearchMetadataQuery, SearchPicturesQuery, SearchUsersQuery, SearchVideosQuery, SetProfilePictureForm, ShownUser, ShownUserPage, SocialUserWithToken, UserTokenPage, UserWithToken, Video, VideoPage } from "./types.ts";

/** Register a device */
export const registerDevice: (fields: RegisterDeviceRequest) => BatchableCall<DeviceRegistration> = /* @__PURE__ */ define("registerDevice", "POST /devices", "apr");

/** Read the device of the token */
export const getDevice: () => BatchableCall<Device> = /* @__PURE__ */ define("getDevice", "GET /devices/current", "d");

/** Change the device of the token */
export const changeDevice: (fields?: ChangeDeviceRequest) => BatchableCall<Device> = /* @__PURE__ */ define("changeDevice", "PATCH /devices/current", "d");

/** Report a crash of the app on the device of the token */
export const createCrashReport: (fields: CreateCrashReportRequest) => BatchableCall<CrashReport> = /* @__PURE__ */ define("createCrashReport", "POST /devices/current/crashreports", "d");

/** Create a user */
export const createUser: (fields: CreateUserRequest) => BatchableCall<UserWithToken> = /* @__PURE__ */ define("createUser", "POST /users", "d");

/** Search the users of the application */
export const searchUsers: (fields?: SearchUsersQuery) => BatchableCall<ShownUserPage> = /* @__PURE__ */ define("searchUsers", "GET /users");

/** Log in a user */
export const loginUser: (fields: LoginUserRequest) => BatchableCall<UserWithToken> = /* @__PURE__ */ define("loginUser", "POST /users/login", "d");

/** Log out: end this user token */
export const logoutUser: () => BatchableCall<DeviceToken> = /* @__PURE__ */ define("logoutUser", "POST /users/me/logout");

/** Renew this user token: get its successor */
export const renewToken: () => BatchableCall<RenewedToken> = /* @__PURE__ */ define("renewToken", "POST /users/me/tokens");

/** List the active tokens of the current user, newest first */
export const listTokens: (fields?: ListTokensQuery) => BatchableCall<UserTokenPage> = /* @__PURE__ */ define("listTokens", "GET /users/me/tokens");

/** End one token of the current user */
export const endToken: (tokenId: string) => BatchableCall<void> = /* @__PURE__ */ define("endToken", "DELETE /users/me/tokens/{tokenId}");

/** Mail a password reset code to a user; the response is the same if no such user exists */
export const requestPasswordReset: (fields: RequestPasswordResetRequest) => BatchableCall<void> = /* @__PURE__ */ define("requestPasswordReset", "POST /users/password", "d");

/** Set a new password with a mailed code; every token of the user ends */
export const resetPassword: (fields: ResetPasswordRequest) => BatchableCall<void> = /* @__PURE__ */ define("resetPassword", "PATCH /users/password", "d");

/** Log in with an OpenID Connect id_token; the first login creates the user */
export const loginSocialUser: (fields: LoginSocialUserRequest) => BatchableCall<SocialUserWithToken> = /* @__PURE__ */ define("loginSocialUser", "POST /users/login/social", "d");

/** Read one's own profile */
export const getOwnUser: () => BatchableCall<OwnUser> = /* @__PURE__ */ define("getOwnUser", "GET /users/me");

/** Read a user's profile; users see all fields of their own */
export const getUser: (userId: string) => BatchableCall<ShownUser> = /* @__PURE__ */ define("getUser", "GET /users/{userId}");

/** Change one's own profile, settings or password */
export const changeUser: (userId: string, fields?: ChangeUserRequest) => BatchableCall<OwnUser> = /* @__PURE__ */ define("changeUser", "PATCH /users/{userId}");

/** Delete the current user and everything the user owns */
export const deleteUser: (userId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteUser", "DELETE /users/{userId}");

/** Add an identity to the current user */
export const addIdentity: (identityProviderName: string, fields: AddIdentityRequest) => BatchableCall<number> = /* @__PURE__ */ define("addIdentity", "POST /users/me/identities/{identityProviderName}");

/** List the current user's identities of one provider */
export const listIdentitiesOfProvider: (identityProviderName: string, fields?: ListIdentitiesOfProviderQuery) => BatchableCall<IdentityPage> = /* @__PURE__ */ define("listIdentitiesOfProvider", "GET /users/me/identities/{identityProviderName}");

/** Remove one or all identities of a provider from the current user */
export const deleteIdentities: (identityProviderName: string, fields?: DeleteIdentitiesQuery) => BatchableCall<void> = /* @__PURE__ */ define("deleteIdentities", "DELETE /users/me/identities/{identityProviderName}");

/** List the current user's identities, newest first */
export const listIdentities: (fields?: ListIdentitiesQuery) => BatchableCall<IdentityPage> = /* @__PURE__ */ define("listIdentities", "GET /users/me/identities");

/** Remove an identity from the current user */
export const deleteIdentity: (identityProviderName: string, identityId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteIdentity", "DELETE /users/me/identities/{identityProviderName}/{identityId}");

/** Find the user with an identity */
export const findUserOfIdentity: (identityProviderName: string, identityId: string) => BatchableCall<string> = /* @__PURE__ */ define("findUserOfIdentity", "GET /users/identities/{identityProviderName}/{identityId}");

/** Check in at a place */
export const createCheckin: (fields: CreateCheckinRequest) => BatchableCall<Checkin> = /* @__PURE__ */ define("createCheckin", "POST /checkins");

/** Search one's own check-ins and those that others share */
export const searchCheckins: (fields?: SearchCheckinsQuery) => BatchableCall<CheckinPage> = /* @__PURE__ */ define("searchCheckins", "GET /checkins");

/** Read one check-in */
export const getCheckin: (checkinId: string) => BatchableCall<Checkin> = /* @__PURE__ */ define("getCheckin", "GET /checkins/{checkinId}");

/** Change a check-in: one's own, or one that its owner lets others write */
export const changeCheckin: (checkinId: string, fields?: ChangeCheckinRequest) => BatchableCall<Checkin> = /* @__PURE__ */ define("changeCheckin", "PATCH /checkins/{checkinId}");

/** Delete one's own check-in */
export const deleteCheckin: (checkinId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteCheckin", "DELETE /checkins/{checkinId}");

/** Create a location */
export const createLocation: (fields: CreateLocationRequest) => BatchableCall<Location> = /* @__PURE__ */ define("createLocation", "POST /locations");

/** Search one's own locations and those that others share */
export const searchLocations: (fields?: SearchLocationsQuery) => BatchableCall<LocationPage> = /* @__PURE__ */ define("searchLocations", "GET /locations");

/** Read a location */
export const getLocation: (locationId: string) => BatchableCall<Location> = /* @__PURE__ */ define("getLocation", "GET /locations/{locationId}");

/** Change a location: one's own, or one that its owner lets others write */
export const changeLocation: (locationId: string, fields?: ChangeLocationRequest) => BatchableCall<Location> = /* @__PURE__ */ define("changeLocation", "PATCH /locations/{locationId}");

/** Delete one's own location */
export const deleteLocation: (locationId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteLocation", "DELETE /locations/{locationId}");

/** Report a location to the operators; replaces an earlier report of the same user */
export const flagLocation: (locationId: string, fields?: FlagLocationRequest) => BatchableCall<void> = /* @__PURE__ */ define("flagLocation", "POST /locations/{locationId}/flag");

/** Upload a picture */
export const createPicture: (fields: CreatePictureForm) => Call<Picture> = /* @__PURE__ */ define("createPicture", "POST /pictures", "sf");

/** Search one's own pictures and those that others share */
export const searchPictures: (fields?: SearchPicturesQuery) => BatchableCall<PicturePage> = /* @__PURE__ */ define("searchPictures", "GET /pictures");

/** Read a picture */
export const getPicture: (pictureId: string) => BatchableCall<Picture> = /* @__PURE__ */ define("getPicture", "GET /pictures/{pictureId}");

/** Change what is known of a picture: one's own, or one that its owner lets others write */
export const changePicture: (pictureId: string, fields?: ChangePictureRequest) => BatchableCall<Picture> = /* @__PURE__ */ define("changePicture", "PATCH /pictures/{pictureId}");

/** Delete one's own picture, and its bytes */
export const deletePicture: (pictureId: string) => BatchableCall<void> = /* @__PURE__ */ define("deletePicture", "DELETE /pictures/{pictureId}");

/** Read the bytes of a picture */
export const readPictureFile: (pictureId: string, fields?: ReadPictureFileQuery) => Call<Download> = /* @__PURE__ */ define("readPictureFile", "GET /pictures/{pictureId}/file", "sb");

/** Upload a video */
export const createVideo: (fields: CreateVideoForm) => Call<Video> = /* @__PURE__ */ define("createVideo", "POST /videos", "sf");

/** Search one's own videos and those that others share */
export const searchVideos: (fields?: SearchVideosQuery) => BatchableCall<VideoPage> = /* @__PURE__ */ define("searchVideos", "GET /videos");

/** Read a video */
export const getVideo: (videoId: string) => BatchableCall<Video> = /* @__PURE__ */ define("getVideo", "GET /videos/{videoId}");

/** Change what is known of a video: one's own, or one that its owner lets others write */
export const changeVideo: (videoId: string, fields?: ChangeVideoRequest) => BatchableCall<Video> = /* @__PURE__ */ define("changeVideo", "PATCH /videos/{videoId}");

/** Delete one's own video, and its bytes */
export const deleteVideo: (videoId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteVideo", "DELETE /videos/{videoId}");

/** Read the bytes of a video */
export const readVideoFile: (videoId: string) => Call<Download> = /* @__PURE__ */ define("readVideoFile", "GET /videos/{videoId}/file", "sb");

/** Upload a blob */
export const createBlob: (fields: CreateBlobForm) => Call<Blob> = /* @__PURE__ */ define("createBlob", "POST /blobs", "sf");

/** Search one's own blobs and those that others share */
export const searchBlobs: (fields?: SearchBlobsQuery) => BatchableCall<BlobPage> = /* @__PURE__ */ define("searchBlobs", "GET /blobs");

/** Read a blob */
export const getBlob: (blobId: string) => BatchableCall<Blob> = /* @__PURE__ */ define("getBlob", "GET /blobs/{blobId}");

/** Change what is known of a blob: one's own, or one that its owner lets others write */
export const changeBlob: (blobId: string, fields?: ChangeBlobRequest) => BatchableCall<Blob> = /* @__PURE__ */ define("changeBlob", "PATCH /blobs/{blobId}");

/** Delete one's own blob, and its bytes */
export const deleteBlob: (blobId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteBlob", "DELETE /blobs/{blobId}");

/** Read the bytes of a blob */
export const readBlobFile: (blobId: string) => Call<Download> = /* @__PURE__ */ define("readBlobFile", "GET /blobs/{blobId}/file", "sb");

/** Upload one's own profile picture, replacing an existing one */
export const setProfilePicture: (userId: string, fields: SetProfilePictureForm) => Call<Picture> = /* @__PURE__ */ define("setProfilePicture", "POST /users/{userId}/profilepicture", "sf");

/** Read one's own profile picture, optionally scaled */
export const getProfilePicture: (userId: string, fields?: GetProfilePictureQuery) => BatchableCall<Picture> = /* @__PURE__ */ define("getProfilePicture", "GET /users/{userId}/profilepicture");

/** Delete one's own profile picture */
export const deleteProfilePicture: (userId: string) => BatchableCall<void> = /* @__PURE__ */ define("deleteProfilePicture", "DELETE /users/{userId}/profilepicture");

/** Read the bytes of a user's profile picture, optionally scaled */
export const readProfilePictureFile: (userId: string, fields?: ReadProfilePictureFileQuery) => Call<Download> = /* @__PURE__ */ define("readProfilePictureFile", "GET /users/{userId}/profilepicture/file", "sb");

/** Set the value of a key, replacing an existing one */
export const putMetadata: (id: string, key: string, fields: PutMetadataRequest) => BatchableCall<void> = /* @__PURE__ */ define("putMetadata", "PUT /metadata/{id}/{key}", "d");

/** Read the value of a key */
export const getMetadata: (id: string, key: string, fields?: GetMetadataQuery) => BatchableCall<MetadataItem> = /* @__PURE__ */ define("getMetadata", "GET /metadata/{id}/{key}", "d");

/** Delete a key */
export const deleteMetadata: (id: string, key: string, fields?: DeleteMetadataQuery) => BatchableCall<void> = /* @__PURE__ */ define("deleteMetadata", "DELETE /metadata/{id}/{key}", "d");

/** Increment the number of a key; a missing one starts at 0 */
export const incrementMetadata: (id: string, key: string, fields?: IncrementMetadataRequest) => BatchableCall<MetadataItem> = /* @__PURE__ */ define("incrementMetadata", "POST /metadata/{id}/{key}/increment", "d");

/** Set the values of several keys, all or none */
export const putManyMetadata: (id: string, fields: PutManyMetadataRequest) => BatchableCall<void> = /* @__PURE__ */ define("putManyMetadata", "PUT /metadata/{id}", "d");

/** Search the metadata of an object */
export const searchMetadata: (id: string, fields?: SearchMetadataQuery) => BatchableCall<MetadataItemPage> = /* @__PURE__ */ define("searchMetadata", "GET /metadata/{id}", "d");

/** Report an event; with timeoutInSeconds, a timed one */
export const createMetricEvent: (event: string, fields?: CreateMetricEventRequest) => BatchableCall<CreatedMetricEvent> = /* @__PURE__ */ define("createMetricEvent", "POST /metrics/events/{event}", "d");

/** End a timed event and return its duration */
export const endMetricEvent: (event: string) => BatchableCall<EndedMetricEvent> = /* @__PURE__ */ define("endMetricEvent", "DELETE /metrics/events/{event}", "d");

/** Report events that a device collected while it was offline */
export const createMetricEvents: (fields: CreateMetricEventsRequest) => BatchableCall<CreatedMetricEvents> = /* @__PURE__ */ define("createMetricEvents", "POST /metrics/events", "d");

/** Run several calls, each exactly as if it had been sent alone */
export const runBatch: (fields: RunBatchRequest) => Call<BatchResult> = /* @__PURE__ */ define("runBatch", "POST /batch", "ds");

/** Answer Pong, whether the token is valid, invalid or missing */
export const ping: () => BatchableCall<string> = /* @__PURE__ */ define("ping", "GET /service/ping", "a");
