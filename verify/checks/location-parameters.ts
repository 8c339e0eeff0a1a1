import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectResult } from "../expect.ts";
import { sharedUser, type World } from "../world.ts";

const accepted: readonly [sent: unknown, lat: number, lng: number][] = [
  ["48.2082,16.3738", 48.2082, 16.3738],
  ["48.2082, 16.3738", 48.2082, 16.3738],
  ["48.2082,   16.3738", 48.2082, 16.3738],
  ["-33.8688,151.2093", -33.8688, 151.2093],
  ["47,-122", 47, -122],
  ["0,0", 0, 0],
  ["0.0000001,-0.0000001", 0.0000001, -0.0000001],
  ["90,0", 90, 0],
  ["-90,180", -90, 180],
  ["0,-180", 0, -180],
  [{ lat: 48.2082, lng: 16.3738 }, 48.2082, 16.3738],
  [{ lat: -90, lng: 180, accuracy: 5 }, -90, 180],
  [{ lat: "48.2082", lng: "16.3738" }, 48.2082, 16.3738],
];
const outOfRange = [
  "90.0001,0",
  "-91,0",
  "0,180.0001",
  "0,-181",
  "1000,1000",
  { lat: 91, lng: 0 },
  { lat: 0, lng: -181 },
];
const notPairs = [
  "48.2082",
  "48.2082,",
  ",16.3738",
  ",",
  "a,b",
  "48.2082;16.3738",
  "1,2,3",
  "NaN,0",
  "0,Infinity",
  "0x10,0",
  "48°,16°",
  {},
  { lat: 48.2082 },
  { lat: "a", lng: "b" },
  { lat: null, lng: null },
  [48.2082, 16.3738],
  17,
  true,
];

async function checkIn(world: World, location: unknown) {
  return world.call("POST /checkins", { by: sharedUser, body: { location } });
}

/** Locations in requests and responses (spec/transport#locations). */
export const locationParameters = group("location-parameters", (it) => {
  for (const [sent, lat, lng] of accepted)
    it(`spec/transport#locations · Check-in: location ${JSON.stringify(sent)} is returned as numbers lat and lng`, async (world) => {
      const answer = await checkIn(world, sent);
      expectEqual(answer, "result.location", expectResult(answer, 201).location, { lat, lng });
    });
  for (const sent of outOfRange)
    it(`spec/transport#locations · Locations: 400 ParameterOutOfRange for ${JSON.stringify(sent)}`, async (world) => {
      expectError(await checkIn(world, sent), { ...further.outOfRange, message: /location/ });
    });
  it("spec/transport#locations · Locations: 400 ParameterOutOfRange for a latitude of twenty digits", async (world) => {
    const body = '{"location":{"lat":12345678901234567890,"lng":0}}';
    expectError(await world.call("POST /checkins", { by: sharedUser, body }), further.outOfRange);
  });
  for (const sent of notPairs)
    it(`spec/transport#locations · Locations: 400 ParameterIncorrectFormat for ${JSON.stringify(sent)}`, async (world) => {
      expectError(await checkIn(world, sent), { ...further.incorrectFormat, message: /location/ });
    });
  for (const sent of [undefined, null, ""])
    it(`spec/checkins#check-in-fields · 400 ParameterMissingRequiredValue for the location ${JSON.stringify(sent) ?? "absent"}`, async (world) => {
      expectError(await checkIn(world, sent), missing("location"));
    });
});
