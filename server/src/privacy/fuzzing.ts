import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { lockName } from "../db/lock.ts";
import { prepareLookup } from "../db/prepared.ts";
import { equals } from "../db/search/conditions.ts";
import { rowsInCells, type Scope } from "../db/search/scope.ts";
import type { LocatedRow } from "../db/tables.ts";
import { cellOf, cellsOfRing } from "../lib/cells.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { antipodalMeters, bearingTo, destination, distanceMeters, type Location } from "../lib/locations.ts";
import { takeRandomBytes } from "../lib/random.ts";

/** An object of a user at a location. */
export interface Placing {
  readonly applicationId: string;
  /** The owner of the object. */
  readonly userId: string;
  /** The user who sets the location: the owner, or a user who may write the object. */
  readonly setterId: string;
  readonly location: Location;
}

/**
 * The fuzzing secrets of a user. Each stands for its own rotation of the map, so that learning one reveals nothing of
 * the others (docs/contributing/decisions/0005):
 *
 * - `profile`: the user's own location; searched, and never shown.
 * - `shown`: objects that others have seen at their true location, because they were shared when locationFuzzing was
 *   switched on.
 * - `kept <n>`: objects that were private when it was switched on.
 * - `new <n>`: objects located while it is on.
 */
export type ShiftSecret = "profile" | "shown" | `kept ${number}` | `new ${number}`;

/**
 * locationFuzzing (spec/privacy#fuzzed-locations): computes the locations at which others see the objects of a user.
 *
 * A place is stored with its first object. All locations of a place are fuzzed to the same point, about a kilometre
 * off, so that moving within it reveals nothing. A secret fuzzes all its places by one rotation of the globe about a
 * secret pole, so the mean of any number of fuzzed locations is as far off as each of them. docs/contributing/decisions/0005 has the
 * alternatives.
 */
export interface Fuzzing {
  /** The location columns of an object under its owner's setting; must be written in the same transaction. */
  locate(placing: Placing, queries: Queries): Promise<LocatedRow>;
  /** Reads the setting of a user, and locks it for the transaction. */
  findSetting(applicationId: string, userId: string, queries: Queries): Promise<FuzzingSetting>;
  /** Like `locate`, fuzzed by this secret, or not at all. */
  locateAs(secret: ShiftSecret | undefined, placing: Placing, queries: Queries): Promise<LocatedRow>;
  /**
   * Must be called when others can see the true location of an object that they may have seen fuzzed, because its owner
   * has switched locationFuzzing off. Unless they could compute the shift anyway, the secrets of this generation count
   * as disclosed from then on.
   *
   * @param seen the fuzzed location; undefined when it is no longer stored
   */
  noteShown(placing: Placing, seen: Location | undefined, queries: Queries): Promise<void>;
  /** The generation of secrets for a user who switches locationFuzzing on. */
  nextGeneration(applicationId: string, userId: string, generation: number, queries: Queries): Promise<number>;
}

export interface FuzzingSetting {
  readonly isFuzzed: boolean;
  readonly generation: number;
}

/** The distance by which a place is shifted. */
const shiftMeters = 1_000;
/** Locations within this distance of a place's first one belong to it, and are shown 510 to 1,490 m off. */
const placeRadiusMeters = 490;
/** The minimum distance of places bounds how many are near a location. */
const nearPlacesMax = 200;

export function createFuzzing({ database, ids }: { database: Database; ids: IdGenerator }): Fuzzing {
  const { dialect } = database;
  const findOwner = prepareLookup<
    { applicationId: string; userId: string },
    { location_fuzzing: number; shift_generation: number }
  >((queries, parameter) =>
    queries
      .selectFrom("users")
      .select(["location_fuzzing", "shift_generation"])
      .where("application_id", "=", parameter("applicationId"))
      .where("id", "=", parameter("userId"))
      .modifyEnd(dialect.forShare),
  );

  async function findOrInsertPlace(placing: Placing, secret: ShiftSecret, queries: Queries): Promise<Place> {
    const { applicationId, userId, setterId } = placing;
    const { lat, lng } = placing.location;
    const location = { lat, lng };
    await lockName(dialect, `places ${userId}`, queries);
    const found = await findPlace(placing, secret, queries);
    if (found !== undefined) return found;

    const first = await findFirstPlace(placing, secret, queries);
    const bearing = first === undefined ? randomBearing() : bearingAbout(poleOf(first), location);
    const place: Place = { ...location, id: ids.newId("Place"), bearing };
    const owner = { application_id: applicationId, user_id: userId, setter_id: setterId };
    await queries
      .insertInto("location_shifts")
      .values({ ...owner, cell: cellOf(location), secret, ...place })
      .execute();
    return place;
  }

  async function locateAs(secret: ShiftSecret | undefined, placing: Placing, queries: Queries): Promise<LocatedRow> {
    const truth = trueLocation(placing.location);
    if (secret === undefined) return truth;
    const seen = shownPointOf(await findOrInsertPlace(placing, secret, queries));
    return { ...truth, seen_lat: seen.lat, seen_lng: seen.lng, seen_cell: cellOf(seen) };
  }

  async function findSetting(applicationId: string, userId: string, queries: Queries): Promise<FuzzingSetting> {
    const [owner] = await findOwner(queries, { applicationId, userId });
    return { isFuzzed: owner?.location_fuzzing === 1, generation: owner?.shift_generation ?? 0 };
  }

  return {
    findSetting,
    locateAs,

    async locate(placing, queries) {
      const { isFuzzed, generation } = await findSetting(placing.applicationId, placing.userId, queries);
      return locateAs(isFuzzed ? `new ${generation}` : undefined, placing, queries);
    },

    async noteShown(placing, seen, queries) {
      const { applicationId, userId } = placing;
      const { isFuzzed, generation } = await findSetting(applicationId, userId, queries);
      if (isFuzzed) return;
      if (seen === undefined) {
        const isUsed = (secret: ShiftSecret) => findFirstPlace(placing, secret, queries);
        if (((await isUsed(`new ${generation}`)) ?? (await isUsed(`kept ${generation}`))) === undefined) return;
      } else {
        const place = await findPlace(placing, "shown", queries);
        if (place !== undefined && distanceMeters(shownPointOf(place), seen) < 1) return;
      }
      await queries
        .insertInto("location_shifts")
        .values({
          application_id: applicationId,
          user_id: userId,
          id: disclosedId(generation),
          secret: "spent",
          ...{ setter_id: "", lat: 0, lng: 0, cell: 0, bearing: 0 }, // a marker, not a place
        })
        .onConflict((conflict) => conflict.columns(["application_id", "user_id", "id"]).doNothing())
        .execute();
    },

    async nextGeneration(applicationId, userId, generation, queries) {
      const disclosed = await queries
        .selectFrom("location_shifts")
        .select("id")
        .where("application_id", "=", applicationId)
        .where("user_id", "=", userId)
        .where("id", "=", disclosedId(generation))
        .executeTakeFirst();
      return disclosed === undefined ? generation : generation + 1;
    },
  };
}

/** The location columns of an object that others see at its true location. */
export function trueLocation(location: Location): LocatedRow {
  const cell = cellOf(location);
  return { lat: location.lat, lng: location.lng, cell, seen_lat: null, seen_lng: null, seen_cell: cell };
}

/** The id of the row that marks the secrets of a generation as disclosed. */
function disclosedId(generation: number): string {
  return `spent ${generation}`;
}

function shownPointOf(place: Place): Location {
  return destination(place, place.bearing, shiftMeters);
}

interface Place {
  readonly id: string;
  readonly lat: number;
  readonly lng: number;
  readonly bearing: number;
}

function placesOf({ applicationId, userId, setterId }: Placing, secret: ShiftSecret): Scope {
  return {
    shape: "places",
    from: sql`location_shifts`,
    select: sql`id, lat, lng, bearing`,
    cell: sql`cell`,
    conditions: [
      equals("application_id", applicationId),
      equals("user_id", userId),
      equals("setter_id", setterId),
      equals("secret", secret),
    ],
  };
}

async function findPlace(placing: Placing, secret: ShiftSecret, queries: Queries): Promise<Place | undefined> {
  const { location } = placing;
  const near = await rowsInCells<Place>(
    [placesOf(placing, secret)],
    cellsOfRing(location, 0, placeRadiusMeters),
    nearPlacesMax,
    queries,
  );
  const [oldest] = near
    .filter((place) => distanceMeters(place, location) <= placeRadiusMeters)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return oldest;
}

async function findFirstPlace(
  { applicationId, userId, setterId }: Placing,
  secret: ShiftSecret,
  queries: Queries,
): Promise<Place | undefined> {
  return queries
    .selectFrom("location_shifts")
    .select(["id", "lat", "lng", "bearing"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("setter_id", "=", setterId)
    .where("secret", "=", secret)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

/** The pole of a user's rotation: a quarter of the globe from the first place, perpendicular to its shift. */
function poleOf(first: Place): Location {
  return destination(first, first.bearing + 90, antipodalMeters / 2);
}

/** The direction in which a rotation about the pole moves a place. */
function bearingAbout(pole: Location, place: Location): number {
  return bearingTo(place, pole) - 90;
}

function randomBearing(): number {
  return (takeRandomBytes(4).readUInt32BE() / 2 ** 32) * 360;
}
