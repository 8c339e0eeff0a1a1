import { PageOf } from "../contract/paging.ts";
import { type Static, Type } from "../contract/schema.ts";
import { searchParameters } from "../contract/search.ts";
import { alsoAs, IdInput } from "../contract/wire.ts";
import type { CheckinRow } from "../db/tables.ts";
import { operatedOperations, operatedResults, presentOperated } from "../owned/operator.operations.ts";
import { Checkin, checkinKind, presentCheckin } from "./checkins.contract.ts";

/** A check-in as operators see it, with its true location and the location that others see. */
const OperatedCheckin = Type.Object({ ...Checkin.properties, ...operatedResults });

function presentOperatedCheckin(checkin: CheckinRow): Static<typeof OperatedCheckin> {
  return { ...presentCheckin(checkin, checkin.user_id), ...presentOperated(checkin) };
}

const { search, get } = operatedOperations(checkinKind, {
  Search: Type.Object({
    userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
    ...searchParameters<string>(["created"]),
  }),
  Result: OperatedCheckin,
  Page: PageOf(OperatedCheckin),
  summary: "Read a check-in",
  present: presentOperatedCheckin,
});

/** Check-ins of an application for operators. */
export const checkinOperatorOperations = [search, get];
