import type { UserRow } from "../db/tables.ts";
import type { NewEvent } from "../event-log/recorder.ts";

/** Fields of results, and the columns that store them. */
const fieldColumns: Readonly<Record<string, readonly (keyof UserRow)[]>> = {
  userName: ["user_name"],
  firstName: ["first_name"],
  lastName: ["last_name"],
};

/** The same for fields that only the user sees. */
const ownFieldColumns: Readonly<Record<string, readonly (keyof UserRow)[]>> = {
  email: ["email"],
  emailVerified: ["verified_email_key"],
  gender: ["gender"],
  dateOfBirth: ["date_of_birth"],
  tag: ["tag"],
  language: ["language"],
  location: ["lat", "lng"],
  celebMode: ["celeb_mode"],
  locationFuzzing: ["location_fuzzing"],
};

type Shown = Pick<UserRow, "id" | "celeb_mode">;

/** The event of a changed profile. To others, a user who sets celebMode looks deleted. */
export function userChangedEvent(before: UserRow, after: UserRow): NewEvent {
  const isOther = ([, columns]: [string, readonly (keyof UserRow)[]]) =>
    columns.some((column) => before[column] !== after[column]);
  const shared = Object.entries(fieldColumns).filter(isOther);
  const own = Object.entries(ownFieldColumns).filter(isOther);
  return {
    ...{ type: "user.changed", objectId: after.id, userId: after.id },
    changed: [...shared.map(([name]) => name), ...own.map(([name]) => `${name}-`)],
    wasShown: before.celeb_mode === 0,
    isShown: after.celeb_mode === 0,
  };
}

export function userDeletedEvent({ id, celeb_mode }: Shown): NewEvent {
  return { type: "user.deleted", objectId: id, userId: id, wasShown: celeb_mode === 0 };
}

/** The events of an account. Clients receive no event when a user signs up or is disabled. */
export function accountEvent(
  what: "created" | "disabled" | "enabled" | "signed_in" | "signed_out",
  userId: string,
): NewEvent {
  return { type: `user.${what}`, objectId: userId, userId };
}
