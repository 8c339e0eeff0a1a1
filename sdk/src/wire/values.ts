/** A point in WGS 84 degrees. */
export interface Place {
  readonly lat: number;
  readonly lng: number;
}

/** A circle. */
export interface Near extends Place {
  readonly meters: number;
}

/** A box; one whose west is east of its east crosses the antimeridian. */
export interface Box {
  readonly southWest: Place;
  readonly northEast: Place;
}

/** Both bounds are inclusive; a missing bound is open. */
export interface DateRange {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}
