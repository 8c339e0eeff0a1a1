/** A point in WGS 84 degrees. */
export interface Place {
  readonly lat: number;
  readonly lng: number;
}

/** A circle: its centre, and its radius in metres. */
export interface Near extends Place {
  readonly meters: number;
}

/** A box. It crosses the antimeridian if `southWest.lng` is greater than `northEast.lng`. */
export interface Box {
  readonly southWest: Place;
  readonly northEast: Place;
}

/** Both bounds are inclusive; a missing bound is open. */
export interface DateRange {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}
