import type { CheckinRow } from "../db/tables.ts";
import { operation } from "../operations/operation.ts";
import { createOwned, newColumns } from "../owned/changes.ts";
import { columnsOf } from "../owned/fields.ts";
import { ownedOperations } from "../owned/operations.ts";
import { listReadable } from "../owned/store.ts";
import {
  Checkin,
  CreateCheckin,
  checkinContract,
  checkinKind,
  placesForOthers,
  presentCheckin,
  requireRecent,
} from "./checkins.contract.ts";

const createCheckin = operation({
  method: "POST",
  path: "/checkins",
  operation: "createCheckin",
  summary: "Check in at a place",
  description:
    "Stores where the user is. Instead of a point, the id of a location may be sent; the check-in keeps its name.",
  tag: "Check-ins",
  caller: "user",
  parameters: CreateCheckin,
  status: 201,
  result: Checkin,
  errors: [],
  async handle({ caller, parameters }, { database, fuzzing, clock, ids, events }) {
    const { applicationId, userId } = caller;
    const { location } = parameters;
    const columns = newColumns(caller, ids.newId("Checkin"), parameters, clock);
    const given: { readonly occurred_at?: number } = columnsOf(checkinKind.fields, parameters);
    if (given.occurred_at !== undefined) requireRecent(given.occurred_at, columns.created_at);
    const checkin = await database.write(
      async ({ queries }) => {
        const placing = { applicationId, userId, setterId: userId, location };
        const own = { comment: null, description: null, occurred_at: null, ...given };
        const place = { location_id: location.place?.id ?? null, location_name: location.place?.name ?? null };
        const row: CheckinRow = { ...columns, ...own, ...place, ...(await fuzzing.locate(placing, queries)) };
        await createOwned("checkins", row, events, queries);
        return row;
      },
      { addsTo: applicationId },
    );
    return presentCheckin(checkin, userId);
  },
});

const { search, get, change, remove } = ownedOperations(checkinKind, {
  contract: checkinContract,
  summaries: {
    get: "Read one check-in",
    change: "Change a check-in: the caller's own, or a shared one with write permission",
    remove: "Delete one's own check-in",
  },
  async presenter(checkins, { applicationId, userId }, { database }) {
    const others = checkins.filter(({ user_id }) => user_id !== userId);
    const readable = await listReadable("locations", applicationId, userId, placesForOthers(others), database.reads);
    return (checkin) => presentCheckin(checkin, userId, readable);
  },
});

/** Check-ins (spec/checkins). */
export const checkinOperations = [createCheckin, search, get, change, remove];
