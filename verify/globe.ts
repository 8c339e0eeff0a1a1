/** A point in degrees. */
export interface Point {
  readonly lat: number;
  readonly lng: number;
}

/** spec/search#distances. */
const earthRadiusMeters = 6_371_008.8;

type Vector = readonly [x: number, y: number, z: number];

/** The great-circle distance on a sphere, by the angle between two vectors. */
export function metersBetween(a: Point, b: Point): number {
  const [u, v] = [vectorOf(a), vectorOf(b)];
  const [cross, dot] = [lengthOf(crossOf(u, v)), u[0] * v[0] + u[1] * v[1] + u[2] * v[2]];
  return Math.atan2(cross, dot) * earthRadiusMeters;
}

/** A point moved north and east, accurate for short distances away from the poles. */
export function moved({ lat, lng }: Point, metersNorth: number, metersEast: number): Point {
  const degrees = (meters: number, radius: number) => (meters / radius) * (180 / Math.PI);
  const radius = earthRadiusMeters * Math.cos(toRadians(lat));
  return { lat: lat + degrees(metersNorth, earthRadiusMeters), lng: lng + degrees(metersEast, radius) };
}

/** Points spread evenly over the whole Earth. */
export function spread(count: number): Point[] {
  const goldenDegrees = 180 * (3 - Math.sqrt(5));
  return Array.from({ length: count }, (_, index) => {
    const height = 1 - (2 * index + 1) / count;
    return { lat: (Math.asin(height) * 180) / Math.PI, lng: ((index * goldenDegrees) % 360) - 180 };
  });
}

/** A point in the format of a request. */
export function format({ lat, lng }: Point): string {
  return `${lat},${lng}`;
}

function vectorOf({ lat, lng }: Point): Vector {
  const [phi, lambda] = [toRadians(lat), toRadians(lng)];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

function crossOf(u: Vector, v: Vector): Vector {
  return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
}

function lengthOf(v: Vector): number {
  return Math.hypot(...v);
}

function toRadians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
