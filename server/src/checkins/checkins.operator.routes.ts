import type { CheckinRow } from "../db/tables.ts";
import { operatedOperations } from "../owned/operator.operations.ts";
import { Checkin, checkinKind, presentCheckin } from "./checkins.contract.ts";

const { search, get } = operatedOperations<CheckinRow, typeof Checkin>(checkinKind, {
  Result: Checkin,
  present: (checkin) => presentCheckin(checkin, checkin.user_id),
});

/** Check-ins of an application for operators. */
export const checkinOperatorOperations = [search, get];
