import type { CheckinRow } from "../db/tables.ts";
import { ownedCreation, ownedOperations } from "../owned/operations.ts";
import { operatedOperations } from "../owned/operator.operations.ts";
import { listReadable } from "../owned/store.ts";
import { checkinContract, checkinKind, placesForOthers, presentCheckin, requireRecent } from "./checkins.contract.ts";

const create = ownedCreation(checkinKind, {
  contract: checkinContract,
  summary: "Check in at a place",
  description:
    "Stores where the user is. Instead of a point, the id of a location may be sent; the check-in keeps its name.",
  present: presentCheckin,
  complete({ occurred_at, created_at }) {
    if (occurred_at !== null) requireRecent(occurred_at, created_at);
    return {};
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
export const checkinOperations = [create, search, get, change, remove];

const operated = operatedOperations(checkinKind, {
  Result: checkinContract.Result,
  present: (checkin: CheckinRow) => presentCheckin(checkin, checkin.user_id),
});

/** Check-ins of an application for operators. */
export const checkinOperatorOperations = [operated.search, operated.get];
