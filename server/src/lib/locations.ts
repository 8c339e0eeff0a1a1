import { type Parsed, refuseFormat, refuseRange } from "./parsed.ts";

/** A point in WGS 84 degrees: latitude -90 to 90, longitude -180 to 180. */
export type Location = { lat: number; lng: number };

/** A location in a request, with the place whose id was sent in its stead (spec/locations#ids-of-locations). */
export type SentLocation = Location & { readonly place?: { readonly id: string; readonly name: string } };

/**
 * A search area. The box extends east from its south-west to its north-east corner, so it crosses the antimeridian when
 * `southWest.lng` is greater than `northEast.lng`.
 */
export type LocationRange =
  | { shape: "circle"; center: Location; radiusMeters: number }
  | { shape: "box"; southWest: Location; northEast: Location };

const locationRule = "must be a location <latitude>,<longitude> such as 47.6,-122.3";
const degreesRule = "must have a latitude between -90 and 90 and a longitude between -180 and 180";
const areaRule = "must be a circle such as 47.6,-122.3,500 or a box such as 47.5,-122.4-47.7,-122.2";
const radiusRule = "must have a radius of 0 meters or more";
const boxRule = "must not have its south-west corner north of its north-east corner";

const textCharactersMax = 200;
const earthRadiusMeters = 6_371_008.8;
/** The distance between antipodes, which is the maximum distance. */
export const antipodalMeters = Math.PI * earthRadiusMeters;

/**
 * Parses `<lat>,<lng>`, with optional white space around the numbers, or an object with members `lat` and `lng` in any
 * case, as numbers or strings; other members are ignored (spec/transport#locations). Other input than two numbers is a
 * "format" problem, including NaN and words for infinity; degrees out of range are a "range" problem, including 1e400.
 * -0 becomes 0.
 */
export function parseLocation(input: unknown): Parsed<Location> {
  if (typeof input === "string") {
    const numbers = readNumbers(pairPattern, input);
    return numbers === undefined ? refuseFormat(locationRule) : checkDegrees(numbers[0], numbers[1]);
  }
  if (typeof input !== "object" || input === null) return refuseFormat(locationRule);
  const lat = readNumber(findMember(input, "lat"));
  const lng = readNumber(findMember(input, "lng"));
  return lat === undefined || lng === undefined ? refuseFormat(locationRule) : checkDegrees(lat, lng);
}

/**
 * Parses a search area: a circle `<lat>,<lng>,<meters>` or a box `<lat>,<lng>-<lat>,<lng>`, south-west corner first
 * (spec/search#areas). White space around numbers is ignored. A negative radius, a south-west corner north of the
 * north-east corner and degrees out of range are "range" problems.
 */
export function parseLocationRange(input: unknown): Parsed<LocationRange> {
  if (typeof input !== "string") return refuseFormat(areaRule);
  const circle = readNumbers(circlePattern, input);
  if (circle !== undefined) return checkCircle(checkDegrees(circle[0], circle[1]), circle[2]);
  const box = readNumbers(boxPattern, input);
  if (box !== undefined) return checkBox(checkDegrees(box[0], box[1]), checkDegrees(box[2], box[3]));
  return refuseFormat(areaRule);
}

/**
 * Returns the great-circle distance in metres on a sphere of 6,371,008.8 m. Bitwise equal in both directions, and 0
 * between different coordinates of one place: a pole with any longitude, longitude 180 and -180.
 */
export function distanceMeters(a: Location, b: Location): number {
  // Computes the haversine and its complement as sums of squares: neither cancels, so the result is as accurate between
  // antipodes as between neighbours, where the usual formula is off by centimetres.
  const turn = Math.abs(a.lng - b.lng);
  const halfLng = (turn > 180 ? 360 - turn : turn) / 2;
  const halfLat = (a.lat - b.lat) / 2;
  const middleLat = (a.lat + b.lat) / 2;
  const near = Math.hypot(sinDegrees(halfLat) * cosDegrees(halfLng), cosDegrees(middleLat) * sinDegrees(halfLng));
  const far = Math.hypot(cosDegrees(halfLat) * cosDegrees(halfLng), sinDegrees(middleLat) * sinDegrees(halfLng));
  return 2 * earthRadiusMeters * Math.atan2(near, far);
}

/** Returns the point at this distance along a great circle; `bearing` is in degrees clockwise from north. */
export function destination(from: Location, bearing: number, meters: number): Location {
  const angle = (meters / earthRadiusMeters) * (180 / Math.PI);
  const sinLat =
    sinDegrees(from.lat) * cosDegrees(angle) + cosDegrees(from.lat) * sinDegrees(angle) * cosDegrees(bearing);
  const east = sinDegrees(bearing) * sinDegrees(angle) * cosDegrees(from.lat);
  const north = cosDegrees(angle) - sinDegrees(from.lat) * sinLat;
  const lng = from.lng + (Math.atan2(east, north) * 180) / Math.PI;
  const lat = (Math.asin(Math.min(1, Math.max(-1, sinLat))) * 180) / Math.PI;
  return { lat, lng: lng > 180 ? lng - 360 : lng < -180 ? lng + 360 : lng };
}

/** Returns the initial direction of the great circle from one point to another, in degrees clockwise from north. */
export function bearingTo(from: Location, to: Location): number {
  const turn = to.lng - from.lng;
  const turnCos = sinDegrees(90 - turn);
  const east = sinDegrees(turn) * cosDegrees(to.lat);
  const north = cosDegrees(from.lat) * sinDegrees(to.lat) - sinDegrees(from.lat) * cosDegrees(to.lat) * turnCos;
  return (Math.atan2(east, north) * 180) / Math.PI;
}

// No two parts of the pattern match the same characters, so matching takes linear time.
const number = String.raw`\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*`;
const numberPattern = new RegExp(`^${number}$`, "i");
const pairPattern = new RegExp(`^${number},${number}$`, "i");
const circlePattern = new RegExp(`^${number},${number},${number}$`, "i");
const boxPattern = new RegExp(`^${number},${number}-${number},${number}$`, "i");

function readNumbers(pattern: RegExp, text: string): number[] | undefined {
  if (text.length > textCharactersMax) return undefined;
  return pattern.exec(text)?.slice(1).map(Number);
}

function readNumber(input: unknown): number | undefined {
  if (typeof input === "bigint") return Number(input); // from `parseJson`, for an integer of many digits
  if (typeof input === "number") return Number.isNaN(input) ? undefined : input;
  return typeof input === "string" ? readNumbers(numberPattern, input)?.[0] : undefined;
}

/** Returns the member with this name, or else the last one whose name differs only in case. */
function findMember(input: object, name: string): unknown {
  const members: [string, unknown][] = Object.entries(input);
  const isNamed = ([key]: [string, unknown]) => key.toLowerCase() === name;
  return (members.find(([key]) => key === name) ?? members.findLast(isNamed))?.[1];
}

/** Absent numbers are out of range, as is NaN. */
function checkDegrees(lat = Number.NaN, lng = Number.NaN): Parsed<Location> {
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) return refuseRange(degreesRule);
  return { value: { lat: lat + 0, lng: lng + 0 } }; // + 0 turns -0 into 0
}

function checkCircle(center: Parsed<Location>, meters = Number.NaN): Parsed<LocationRange> {
  if ("problem" in center) return center;
  if (!(meters >= 0 && Number.isFinite(meters))) return refuseRange(radiusRule);
  return { value: { shape: "circle", center: center.value, radiusMeters: meters + 0 } };
}

function checkBox(southWest: Parsed<Location>, northEast: Parsed<Location>): Parsed<LocationRange> {
  if ("problem" in southWest) return southWest;
  if ("problem" in northEast) return northEast;
  if (southWest.value.lat > northEast.value.lat) return refuseRange(boxRule);
  return { value: { shape: "box", southWest: southWest.value, northEast: northEast.value } };
}

function sinDegrees(degrees: number): number {
  return Math.sin((degrees * Math.PI) / 180);
}

/** Uses the sine, because Math.cos of a right angle is not exactly 0. */
function cosDegrees(degrees: number): number {
  return sinDegrees(90 - Math.abs(degrees));
}
