import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
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
  return world.call("POST /locations", { by: sharedUser, body: { name: "A place", location: point, ...given } });
}

async function createdLocation(world: World, given: object = {}) {
  return expectResult(await create(world, given), 201);
}

async function change(world: World, id: string, body: unknown) {
  return world.call(`PATCH /locations/${id}`, { by: sharedUser, body });
}

async function search(world: World, query: Readonly<Record<string, string>>) {
  return world.call("GET /locations", { by: sharedUser, query });
}

/** Locations as objects with a name and an address (spec/locations). */
export const locations = group("locations", (it) => {
  it("spec/locations#create-a-location · POST /locations: 201 with every field as sent", async (world) => {
    const { id: userID } = await sharedUser(world);
    const answer = await create(world, fields);
    const { id, created, lastModified, ...others } = expectResult(answer, 201);
    expectThat(answer, typeof id === "string" && created === lastModified, "an id and equal dates");
    expectEqual(answer, "result", others, { userID, ...fields, location: { lat: 48.2104, lng: 16.3654 } });
  });
  it("spec/locations#read-change-or-delete-a-location · GET /locations/{locationId}: 200 with the location as POST returned it", async (world) => {
    const location = await createdLocation(world, fields);
    expectExactly(await world.call(`GET /locations/${location.id}`, { by: sharedUser }), location);
  });
  for (const name of ["name", "location"])
    it(`spec/locations#location-fields · POST /locations: 400 ParameterMissingRequiredValue without ${name}`, async (world) => {
      expectError(await create(world, { [name]: undefined }), missing(name));
    });
  for (const name of Object.keys(fields).filter((name) => name !== "tag" && name !== "description"))
    it(`spec/locations#location-fields · POST /locations: 400 ParameterOutOfRange for 257 characters of ${name}`, async (world) => {
      const text = name === "website" ? "https://example.org/".padEnd(257, "x") : "x".repeat(257);
      expectError(await create(world, { [name]: text }), { ...further.outOfRange, message: new RegExp(name) });
    });
  for (const website of ["example.org", "ftp://example.org/", "javascript:alert(1)"])
    it(`spec/locations#location-fields · POST /locations: 400 ParameterIncorrectFormat for the website ${website}`, async (world) => {
      expectError(await create(world, { website }), { ...further.incorrectFormat, message: /website/ });
    });
  it("spec/locations#read-change-or-delete-a-location · PATCH /locations/{locationId}: other fields stay, the empty text clears", async (world) => {
    const { lastModified: _, city, ...made } = await createdLocation(world, fields);
    const answer = await change(world, made.id, { city: "", name: "Another name", location: "1,2" });
    const { lastModified: __, ...changed } = expectResult(answer);
    expectEqual(answer, "result", changed, { ...made, name: "Another name", location: { lat: 1, lng: 2 } });
  });
  it("spec/locations#read-change-or-delete-a-location · PATCH /locations/{locationId}: a location keeps its name", async (world) => {
    const { id } = await createdLocation(world);
    const answer = await change(world, id, { name: "" });
    expectEqual(answer, "name", expectResult(answer).name, "A place");
  });
  it("spec/locations#read-change-or-delete-a-location · DELETE /locations/{locationId}: true, and then it does not exist", async (world) => {
    const { id } = await createdLocation(world);
    expectExactly(await world.call(`DELETE /locations/${id}`, { by: sharedUser }), true);
    for (const verb of callsOfOne) {
      expectError(await world.call(`${verb} /locations/${id}`, { by: sharedUser }), further.itemDoesNotExist);
    }
  });
  for (const verb of callsOfOne)
    it(`hostile.md 13 · ${verb} /locations/{locationId}: a private location does not exist for another user`, async (world) => {
      const { id } = await createdLocation(world);
      expectError(await world.call(`${verb} /locations/${id}`, { by: otherUser }), further.itemDoesNotExist);
    });
  for (const { sent, expected } of [
    { sent: { isPublic: true }, expected: "App" },
    { sent: { isPublic: false }, expected: undefined },
    { sent: { isPublic: true, readPermissions: "User" }, expected: "User" },
  ])
    it(`spec/locations#location-fields · isPublic stands for readPermissions: ${JSON.stringify(sent)}`, async (world) => {
      const answer = await create(world, sent);
      expectEqual(answer, "readPermissions", expectResult(answer, 201).readPermissions, expected);
    });
  it("spec/locations#search-locations · GET /locations: fields filter, and another user's private location is not found", async (world) => {
    const city = uniqueName("city");
    const { id } = await createdLocation(world, { city });
    const shared = await createdLocation(world, { city, isPublic: true });
    const own = await search(world, { city });
    expectEqual(own, "ids", new Set(idsOf(own)), new Set([id, shared.id]));
    const others = await world.call("GET /locations", { by: otherUser, query: { city } });
    expectEqual(others, "ids", idsOf(others), [shared.id]);
  });
  it("spec/locations#search-locations · GET /locations: nearest first, with distanceFromSearch in metres", async (world) => {
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
  });
  it("spec/locations#flag-a-location · POST /locations/{locationId}/flag: true, for a location that the user may read", async (world) => {
    const body = { flagReason: "closed", comment: "Demolished" };
    const { id } = await createdLocation(world, { isPublic: true });
    for (const sent of [body, {}]) {
      expectExactly(await world.call(`POST /locations/${id}/flag`, { by: otherUser, body: sent }), true);
    }
    const hidden = await createdLocation(world);
    expectError(
      await world.call(`POST /locations/${hidden.id}/flag`, { by: otherUser, body }),
      further.itemDoesNotExist,
    );
  });
  it("spec/locations#ids-of-locations · POST /checkins with the id of a location: its point, its id and its name", async (world) => {
    const { id } = await createdLocation(world, { name: "Café Central" });
    const answer = await world.call("POST /checkins", { by: sharedUser, body: { location: id } });
    const expected = { lat: 48.2104, lng: 16.3654, id, name: "Café Central" };
    expectEqual(answer, "location", expectResult(answer, 201).location, expected);
  });
  it("spec/locations#ids-of-locations · POST /checkins: the id of a hidden location does not exist", async (world) => {
    const { id } = await createdLocation(world);
    const answer = await world.call("POST /checkins", { by: otherUser, body: { location: id } });
    expectError(answer, further.itemDoesNotExist);
  });
  it("spec/locations#ids-of-locations · Later changes of a location move no check-in", async (world) => {
    const { token } = await sharedUser(world);
    const { id } = await createdLocation(world);
    const { id: checkinId } = await makeCheckin(world, token, { location: id });
    expectResult(await change(world, id, { location: "1,2" }));
    const answer = await world.call(`GET /checkins/${checkinId}`, { token });
    const { lat, lng } = expectResult(answer).location;
    expectEqual(answer, "point", { lat, lng }, { lat: 48.2104, lng: 16.3654 });
  });
});
