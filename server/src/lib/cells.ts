import { distanceMeters, type Location, type LocationRange } from "./locations.ts";

/** A range of cells, including `from` and `to`. */
export interface CellRange {
  readonly from: number;
  readonly to: number;
}

const rangesDefault = 24;
const bits = 26;
const sideMax = 2 ** bits;

/**
 * The number of cells to examine per requested range. More cells follow the border of the area more closely, as far as
 * the number of ranges allows, and take proportionally more time.
 */
const cellsPerRange = 16;

/**
 * How much a circle is widened and a hole narrowed: far more than the rounding errors here and in `distanceMeters`, and
 * far less than a cell.
 */
const slackMeters = 0.001;
const slackShare = 1e-9;

/** In radians: rounding hides the border of a circle that is closer than this to the antipode of its center. */
const antipode = 1e-4;

const earthRadiusMeters = distanceMeters({ lat: -90, lng: 0 }, { lat: 90, lng: 0 }) / Math.PI;

/**
 * The index of a location on a Z-order curve over the map: 26 bits of longitude and 26 of latitude interleaved,
 * longitude first. Neighbouring places mostly have close numbers, so that a few ranges of one indexed column cover an
 * area. A cell is at most 0.6 m wide and 0.3 m high. Longitude 180 and -180 are separate cells.
 */
export function cellOf(location: Location): number {
  return interleave(indexOf(location.lng, 180), indexOf(location.lat, 90));
}

/** The location in the middle of a cell. */
export function centerOfCell(cell: number): Location {
  const high = Math.floor(cell / sideMax);
  const low = cell % sideMax;
  const x = (gather(high >>> 1) << 13) | gather(low >>> 1);
  const y = (gather(high) << 13) | gather(low);
  return { lat: ((y + 0.5) / sideMax) * 180 - 90, lng: ((x + 0.5) / sideMax) * 360 - 180 };
}

/** Whether a location is in the area or on its border. Longitudes 180 and -180 are the same meridian. */
export function isInRange(location: Location, range: LocationRange): boolean {
  if (range.shape === "circle") return distanceMeters(range.center, location) <= range.radiusMeters;
  const { southWest, northEast } = range;
  if (!(southWest.lat <= location.lat && location.lat <= northEast.lat)) return false;
  if (isBetween(location.lng, southWest.lng, northEast.lng)) return true;
  return Math.abs(location.lng) === 180 && isBetween(-location.lng, southWest.lng, northEast.lng);
}

/**
 * Returns ascending, separate ranges of cells that contain every location in the area, and others near it: callers must
 * filter the rows with `isInRange`.
 */
export function cellsOfRange(range: LocationRange, rangesMax: number = rangesDefault): CellRange[] {
  if (range.shape === "circle") return cellsOfRing(range.center, 0, range.radiusMeters, rangesMax);
  return cellsOfBox(range.southWest, range.northEast, rangesMax);
}

/**
 * Returns the ranges for the locations whose `distanceMeters` from the center is between `innerMeters` and
 * `outerMeters`, inclusive.
 */
export function cellsOfRing(
  center: Location,
  innerMeters: number,
  outerMeters: number,
  rangesMax: number = rangesDefault,
): CellRange[] {
  if (!(outerMeters >= 0 && innerMeters <= outerMeters)) return [];
  const disc = outerDisc(center, outerMeters);
  const hole = innerDisc(center, innerMeters);
  const south = Math.max(center.lat - disc.degrees, -90);
  const north = Math.min(center.lat + disc.degrees, 90);
  const height = (north - south) / 180;
  const width = widthOf(disc) / 360;
  const share = 1 - (hole.degrees / disc.degrees) ** 2;

  const level = finestLevel(rangesMax, (side) => {
    const rows = height * side + 1;
    const columns = Math.min(width * side + 1, side);
    return Math.min(rows * columns, share * rows * columns + 2 * (rows + columns));
  });
  const side = 2 ** level;
  const spans: Span[] = [];
  const lastRow = Math.min(Math.floor(((north + 90) / 180) * side), side - 1);
  for (let row = Math.floor(((south + 90) / 180) * side); row <= lastRow; row++) {
    addRing(spans, row, side, center.lng, disc, hole);
  }
  return rangesOf(spans, level, rangesMax);
}

/**
 * Returns the ranges for a box. It crosses the antimeridian if its west is greater than its east, as in
 * `LocationRange`.
 */
export function cellsOfBox(southWest: Location, northEast: Location, rangesMax: number = rangesDefault): CellRange[] {
  const columnsAt = (side: number) => {
    const shift = bits - Math.log2(side);
    const west = indexOf(southWest.lng, 180) >>> shift;
    const east = indexOf(northEast.lng, 180) >>> shift;
    // A side on the antimeridian also includes the cells of this meridian at the other edge of the map.
    if (southWest.lng > northEast.lng) return { from: west, to: east + side };
    return { from: southWest.lng === -180 ? west - 1 : west, to: northEast.lng === 180 ? east + 1 : east };
  };
  const south = indexOf(southWest.lat, 90);
  const north = indexOf(northEast.lat, 90);
  if (south > north) return [];

  const level = finestLevel(rangesMax, (side) => {
    const { from, to } = columnsAt(side);
    return Math.min(to - from + 1, side) * ((north - south) / (sideMax / side) + 1);
  });
  const columns = columnsAt(2 ** level);
  const spans: Span[] = [];
  const shift = bits - level;
  for (let row = south >>> shift; row <= north >>> shift; row++) spans.push({ row, ...columns });
  return rangesOf(spans, level, rangesMax);
}

/** Columns of one row of the map. Numbers continue past the edges: the column after the last is the first. */
interface Span {
  readonly row: number;
  readonly from: number;
  readonly to: number;
}

/** A circle around a location. */
interface Disc {
  readonly lat: number;
  readonly cosLat: number;
  readonly degrees: number;
  /** The haversine of the radius: more than 1 for a disc that covers the world, negative for an empty disc. */
  readonly haversine: number;
  /** The latitude where the disc is widest in longitude (narrowest, if it covers more than half the world), or NaN. */
  readonly turnLat: number;
}

/** Returns the index of a coordinate, of 2^26, on an axis from -limit to limit. */
function indexOf(degrees: number, limit: number): number {
  return Math.min(Math.floor(((degrees + limit) / (2 * limit)) * sideMax), sideMax - 1);
}

/** Interleaves the bits of two integers of at most 26 bits, starting with x. */
function interleave(x: number, y: number): number {
  const high = (spread(x >>> 13) << 1) | spread(y >>> 13);
  const low = (spread(x & 0x1fff) << 1) | spread(y & 0x1fff);
  return high * sideMax + low;
}

/** Moves bit n of an integer of 13 bits to bit 2n. */
function spread(index: number): number {
  let result = (index | (index << 8)) & 0x00ff00ff;
  result = (result | (result << 4)) & 0x0f0f0f0f;
  result = (result | (result << 2)) & 0x33333333;
  return (result | (result << 1)) & 0x55555555;
}

/** Moves bit 2n of an integer to bit n: the inverse of `spread`. */
function gather(index: number): number {
  let result = index & 0x55555555;
  result = (result | (result >>> 1)) & 0x33333333;
  result = (result | (result >>> 2)) & 0x0f0f0f0f;
  result = (result | (result >>> 4)) & 0x00ff00ff;
  return (result | (result >>> 8)) & 0x1fff;
}

function isBetween(lng: number, west: number, east: number): boolean {
  return west <= east ? west <= lng && lng <= east : west <= lng || lng <= east;
}

/**
 * Returns the finest level, with 4^level cells in the map, at which the area does not exceed the number of cells to
 * examine.
 */
function finestLevel(rangesMax: number, countCells: (side: number) => number): number {
  let level = bits;
  while (level > 0 && countCells(2 ** level) > cellsPerRange * rangesMax) level--;
  return level;
}

function outerDisc(center: Location, meters: number): Disc {
  const radians = (meters * (1 + slackShare) + slackMeters) / earthRadiusMeters;
  return radians < Math.PI - antipode ? makeDisc(center.lat, radians) : wholeDisc(center.lat, 180, 2);
}

function innerDisc(center: Location, meters: number): Disc {
  const radians = (meters * (1 - slackShare) - slackMeters) / earthRadiusMeters;
  return radians > 0 ? makeDisc(center.lat, Math.min(radians, Math.PI - antipode)) : wholeDisc(center.lat, 0, -1);
}

/** Makes a disc that is the world or empty. */
function wholeDisc(lat: number, degrees: number, haversine: number): Disc {
  return { lat, cosLat: cosDegrees(lat), degrees, haversine, turnLat: Number.NaN };
}

function makeDisc(lat: number, radians: number): Disc {
  const cosLat = cosDegrees(lat);
  const sin = Math.sin(radians);
  const cos = Math.cos(radians);
  // The latitude where cos(radius) * sin(latitude) = sin(center's latitude); NaN if the border goes around a pole. The
  // square is cosLat^2 - sin^2 = cos^2 - sinLat^2: the form whose terms are not near 1 loses less precision.
  const sinLat = sinDegrees(lat);
  const square = cosLat < Math.abs(sinLat) ? (cosLat - sin) * (cosLat + sin) : (cos - sinLat) * (cos + sinLat);
  const turn = Math.atan2(sinLat, Math.sqrt(square));
  const turnLat = ((radians < Math.PI / 2 ? turn : -turn) * 180) / Math.PI;
  return { lat, cosLat, degrees: (radians * 180) / Math.PI, haversine: Math.sin(radians / 2) ** 2, turnLat };
}

/** Returns the maximum width of a disc in degrees of longitude: 360 if it contains a pole. */
function widthOf(disc: Disc): number {
  if (Math.abs(disc.lat) + disc.degrees >= 90) return 360;
  return (Math.asin(Math.min(sinDegrees(disc.degrees) / disc.cosLat, 1)) * 360) / Math.PI;
}

/**
 * Returns how far a disc extends east and west of its center at a latitude, in degrees; negative outside of the disc.
 */
function reachAt(disc: Disc, lat: number): number {
  const rest = disc.haversine - sinDegrees((lat - disc.lat) / 2) ** 2;
  if (rest < 0) return -1;
  const whole = cosDegrees(lat) * disc.cosLat;
  return rest < whole ? (Math.asin(Math.sqrt(rest / whole)) * 360) / Math.PI : 180;
}

/**
 * Returns the maximum or minimum extent of a disc between two latitudes: at one of them, or at `turnLat` in between.
 */
function reach(disc: Disc, south: number, north: number, pick: (...values: number[]) => number): number {
  const ends = pick(reachAt(disc, south), reachAt(disc, north));
  return south < disc.turnLat && disc.turnLat < north ? pick(ends, reachAt(disc, disc.turnLat)) : ends;
}

/** Adds the columns of a row that touch the disc and are not completely in the hole. */
function addRing(spans: Span[], row: number, side: number, lng: number, disc: Disc, hole: Disc): void {
  const south = (row / side) * 180 - 90;
  const north = ((row + 1) / side) * 180 - 90;
  const outer = reach(disc, south, north, Math.max);
  const inner = reach(hole, south, north, Math.min);
  if (outer < 0 || inner === 180) return;
  const columnAt = (degrees: number) => Math.floor(((degrees + 180) / 360) * side);
  const from = columnAt(lng - outer);
  const to = Math.min(columnAt(lng + outer), from + side - 1);
  const holeFrom = columnAt(lng - inner) + 1;
  const holeTo = columnAt(lng + inner) - 1;
  if (inner < 0 || holeFrom > holeTo) {
    spans.push({ row, from, to });
    return;
  }
  spans.push({ row, from, to: holeFrom - 1 });
  if (holeTo < to) spans.push({ row, from: holeTo + 1, to });
}

/** Converts spans to ranges of cells, and closes the smallest gaps if there are too many ranges. */
function rangesOf(spans: readonly Span[], level: number, rangesMax: number): CellRange[] {
  const cells = cellsOf(spans, 2 ** level);
  const gaps = cells.subarray(1).map((cell, index) => cell - (cells[index] ?? 0));
  gaps.sort();
  // Keep the widest gaps. Of the gaps with the smallest width to keep, keep the first ones that fit. Adjacent cells are
  // 1 apart, which is not a gap.
  const least = rangesMax > 1 ? Math.max(gaps[gaps.length - rangesMax + 1] ?? 2, 2) : Number.POSITIVE_INFINITY;
  const wider = gaps.length - 1 - gaps.findLastIndex((gap) => gap <= least);
  let room = rangesMax - 1 - wider;

  const ranges: CellRange[] = [];
  const scale = 4 ** (bits - level);
  let from = cells[0] ?? 0;
  let last = from;
  for (const cell of cells) {
    const gap = cell - last;
    if (gap > least || (gap === least && room-- > 0)) {
      ranges.push({ from: from * scale, to: (last + 1) * scale - 1 });
      from = cell;
    }
    last = cell;
  }
  if (cells.length > 0) ranges.push({ from: from * scale, to: (last + 1) * scale - 1 });
  return ranges;
}

/** Returns the cells of the spans, ascending, on a map with this many columns. */
function cellsOf(spans: readonly Span[], side: number): Float64Array {
  let count = 0;
  for (const { from, to } of spans) count += Math.min(to - from + 1, side);
  const cells = new Float64Array(count);
  let next = 0;
  for (const { row, from, to } of spans) {
    for (let column = from; column <= Math.min(to, from + side - 1); column++) {
      cells[next++] = interleave(column & (side - 1), row);
    }
  }
  return cells.sort();
}

function sinDegrees(degrees: number): number {
  return Math.sin((degrees * Math.PI) / 180);
}

/** Uses the sine, because Math.cos of a right angle is not exactly 0. */
function cosDegrees(degrees: number): number {
  return sinDegrees(90 - Math.abs(degrees));
}
