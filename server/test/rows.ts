import assert from "node:assert/strict";
import type { Queries } from "../src/db/database.ts";
import type { CheckinRow, FileRow, LocationRow } from "../src/db/tables.ts";
import { cellOf } from "../src/lib/cells.ts";
import { noFields } from "../src/locations/locations.contract.ts";
import { trueLocation } from "../src/privacy/fuzzing.ts";
import { keepAlive, type TestApp, type TestUser } from "./harness.ts";

/** A stored check-in: private and without optional values by default. */
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
    occurred_at: null,
    location_id: null,
    location_name: null,
    description: null,
    tag: null,
    read_permission: null,
    write_permission: null,
    created_at,
    modified_at: created_at,
    ...row,
  };
}

export function insertCheckins(test: TestApp, rows: readonly CheckinRow[]): Promise<void> {
  return insertInChunks(test, rows, (some, queries) => queries.insertInto("checkins").values(some));
}

/** A stored private location without optional values by default. */
export function locationRow(
  row: Pick<LocationRow, "application_id" | "id" | "user_id"> & Partial<LocationRow>,
): LocationRow {
  const { lat = 1, lng = 2, created_at = 0 } = row;
  return {
    ...trueLocation({ lat, lng }),
    ...noFields,
    name: "name",
    setter_id: null,
    tag: null,
    read_permission: null,
    write_permission: null,
    created_at,
    modified_at: created_at,
    ...row,
  };
}

export function insertLocations(test: TestApp, rows: readonly LocationRow[]): Promise<void> {
  return insertInChunks(test, rows, (some, queries) => queries.insertInto("locations").values(some));
}

/** A stored private blob without its bytes: without optional values by default. */
export function fileRow(row: Pick<FileRow, "application_id" | "id" | "user_id"> & Partial<FileRow>): FileRow {
  const { created_at = 0 } = row;
  return {
    kind: "Blob",
    setter_id: null,
    content_type: "application/octet-stream",
    content_length: 1,
    content_hash: "",
    file_name: null,
    title: null,
    detail: null,
    label: null,
    bit_rate: null,
    length_in_seconds: null,
    thumbnail_id: null,
    width: null,
    height: null,
    tag: null,
    lat: null,
    lng: null,
    cell: null,
    seen_lat: null,
    seen_lng: null,
    seen_cell: null,
    read_permission: null,
    write_permission: null,
    created_at,
    modified_at: created_at,
    ...row,
  };
}

export function insertFiles(test: TestApp, rows: readonly FileRow[]): Promise<void> {
  return insertInChunks(test, rows, (some, queries) => queries.insertInto("files").values(some));
}

/** Chunks stay below the engines' limits of parameters. */
async function insertInChunks<Row>(
  { app }: TestApp,
  rows: readonly Row[],
  insert: (some: readonly Row[], queries: Queries) => { execute(): Promise<unknown> },
): Promise<void> {
  for (let start = 0; start < rows.length; start += 500) {
    const some = rows.slice(start, start + 500);
    await app.database.write(({ queries }) => insert(some, queries).execute());
  }
}

/** The result of `GET /checkins`. */
export interface CheckinsPage {
  readonly pageResults: readonly { readonly id: string }[];
  readonly currentToken: string;
  readonly nextToken?: string;
  readonly previousToken?: string;
}

/** Reads a page of a search that must succeed. */
export async function readCheckins(
  test: TestApp,
  query: Readonly<Record<string, string | number>>,
  { token }: TestUser,
): Promise<CheckinsPage> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const { status, body } = await test.call(`GET /checkins?${text}`, { token, agent: keepAlive });
  assert.equal(status, 200, `${text}: ${body.message}`);
  return body.result;
}

export function idsOf({ pageResults }: CheckinsPage): string[] {
  return pageResults.map(({ id }) => id);
}

/** Reads all pages from this one on, in one direction. */
export async function walkCheckins(
  test: TestApp,
  first: CheckinsPage,
  direction: "nextToken" | "previousToken",
  reader: TestUser,
): Promise<CheckinsPage[]> {
  const pages = [first];
  for (let token = first[direction]; token !== undefined; ) {
    const page = await readCheckins(test, { pagingToken: token }, reader);
    pages.push(page);
    token = page[direction];
    assert.ok(pages.length < 1_000, "paging does not end");
  }
  return pages;
}
