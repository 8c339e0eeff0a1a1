import type { FormPart } from "../testkit/forms.ts";
import type { Client } from "./actors.ts";
import { tinyPicture } from "./pictures.ts";
import { digestOf, newClient, newPools, type Result } from "./seeding.ts";
import type { Seeding } from "./world.ts";

/** A user with a name and no other data. */
export async function signUp(device: Client, name: string, { seeder, markers, random }: Seeding): Promise<Client> {
  const userName = `user-${random.word(14)}`;
  const password = `password-${random.word(14)}`;
  const email = `${random.word(12)}@fuzz.example`;
  const signedUp = await seeder.call(device, "POST /users", { username: userName, password, email });
  const { id: userId, accessToken: token } = signedUp;
  device.application.all.add(userId);
  markers.addPassword(password, `the password of ${name}`, userId);
  markers.add(token, `the token of ${name}`, { ownerId: userId, isForOperators: false });
  return newClient({ ...device, ...newPools(), kind: "user", name, token, userId, userName, password, email });
}

/**
 * Signs a user up on the device, and creates one object of every kind, each with texts that only its readers may see.
 *
 * @param options `isCaller` for a user that makes calls
 */
export async function seedUser(
  device: Client,
  name: string,
  seeding: Seeding,
  { isCaller = true }: { readonly isCaller?: boolean } = {},
): Promise<Client> {
  const { seeder, markers, random } = seeding;
  const { application } = device;
  const { appid } = application;
  const user = await signUp(device, name, seeding);
  const own = { ownerId: user.userId, isForOperators: true };
  const shared = { appid, isForOperators: true };

  function text(what: string): string {
    return markers.make(`${what} of ${name}`, own);
  }
  /** Coordinates that no other object has: nine digits, of which the last is not 0. */
  function degrees(): string {
    return markers.add(
      `${10 + random.below(60)}.${`${1 + random.below(99_999_999)}`.padStart(8, "3")}7`,
      `a place of ${name}`,
      own,
    );
  }
  function place(): string {
    return `${degrees()},${degrees()}`;
  }
  function keep({ id }: Result, what: string, audience: typeof own | typeof shared = own): string {
    user.sealed.add(markers.add(id, `the id of ${what} of ${name}`, audience));
    application.all.add(id);
    return id;
  }

  await seeder.call(user, "PATCH /users/me", {
    firstName: markers.make(`first name of ${name}`, shared),
    lastName: markers.make(`last name of ${name}`, shared),
    tag: text("tag"),
    location: place(),
    dateOfBirth: "1981-07-09",
    locationFuzzing: true,
  });
  const secret = { location: place(), comment: text("comment"), description: text("description"), tag: text("tag") };
  const checkinId = keep(await seeder.call(user, "POST /checkins", secret), "a check-in");
  const open = {
    // Callers may disable their locationFuzzing, and then other users see the true location.
    location: isCaller ? "48.2,16.3" : place(),
    comment: markers.make(`shared comment of ${name}`, shared),
    readPermissions: "App",
  };
  keep(await seeder.call(user, "POST /checkins", open), "a shared check-in", shared);
  const hidden = {
    location: place(),
    name: text("name of a location"),
    description: text("description of a location"),
  };
  const locationId = keep(await seeder.call(user, "POST /locations", hidden), "a location");
  for (const id of [checkinId, locationId, "me", "app", "current"]) {
    await seeder.call(user, `PUT /metadata/${id}/${random.pick(["level", "theme"])}`, {
      value: { [text("metadata name")]: [text("metadata value")] },
    });
  }
  await seeder.call(user, "POST /users/me/identities/crm", { identityId: text("identity") });
  for (const [collection, field, data] of [
    ["pictures", "caption", tinyPicture],
    ["videos", "title", (bytes: string) => Buffer.from(bytes)],
    ["blobs", "friendlyName", (bytes: string) => Buffer.from(bytes)],
  ] as const) {
    const bytes = data(text(`bytes in ${collection}`));
    const parts: FormPart[] = [
      { name: "body", value: JSON.stringify({ [field]: text(field), tag: text("tag"), location: place() }) },
      { name: "data", value: bytes, fileName: `${text("file name")}.bin`, contentType: "application/octet-stream" },
    ];
    const file = await seeder.upload(user, `/${collection}`, parts);
    keep(file, `one of the ${collection}`);
    markers.add(digestOf(bytes), `the hash of one of the ${collection} of ${name}`, own);
    user.signedUrls.push(file.signedUrl);
  }
  await seeder.upload(user, "/users/me/profilepicture", [
    { name: "data", value: tinyPicture(random.word(8)), fileName: "me.gif" },
  ]);
  await seeder.call(user, "POST /metrics/events/level", { values: { world: text("metric value") } });
  await seeder.call(user, "POST /devices/current/crashreports", {
    stackTrace: `Error: at ${name}\n    at main (app.js:1:1)`,
    message: markers.make(`crash of ${name}`, { isForOperators: true }),
  });
  const page = await seeder.call(user, "GET /checkins?pageSize=1&userID=me");
  user.pageTokens.push(page.currentToken, page.nextToken ?? page.currentToken);
  return user;
}
