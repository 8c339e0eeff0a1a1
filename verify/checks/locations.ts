import { each, type Group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { idsOf, makeCheckin } from "../listing.ts";
import { otherUser, sharedUser, uniqueName, type World } from "../world.ts";

const fields = {
  ...{ name: "Café Central", description: "A coffee house", category: "café", website: "https://example.org/" },
  ...{ address1: "Herrengasse 14", address2: "Door 1", city: "Wien", region: "Wien", country: "Austria" },
  ...{ postalCode: "1010", phone: "+43 1 5333763", fax: "+43 1 5333764", tag: "a tag" },
};
const point = "48.2104,16.3654";
const callsOfOne = ["GET", "PATCH", "DELETE"] as const;

async function create(world: World, given: object = {}) {
  const { token } = await sharedUser(world);
  return world.call("POST /locations", { token, body: { name: "A place", location: point, ...given } });
}

async function createdLocation(world: World, given: object = {}) {
  return expectResult(await create(world, given), 201);
}

async function change(world: World, id: string, body: unknown) {
  const { token } = await sharedUser(world);
  return world.call(`PATCH /locations/${id}`, { token, body });
}

async function search(world: World, query: Readonly<Record<string, string>>) {
  const { token } = await sharedUser(world);
  return world.call("GET /locations", { token, query });
}

/** Locations as objects with a name and an address (spec/locations). */
export const locations: Group = {
  name: "locations",
  checks: {
    "spec/locations#create-a-location · POST /locations: 201 with every field as sent": async (world) => {
      const { id: userID } = await sharedUser(world);
      const answer = await create(world, fields);
      const { id, created, lastModified, ...others } = expectResult(answer, 201);
      expectThat(answer, typeof id === "string" && created === lastModified, "an id and equal dates");
      expectEqual(answer, "result", others, { userID, ...fields, location: { lat: 48.2104, lng: 16.3654 } });
    },
    "spec/locations#read-change-or-delete-a-location · GET /locations/{locationId}: 200 with the location as POST returned it":
      async (world) => {
        const { token } = await sharedUser(world);
        const location = await createdLocation(world, fields);
        const answer = await world.call(`GET /locations/${location.id}`, { token });
        expectEqual(answer, "result", expectResult(answer), location);
      },
    ...each(
      ["name", "location"],
      (name) => `spec/locations#location-fields · POST /locations: 400 ParameterMissingRequiredValue without ${name}`,
      async (world, name) => expectError(await create(world, { [name]: undefined }), missing(name)),
    ),
    ...each(
      Object.keys(fields).filter((name) => name !== "tag" && name !== "description"),
      (name) =>
        `spec/locations#location-fields · POST /locations: 400 ParameterOutOfRange for 257 characters of ${name}`,
      async (world, name) => {
        const text = name === "website" ? "https://example.org/".padEnd(257, "x") : "x".repeat(257);
        expectError(await create(world, { [name]: text }), { ...further.outOfRange, message: new RegExp(name) });
      },
    ),
    ...each(
      ["example.org", "ftp://example.org/", "javascript:alert(1)"],
      (website) =>
        `spec/locations#location-fields · POST /locations: 400 ParameterIncorrectFormat for the website ${website}`,
      async (world, website) =>
        expectError(await create(world, { website }), { ...further.incorrectFormat, message: /website/ }),
    ),
    "spec/locations#read-change-or-delete-a-location · PATCH /locations/{locationId}: other fields stay, the empty text clears":
      async (world) => {
        const { lastModified: _, city, ...made } = await createdLocation(world, fields);
        const answer = await change(world, made.id, { city: "", name: "Another name", location: "1,2" });
        const { lastModified: __, ...changed } = expectResult(answer);
        expectEqual(answer, "result", changed, { ...made, name: "Another name", location: { lat: 1, lng: 2 } });
      },
    "spec/locations#read-change-or-delete-a-location · PATCH /locations/{locationId}: a location keeps its name":
      async (world) => {
        const { id } = await createdLocation(world);
        const answer = await change(world, id, { name: "" });
        expectEqual(answer, "name", expectResult(answer).name, "A place");
      },
    "spec/locations#read-change-or-delete-a-location · DELETE /locations/{locationId}: true, and then it does not exist":
      async (world) => {
        const { token } = await sharedUser(world);
        const { id } = await createdLocation(world);
        const answer = await world.call(`DELETE /locations/${id}`, { token });
        expectEqual(answer, "result", expectResult(answer), true);
        for (const verb of callsOfOne) {
          expectError(await world.call(`${verb} /locations/${id}`, { token }), further.itemDoesNotExist);
        }
      },
    ...each(
      callsOfOne,
      (verb) => `hostile.md 13 · ${verb} /locations/{locationId}: a private location does not exist for another user`,
      async (world, verb) => {
        const { token } = await otherUser(world);
        const { id } = await createdLocation(world);
        expectError(await world.call(`${verb} /locations/${id}`, { token }), further.itemDoesNotExist);
      },
    ),
    ...each(
      [
        { sent: { isPublic: true }, expected: "App" },
        { sent: { isPublic: false }, expected: undefined },
        { sent: { isPublic: true, readPermissions: "User" }, expected: "User" },
      ],
      ({ sent }) => `spec/locations#location-fields · isPublic stands for readPermissions: ${JSON.stringify(sent)}`,
      async (world, { sent, expected }) => {
        const answer = await create(world, sent);
        expectEqual(answer, "readPermissions", expectResult(answer, 201).readPermissions, expected);
      },
    ),
    "spec/locations#search-locations · GET /locations: fields filter, and another user's private location is not found":
      async (world) => {
        const city = uniqueName("city");
        const { id } = await createdLocation(world, { city });
        const shared = await createdLocation(world, { city, isPublic: true });
        const own = await search(world, { city });
        expectEqual(own, "ids", new Set(idsOf(own)), new Set([id, shared.id]));
        const { token } = await otherUser(world);
        const others = await world.call("GET /locations", { token, query: { city } });
        expectEqual(others, "ids", idsOf(others), [shared.id]);
      },
    "spec/locations#search-locations · GET /locations: nearest first, with distanceFromSearch in metres": async (
      world,
    ) => {
      const category = uniqueName("category");
      const far = await createdLocation(world, { category, location: "48.2194,16.3654" });
      const near = await createdLocation(world, { category, location: "48.2113,16.3654" });
      const answer = await search(world, { category, locationRange: `${point},5000`, sortOrder: "distance" });
      expectEqual(answer, "ids", idsOf(answer), [near.id, far.id]);
      const distances = expectResult(answer).pageResults.map((place: { distanceFromSearch: number }) =>
        Math.round(place.distanceFromSearch / 100),
      );
      expectEqual(answer, "distances in 100 m", distances, [1, 10]);
      const without = await search(world, { category });
      const [first] = expectResult(without).pageResults;
      expectEqual(without, "a distance without a range", "distanceFromSearch" in first, false);
    },
    "spec/locations#flag-a-location · POST /locations/{locationId}/flag: true, for a location that the user may read":
      async (world) => {
        const { token } = await otherUser(world);
        const body = { flagReason: "closed", comment: "Demolished" };
        const { id } = await createdLocation(world, { isPublic: true });
        for (const sent of [body, {}]) {
          const answer = await world.call(`POST /locations/${id}/flag`, { token, body: sent });
          expectEqual(answer, "result", expectResult(answer), true);
        }
        const hidden = await createdLocation(world);
        expectError(await world.call(`POST /locations/${hidden.id}/flag`, { token, body }), further.itemDoesNotExist);
      },
    "spec/locations#ids-of-locations · POST /checkins with the id of a location: its point, its id and its name":
      async (world) => {
        const { token } = await sharedUser(world);
        const { id } = await createdLocation(world, { name: "Café Central" });
        const answer = await world.call("POST /checkins", { token, body: { location: id } });
        const expected = { lat: 48.2104, lng: 16.3654, id, name: "Café Central" };
        expectEqual(answer, "location", expectResult(answer, 201).location, expected);
      },
    "spec/locations#ids-of-locations · POST /checkins: the id of a hidden location does not exist": async (world) => {
      const { token } = await otherUser(world);
      const { id } = await createdLocation(world);
      const answer = await world.call("POST /checkins", { token, body: { location: id } });
      expectError(answer, further.itemDoesNotExist);
    },
    "spec/locations#ids-of-locations · Later changes of a location move no check-in": async (world) => {
      const { token } = await sharedUser(world);
      const { id } = await createdLocation(world);
      const { id: checkinId } = await makeCheckin(world, token, { location: id });
      expectResult(await change(world, id, { location: "1,2" }));
      const answer = await world.call(`GET /checkins/${checkinId}`, { token });
      const { lat, lng } = expectResult(answer).location;
      expectEqual(answer, "point", { lat, lng }, { lat: 48.2104, lng: 16.3654 });
    },
  },
};
