import type { CheckinRow } from "../src/db/tables.ts";
import { cellOf } from "../src/lib/cells.ts";

/** A check-in as it is stored, private and without anything optional, where a test says nothing else. */
export function checkinRow(
  row: Pick<CheckinRow, "application_id" | "id" | "user_id"> & Partial<CheckinRow>,
): CheckinRow {
  const { lat = 1, lng = 2, created_at = 0 } = row;
  return {
    lat,
    lng,
    cell: cellOf({ lat, lng }),
    setter_id: null,
    seen_lat: null,
    seen_lng: null,
    seen_cell: cellOf({ lat, lng }),
    comment: null,
    description: null,
    tag: null,
    read_permission: null,
    write_permission: null,
    created_at,
    modified_at: created_at,
    ...row,
  };
}
