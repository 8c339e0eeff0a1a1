import { sql } from "kysely";
import { equals } from "../db/conditions.ts";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { rowsInCells, type Scope } from "../db/scope.ts";
import type { LocatedRow } from "../db/tables.ts";
import { cellOf, cellsOfRing } from "../lib/cells.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { bearingTo, destination, distanceMeters, halfRoundMeters, type Location } from "../lib/locations.ts";
import { takeRandomBytes } from "../lib/random.ts";

/** Whose object lies where. */
export interface Placing {
  readonly applicationId: string;
  /** The owner of the object. */
  readonly userId: string;
  /** Who says where it lies: the owner, or somebody who may write it. */
  readonly setterId: string;
  readonly location: Location;
}

/**
 * locationFuzzing (surface.md section 5): where others see what a user has located.
 *
 * A place is remembered the first time that something lies there. It is shown shifted by a kilometre, always to the same
 * point, whatever of the place is meant: nothing is learnt by moving about in it. All places of a user are shifted as by
 * one turn of the globe about a secret pole, so that together they are the truth, moved as a whole: however many shifted
 * points somebody collects, their mean is as far off as each of them. Why this and nothing else: docs/decisions/0005.
 */
export interface Fuzzing {
  /** The columns of an object that lies there, as its owner's settings have it; to be written in the same transaction. */
  locate(placing: Placing, queries: Queries): Promise<LocatedRow>;
  /** Whether a user has locationFuzzing; it stays so until the transaction ends. */
  isFuzzed(applicationId: string, userId: string, queries: Queries): Promise<boolean>;
  /**
   * Like `locate`, where it is known whether others see a shifted point: of where a user is they always do, because nobody
   * else is told where that is, and a search must not tell either.
   */
  locateAs(isFuzzed: boolean, placing: Placing, queries: Queries): Promise<LocatedRow>;
}

/** How far a place is shifted. */
const shiftMeters = 1_000;
/** What lies within this distance of where a place began belongs to it: shown 510 to 1,490 m off. */
const placeRadiusMeters = 490;
/** Places begin at least so far apart, so that few are near. */
const nearPlacesMax = 200;

export function createFuzzing({ database, ids }: { database: Database; ids: IdGenerator }): Fuzzing {
  const { dialect } = database;
  const findOwner = prepare<{ applicationId: string; userId: string }, { location_fuzzing: number }>(
    (queries, parameter) =>
      queries
        .selectFrom("users")
        .select("location_fuzzing")
        .where("application_id", "=", parameter("applicationId"))
        .where("id", "=", parameter("userId"))
        .modifyEnd(dialect.forShare),
  );

  async function findOrInsertPlace(placing: Placing, queries: Queries): Promise<Place> {
    const { applicationId, userId, setterId, location } = placing;
    for (const statement of dialect.takeTurns(`places ${userId}`)) await statement.execute(queries);
    const places = placesOf(placing);
    const near = await rowsInCells<Place>(
      [places],
      cellsOfRing(location, 0, placeRadiusMeters),
      nearPlacesMax,
      queries,
    );
    const [oldest] = near
      .filter((place) => distanceMeters(place, location) <= placeRadiusMeters)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    if (oldest !== undefined) return oldest;

    const first = await findFirstPlace(placing, queries);
    const bearing = first === undefined ? randomBearing() : bearingAbout(poleOf(first), location);
    const place: Place = { ...location, id: ids.newId("Place"), bearing };
    await queries
      .insertInto("location_shifts")
      .values({ application_id: applicationId, user_id: userId, setter_id: setterId, cell: cellOf(location), ...place })
      .execute();
    return place;
  }

  async function locateAs(isFuzzed: boolean, placing: Placing, queries: Queries): Promise<LocatedRow> {
    const { location } = placing;
    const truth = { lat: location.lat, lng: location.lng, cell: cellOf(location) };
    if (!isFuzzed) return { ...truth, seen_lat: null, seen_lng: null, seen_cell: truth.cell };
    const place = await findOrInsertPlace(placing, queries);
    const seen = destination(place, place.bearing, shiftMeters);
    return { ...truth, seen_lat: seen.lat, seen_lng: seen.lng, seen_cell: cellOf(seen) };
  }

  async function isFuzzed(applicationId: string, userId: string, queries: Queries): Promise<boolean> {
    const [owner] = await findOwner(queries, { applicationId, userId });
    return owner?.location_fuzzing === 1;
  }

  return {
    isFuzzed,
    locateAs,
    async locate(placing, queries) {
      return locateAs(await isFuzzed(placing.applicationId, placing.userId, queries), placing, queries);
    },
  };
}

interface Place {
  readonly id: string;
  readonly lat: number;
  readonly lng: number;
  readonly bearing: number;
}

function placesOf({ applicationId, userId, setterId }: Placing): Scope {
  return {
    shape: "places",
    from: sql`location_shifts`,
    select: sql`id, lat, lng, bearing`,
    cell: sql`cell`,
    conditions: [equals("application_id", applicationId), equals("user_id", userId), equals("setter_id", setterId)],
  };
}

async function findFirstPlace(
  { applicationId, userId, setterId }: Placing,
  queries: Queries,
): Promise<Place | undefined> {
  return queries
    .selectFrom("location_shifts")
    .select(["id", "lat", "lng", "bearing"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("setter_id", "=", setterId)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

/** A user's map is turned about this point, a quarter round the earth from the first place and square to its shift. */
function poleOf(first: Place): Location {
  return destination(first, first.bearing + 90, halfRoundMeters / 2);
}

/** The way that a turn about a pole takes a place. */
function bearingAbout(pole: Location, place: Location): number {
  return bearingTo(place, pole) - 90;
}

function randomBearing(): number {
  return (takeRandomBytes(4).readUInt32BE() / 2 ** 32) * 360;
}
