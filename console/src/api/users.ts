import type { Impact as WireImpact } from "../../../server/src/applications/applications.impact.operator.routes.ts";
import type { Checkin } from "../../../server/src/checkins/checkins.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import type { OperatedDevicePage } from "../../../server/src/devices/devices.operator.routes.ts";
import type { IdentityPage } from "../../../server/src/identities/identities.contract.ts";
import type {
  ChangeOperatedUser,
  CreateOperatedUser,
  OperatedTokenPage,
  OperatedUserPage,
  OperatedUserWithCounts,
  Erasures as WireErasures,
} from "../../../server/src/users/users.operator.contract.ts";
import { downloadOperation, operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type User = Static<typeof OperatedUserPage>["pageResults"][number];
export type UserWithCounts = Static<typeof OperatedUserWithCounts>;
export type UserToken = Static<typeof OperatedTokenPage>["pageResults"][number];
export type DeviceOfUser = Static<typeof OperatedDevicePage>["pageResults"][number];
export type Identity = Static<typeof IdentityPage>["pageResults"][number];
export type Impact = Static<typeof WireImpact>;

interface InApplication {
  readonly appid: string;
}

export interface OfUser extends InApplication {
  readonly userId: string;
}

export interface UserFilters {
  readonly userNamePrefix?: string;
  readonly emailPrefix?: string;
  readonly name?: string;
  readonly identityProviderID?: string;
  readonly disabled?: string;
  readonly created?: string;
  readonly lastModified?: string;
  readonly sortOrder?: string;
}

export const listUsers = operation<InApplication & UserFilters & PageParameters, Static<typeof OperatedUserPage>>(
  "GET",
  "/applications/{appid}/users",
  [
    "appid",
    "userNamePrefix",
    "emailPrefix",
    "name",
    "identityProviderID",
    "disabled",
    "created",
    "lastModified",
    "sortOrder",
    "pageSize",
    "pagingToken",
  ],
);

export type NewUser = Pick<
  Static<typeof CreateOperatedUser>,
  "username" | "password" | "email" | "firstName" | "lastName"
>;

export const createUser = operation<InApplication & NewUser, UserWithCounts>("POST", "/applications/{appid}/users", [
  "appid",
  "username",
  "password",
  "email",
  "firstName",
  "lastName",
]);

/** The changed fields; an empty string clears a field. */
export type UserChange = Static<typeof ChangeOperatedUser>;

export const changeUser = operation<OfUser & UserChange, UserWithCounts>(
  "PATCH",
  "/applications/{appid}/users/{userId}",
  ["appid", "userId", "username", "email", "firstName", "lastName", "celebMode", "locationFuzzing"],
);

/** Sends a password reset code by email, with the application's default text unless another is given. */
export const sendPasswordReset = operation<OfUser & { subject?: string; body?: string }, true>(
  "POST",
  "/applications/{appid}/users/{userId}/password-reset",
  ["appid", "userId", "subject", "body"],
);

export const getUser = operation<OfUser, UserWithCounts>("GET", "/applications/{appid}/users/{userId}", [
  "appid",
  "userId",
]);

export const disableUser = operation<OfUser, UserWithCounts>("POST", "/applications/{appid}/users/{userId}/disable", [
  "appid",
  "userId",
]);

export const enableUser = operation<OfUser, UserWithCounts>("POST", "/applications/{appid}/users/{userId}/enable", [
  "appid",
  "userId",
]);

export const listTokensOfUser = operation<OfUser & PageParameters, Static<typeof OperatedTokenPage>>(
  "GET",
  "/applications/{appid}/users/{userId}/tokens",
  ["appid", "userId", "pageSize", "pagingToken"],
);

export const endTokenOfUser = operation<OfUser & { tokenId: string }, true>(
  "DELETE",
  "/applications/{appid}/users/{userId}/tokens/{tokenId}",
  ["appid", "userId", "tokenId"],
);

export const endTokensOfUser = operation<OfUser, true>("POST", "/applications/{appid}/users/{userId}/revoke-tokens", [
  "appid",
  "userId",
]);

export const getImpactOfUser = operation<OfUser, Impact>("GET", "/applications/{appid}/users/{userId}/impact", [
  "appid",
  "userId",
]);

export const eraseUser = operation<OfUser & { confirm: string }, true>(
  "DELETE",
  "/applications/{appid}/users/{userId}",
  ["appid", "userId", "confirm"],
);

/** A ZIP archive with all stored data of the user. */
export const exportUser = downloadOperation<OfUser>("/applications/{appid}/users/{userId}/export", ["appid", "userId"]);

export const listDevicesOfUser = operation<OfUser & PageParameters, Static<typeof OperatedDevicePage>>(
  "GET",
  "/applications/{appid}/users/{userId}/devices",
  ["appid", "userId", "pageSize", "pagingToken"],
);

/** Without the true location, which the answer has, so that no screen shows it. */
export type CheckinOfUser = Omit<Static<typeof Checkin>, "location"> & {
  readonly comment?: string;
  /** The location that other users see, if it is fuzzed. */
  readonly shownLocation?: { readonly lat: number; readonly lng: number };
};

/** The check-ins of a user, private ones too. */
export const listCheckinsOfUser = operation<
  InApplication & { readonly userID: string } & PageParameters,
  { readonly pageResults: readonly CheckinOfUser[]; readonly nextToken?: string }
>("GET", "/applications/{appid}/checkins", ["appid", "userID", "pageSize", "pagingToken"]);

export const listIdentitiesOfUser = operation<OfUser & PageParameters, Static<typeof IdentityPage>>(
  "GET",
  "/applications/{appid}/users/{userId}/identities",
  ["appid", "userId", "pageSize", "pagingToken"],
);

export type Erasures = Static<typeof WireErasures>;

/** The deleted users whose data is still being erased. */
export const listErasures = operation<InApplication, Erasures>("GET", "/applications/{appid}/erasures", ["appid"]);
