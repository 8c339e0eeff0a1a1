import { ApiError } from "../lib/errors.ts";
import { enumeration, Type } from "./schema.ts";
import { Choice } from "./wire.ts";

/**
 * The users that may read or write an object (spec/search#permissions): only its owner (`User`), or every user of the
 * application (`App`).
 */
export const Permission = enumeration("Permission", "The users with a permission.", {
  User: "Only the user.",
  App: "Every user of the application.",
});
const audiences = Permission.enum;
type Audience = (typeof audiences)[number];

/** The permission parameters for creating and changing an owned object. */
export const permissionParameters = {
  readPermissions: Type.Optional(
    Choice(Permission, { description: "The users who may read it; only the owner if absent." }),
  ),
  writePermissions: Type.Optional(
    Choice(Permission, {
      description: "The users who may change it; only the owner if absent. App needs readPermissions App.",
    }),
  ),
};

/** The permissions in results; absent until they are set. */
export const permissionResults = {
  readPermissions: Type.Optional({ ...Permission, description: "The users who may read it." }),
  writePermissions: Type.Optional({ ...Permission, description: "The users who may change it." }),
};

/** The stored permissions of an object: 0 for `User`, 1 for `App`, null until they are set. */
interface StoredPermissions {
  readonly read_permission: number | null;
  readonly write_permission: number | null;
}

export interface GivenPermissions {
  readonly readPermissions?: Audience;
  readonly writePermissions?: Audience;
}

/**
 * Returns the permissions of a new object. @throws ApiError ParameterOutOfRange if other users could write the object
 * but not read it
 */
export function newPermissions({ readPermissions, writePermissions }: GivenPermissions): StoredPermissions {
  const permissions = { read_permission: stored(readPermissions), write_permission: stored(writePermissions) };
  if (permissions.write_permission === 1 && permissions.read_permission !== 1) {
    throw new ApiError("ParameterOutOfRange", "writePermissions App needs readPermissions App.", {
      parameter: "writePermissions",
    });
  }
  return permissions;
}

/**
 * Returns the permissions of an object after a change by a caller who may read it. Sending the current values is not a
 * change.
 *
 * @throws ApiError ObjectPermissionDenied; ParameterOutOfRange as in {@link newPermissions}
 */
export function changedPermissions(
  object: StoredPermissions & { readonly user_id: string | null },
  callerId: string,
  given: GivenPermissions,
): StoredPermissions {
  const now = presentPermissions(object);
  if (object.user_id === callerId) return newPermissions({ ...now, ...given });
  const isChange = Object.entries({ readPermissions: "User", writePermissions: "User", ...now }).some(
    ([name, audience]) => (given[name as keyof GivenPermissions] ?? audience) !== audience, // the two keys of the literal
  );
  if (object.write_permission !== 1 || isChange) throw new ApiError("ObjectPermissionDenied");
  return { read_permission: object.read_permission, write_permission: object.write_permission };
}

/** @throws ApiError ObjectPermissionDenied unless the caller is the owner */
export function requireOwner(object: { readonly user_id: string | null }, callerId: string): void {
  if (object.user_id !== callerId) throw new ApiError("ObjectPermissionDenied");
}

/** @returns undefined for a permission that is not set */
export function presentAudience(permission: number | null): Audience | undefined {
  return permission === null ? undefined : audiences[permission];
}

function presentPermissions({ read_permission, write_permission }: StoredPermissions): GivenPermissions {
  if (read_permission === null && write_permission === null) return {}; // the most frequent case
  const readPermissions = audiences[read_permission ?? -1];
  const writePermissions = audiences[write_permission ?? -1];
  return { ...(readPermissions && { readPermissions }), ...(writePermissions && { writePermissions }) };
}

function stored(audience: Audience | undefined): number | null {
  return audience === undefined ? null : audiences.indexOf(audience);
}
