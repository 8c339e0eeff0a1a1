import { expectResult } from "./expect.ts";
import { checkIn } from "./listing.ts";
import { shared, sharedCheckin, signUp, uniqueName, type World } from "./world.ts";

/** A call that is valid except perhaps for its token. */
export interface Operation {
  readonly operation: string;
  readonly body?: unknown;
}

/** Operations that need a user token (spec/authentication#user-token), except those that revoke it. */
export const userOperations = [
  ...["GET /users", "GET /users/me", "GET /users/{userId}", "PATCH /users/{userId}", "GET /users/me/tokens"],
  ...["DELETE /users/me/tokens/{tokenId}", "POST /users/me/tokens", "POST /checkins", "GET /checkins"],
  ...["GET /checkins/{checkinId}", "PATCH /checkins/{checkinId}", "DELETE /checkins/{checkinId}"],
  ...["POST /users/me/identities/{identityProviderName}", "GET /users/me/identities"],
  ...["GET /users/me/identities/{identityProviderName}", "DELETE /users/me/identities/{identityProviderName}"],
  "DELETE /users/me/identities/{identityProviderName}/{identityId}",
  ...["GET /users/identities/{identityProviderName}/{identityId}", "PUT /metadata/{id}/{key}", "PUT /metadata/{id}"],
  ...["GET /metadata/{id}", "DELETE /users/{userId}", "POST /users/me/logout"],
] as const;

/** Operations that accept a device token. */
export const deviceOperations = [
  ...["GET /devices/current", "PATCH /devices/current", "POST /devices/current/crashreports"],
  ...["POST /metrics/events/{event}", "POST /metrics/events", "DELETE /metrics/events/{event}", "POST /users"],
  ...["POST /users/login", "POST /users/login/social", "POST /users/password", "PATCH /users/password"],
  "POST /metadata/{id}/{key}/increment",
] as const;

export const tokenOperations = [...userOperations, ...deviceOperations] as const;

/** A user that no other check uses, so that a call that succeeds by mistake does no harm. */
const subject = shared((world) => signUp(world));

/** The id of the subject's token. */
const subjectTokenId = shared(async (world): Promise<string> => {
  const { token } = await subject(world);
  return expectResult(await world.call("GET /users/me/tokens", { token })).pageResults[0].id;
});

/** Creates what the operation needs; operations that change an object get a separate one. */
export async function prepare(world: World, operation: (typeof tokenOperations)[number]): Promise<Operation> {
  return { operation: await fillIn(world, operation), body: bodyOf(operation) };
}

async function newEvent(world: World): Promise<string> {
  const { token } = await subject(world);
  return expectResult(await world.call("POST /metrics/events/verify", { token }), 201).id;
}

async function fillIn(world: World, operation: (typeof tokenOperations)[number]): Promise<string> {
  switch (operation) {
    case "GET /users/{userId}":
    case "PATCH /users/{userId}":
      return operation.replace("{userId}", (await subject(world)).id);
    case "DELETE /users/{userId}":
      return operation.replace("{userId}", (await signUp(world)).id);
    case "DELETE /users/me/tokens/{tokenId}":
      return operation.replace("{tokenId}", await subjectTokenId(world));
    case "GET /checkins/{checkinId}":
      return operation.replace("{checkinId}", (await sharedCheckin(world)).id);
    case "PATCH /checkins/{checkinId}":
    case "DELETE /checkins/{checkinId}":
      return operation.replace("{checkinId}", await checkIn(world, (await subject(world)).token));
    case "POST /metrics/events/{event}":
      return operation.replace("{event}", uniqueName());
    case "DELETE /metrics/events/{event}":
      return operation.replace("{event}", await newEvent(world));
    default:
      return operation
        .replace("{identityProviderName}", "verify")
        .replace("{identityId}", uniqueName())
        .replace("{id}", "app")
        .replace("{key}", uniqueName("key"));
  }
}

function bodyOf(operation: (typeof tokenOperations)[number]): unknown {
  switch (operation) {
    case "POST /checkins":
      return { location: "1,2" };
    case "PATCH /users/{userId}":
    case "PATCH /checkins/{checkinId}":
    case "PATCH /devices/current":
      return { tag: "verify" };
    case "POST /devices/current/crashreports":
      return { stackTrace: "Error\n\tat verify" };
    case "POST /metrics/events":
      return { events: [] };
    case "POST /users/me/identities/{identityProviderName}":
      return { identityId: uniqueName() };
    case "POST /users":
    case "POST /users/login":
      return { username: uniqueName(), password: "correct horse" };
    case "POST /users/login/social":
      return { identityProviderName: uniqueName(), identityID: "nobody", identityAccessToken: "nothing" };
    case "POST /users/password":
      return { userName: uniqueName(), subject: "Code", body: "@ResetCode" };
    case "PATCH /users/password":
      return { userName: uniqueName(), resetCode: "nothing", newPassword: "correct horse" };
    case "PUT /metadata/{id}/{key}":
      return { value: 1 };
    case "PUT /metadata/{id}":
      return { values: { verify: 1 } };
    case "POST /metadata/{id}/{key}/increment":
      return { visibility: "App" };
    case "POST /users/me/logout":
    case "POST /users/me/tokens":
      return {};
    default:
      return undefined;
  }
}
