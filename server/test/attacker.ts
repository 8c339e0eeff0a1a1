import { createRandom } from "../../testkit/random.ts";
import { bearingTo, destination, distanceMeters, type Location } from "../src/lib/locations.ts";

/**
 * Estimates of true locations by an attacker who knows the algorithm of locationFuzzing, from fuzzed locations.
 */

export { createRandom };

/** Returns a uniformly distributed point within a circle. */
export function pointWithin(center: Location, meters: number, random: () => number): Location {
  return destination(center, random() * 360, meters * Math.sqrt(random()));
}

/** Returns points on the straight line between two points, excluding both. */
export function pointsBetween(from: Location, to: Location, count: number): Location[] {
  const whole = distanceMeters(from, to);
  return Array.from({ length: count }, (_, n) => {
    const meters = (whole * (n + 1)) / (count + 1);
    return destination(from, bearingTo(from, to), meters);
  });
}

/** Estimates a true location from its fuzzed locations. */
export const estimators: Readonly<Record<string, (shown: readonly Location[]) => Location>> = {
  mean,
  "mean of the distinct points": (shown) => mean(distinct(shown)),
  median,
  "median of the distinct points": (shown) => median(distinct(shown)),
  "middle of what lies 500 to 1,500 m off all shown points": (shown) => middleOfFeasible(distinct(shown)),
};

export function distinct(points: readonly Location[]): Location[] {
  return [...new Map(points.map((point) => [`${point.lat},${point.lng}`, point])).values()];
}

/** Finds the intersection of three or more circles near a start, by a search on successively finer grids. */
export function trilaterate(circles: readonly { center: Location; meters: number }[], near: Location): Location {
  const miss = (point: Location) =>
    circles.reduce((sum, { center, meters }) => sum + (distanceMeters(center, point) - meters) ** 2, 0);
  let best = near;
  for (let step = 1_000; step > 0.1; step /= 2) {
    for (let isBetter = true; isBetter; ) {
      const around = [0, 45, 90, 135, 180, 225, 270, 315].map((bearing) => destination(best, bearing, step));
      const [closest = best] = around.toSorted((a, b) => miss(a) - miss(b));
      isBetter = miss(closest) < miss(best);
      if (isBetter) best = closest;
    }
  }
  return best;
}

/** The largest radius, to the metre, of a circle that does not contain a point. */
export async function findDistance(isWithin: (meters: number) => Promise<boolean>, metersMax: number): Promise<number> {
  let low = 0;
  let high = metersMax;
  while (high - low > 0.5) {
    const middle = (low + high) / 2;
    if (await isWithin(middle)) high = middle;
    else low = middle;
  }
  return high;
}

function middleOfFeasible(shown: readonly Location[]): Location {
  const origin = mean(shown);
  const feasible: Vector[] = [];
  for (let meters = 25; meters < 2_500; meters += 50) {
    const count = Math.ceil(meters / 8); // proportional to the circumference
    for (let n = 0; n < count; n++) {
      const point = destination(origin, (360 * n) / count, meters);
      const isFeasible = shown.every((each) => {
        const distance = distanceMeters(point, each);
        return distance >= 500 && distance <= 1_500;
      });
      if (isFeasible) feasible.push(vectorOf(point));
    }
  }
  return feasible.length === 0 ? origin : locationOf(sum(feasible));
}

type Vector = readonly [number, number, number];

function mean(points: readonly Location[]): Location {
  return locationOf(sum(points.map(vectorOf)));
}

function median(points: readonly Location[]): Location {
  const vectors = points.map(vectorOf);
  const middle = (axis: 0 | 1 | 2) => vectors.map((vector) => vector[axis]).sort((a, b) => a - b)[vectors.length >> 1];
  return locationOf([middle(0) ?? 0, middle(1) ?? 0, middle(2) ?? 0]);
}

function sum(vectors: readonly Vector[]): Vector {
  return vectors.reduce(([x, y, z], vector) => [x + vector[0], y + vector[1], z + vector[2]], [0, 0, 0]);
}

/** Uses unit vectors, which have no special cases at the poles and the antimeridian. */
function vectorOf({ lat, lng }: Location): Vector {
  const phi = (lat * Math.PI) / 180;
  const lambda = (lng * Math.PI) / 180;
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

function locationOf([x, y, z]: Vector): Location {
  return { lat: (Math.atan2(z, Math.hypot(x, y)) * 180) / Math.PI, lng: (Math.atan2(y, x) * 180) / Math.PI };
}
