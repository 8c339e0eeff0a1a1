import type { MetadataRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";

/** In UTF-8, as the service writes the JSON: without whitespace. */
const valueBytesMax = 32_768;

/**
 * Returns the columns of a value.
 *
 * @param name of the value in the error message
 * @throws ApiError RequestTooLarge
 */
export function valueColumns(json: string, parameter: string, name = parameter): Pick<MetadataRow, "value" | "number"> {
  if (Buffer.byteLength(json) > valueBytesMax) {
    throw new ApiError("RequestTooLarge", `${name} is larger than ${valueBytesMax} bytes of JSON.`, {
      parameter,
    });
  }
  if (!isNumber(json)) return { value: json, number: null };
  const number = Number(json);
  return { value: String(number) === json ? null : json, number }; // an integer may have more digits than a double
}

/** Returns the JSON of a value as it was put. */
export function jsonOf({ value, number }: Pick<MetadataRow, "value" | "number">): string {
  return value ?? String(number);
}

/** The location columns of an item without a location. */
export const nowhere = {
  setter_id: null,
  lat: null,
  lng: null,
  cell: null,
  seen_lat: null,
  seen_lng: null,
  seen_cell: null,
} satisfies Partial<MetadataRow>;

function isNumber(json: string): boolean {
  return /^[-0-9]/.test(json);
}
