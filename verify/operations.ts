import { sharedCheckin, uniqueName, type World } from "./world.ts";

/** A call that is right in everything but perhaps the token. */
export interface Operation {
  readonly operation: string;
  readonly body?: unknown;
}

/** What service.md and surface.md ask a user token for, but logout. */
export const userOperations = [
  "GET /users/me",
  "POST /checkins",
  "GET /checkins",
  "GET /checkins/{checkinId}",
  "POST /users/me/identities/{identityProviderName}",
  "GET /users/me/identities",
  "GET /users/me/identities/{identityProviderName}",
  "GET /users/identities/{identityProviderName}/{identityId}",
] as const;

/** What a device token is enough for. */
export const deviceOperations = ["POST /users", "POST /users/login"] as const;

export const tokenOperations = [...userOperations, ...deviceOperations, "POST /users/me/logout"] as const;

/** Fills in what the operation needs. */
export async function prepare(world: World, operation: (typeof tokenOperations)[number]): Promise<Operation> {
  const { id: checkinId } = await sharedCheckin(world);
  const path = operation
    .replace("{checkinId}", checkinId)
    .replace("{identityProviderName}", "verify")
    .replace("{identityId}", "nobody");
  switch (operation) {
    case "POST /checkins":
      return { operation: path, body: { location: "1,2" } };
    case "POST /users/me/identities/{identityProviderName}":
      return { operation: path, body: { identityId: uniqueName() } };
    case "POST /users":
    case "POST /users/login":
      return { operation: path, body: { username: uniqueName(), password: "correct horse" } };
    case "POST /users/me/logout":
      return { operation: path, body: {} };
    default:
      return { operation: path };
  }
}
