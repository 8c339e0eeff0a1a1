import type { Parameters } from "./call.ts";
import type { Box, Near, Place } from "./values.ts";

/**
 * Encodes the parameters of an app for the wire: dates, points and ranges become strings, and undefined values
 * are omitted. Values under `value` and `values` belong to the app and stay unchanged.
 */
export function encodeParameters(parameters: Parameters): Record<string, unknown> {
  const encoded: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || (value === null && name !== "value")) continue;
    if (name === "value" || name === "values") encoded[name] = value;
    else if (name === "near") encoded["locationRange"] = `${placeText(value as Near)},${(value as Near).meters}`;
    else if (name === "box") {
      const { southWest, northEast } = value as Box;
      encoded["locationRange"] = `${placeText(southWest)}-${placeText(northEast)}`;
    } else encoded[name] = encodeValue(value);
  }
  return encoded;
}

/** Returns encoded parameters as a query string, with the question mark. */
export function encodeQuery(parameters: Readonly<Record<string, unknown>>): string {
  const query = Object.entries(parameters).map(([name, value]) => {
    const text = typeof value === "object" ? JSON.stringify(value) : `${value}`;
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  });
  return query.length > 0 ? `?${query.join("&")}` : "";
}

function encodeValue(value: unknown): unknown {
  if (value instanceof Date) return dateText(value);
  if (Array.isArray(value)) return value.map(encodeValue);
  if (value === null || typeof value !== "object") return value;
  const { lat, lng, from, to } = value as Partial<Place> & { from?: unknown; to?: unknown };
  if (typeof lat === "number" && typeof lng === "number") return placeText({ lat, lng });
  if (from instanceof Date || to instanceof Date) return `${dateText(from)}-${dateText(to)}`;
  return encodeParameters(value as Parameters);
}

function dateText(date: unknown): string {
  return date instanceof Date ? `/Date(${date.getTime()})/` : "";
}

/** Seven decimals are about a centimetre. The service refuses a place without numbers and names the parameter. */
function placeText({ lat, lng }: Partial<Place> = {}): string {
  return `${decimal(lat)},${decimal(lng)}`;
}

/** Formats without an exponent, which the service does not accept. */
function decimal(degrees: number | undefined): string {
  return Number(degrees)
    .toFixed(7)
    .replace(/\.?0+$/, "");
}
