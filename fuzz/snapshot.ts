import type { Client } from "./actors.ts";
import { digestOf, type Result, type Seeder } from "./seeding.ts";
import type { World } from "./world.ts";

/** All data of the users and operators that must stay unchanged, line by line. */
export async function takeSnapshot(world: World, seeder: Seeder): Promise<Map<string, string>> {
  const lines = new Map<string, string>();
  for (const bystander of world.bystanders) {
    for (const path of pathsOf(bystander)) {
      lines.set(`${path} of ${bystander.name}`, steady(await seeder.call(bystander, `GET ${path}`)));
    }
  }
  for (const application of world.applications.filter(({ isSandbox }) => !isSandbox)) {
    for (const path of ["", "/settings", "/keys"]) {
      const read = await seeder.call(world.root, `GET /_/api/applications/${application.appid}${path}`);
      lines.set(`${path} of ${application.name}`, steady(read));
    }
  }
  const { operatorId } = world.bystandingOperator;
  lines.set("the bystanding operator", steady(await seeder.call(world.root, `GET /_/api/operators/${operatorId}`)));
  return lines;
}

function pathsOf({ sealed }: Client): string[] {
  const files = [
    ...sealed.of("pic").map((id) => `/pictures/${id}`),
    ...sealed.of("vid").map((id) => `/videos/${id}`),
    ...sealed.of("blb").map((id) => `/blobs/${id}`),
  ];
  const [checkins, locations] = [sealed.of("chk"), sealed.of("loc")];
  return [
    ...["/users/me", "/users/me/identities", "/users/me/tokens", "/users/me/profilepicture", "/devices/current"],
    ...checkins.map((id) => `/checkins/${id}`),
    ...locations.map((id) => `/locations/${id}`),
    ...["me", "app", "current", ...checkins, ...locations].map((id) => `/metadata/${id}`),
    ...["/checkins?userID=me", "/locations?userID=me"],
    ...files.flatMap((path) => [path, `${path}/file`]),
  ];
}

/** Removes the fields that change with every read. */
function steady(result: Result): string {
  if (result instanceof Buffer) return digestOf(result);
  return JSON.stringify(result, (name, value) => (volatile.has(name) ? undefined : value));
}

const volatile: ReadonlySet<string> = new Set([
  ...["currentToken", "nextToken", "previousToken", "signedUrl", "profilePictureUrl", "lastUsed"],
  ...["devices", "lastRegistered"],
]);
