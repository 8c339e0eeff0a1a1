import type { Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { changedText } from "../http/wire.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { type ChangeUser, genders } from "./users.contract.ts";
import { requireUserNameKey } from "./users.names.ts";

/** What a PATCH makes of a user, but for the password: fields that were not sent stay. @throws ApiError ParameterOutOfRange */
export async function changedUserColumns(
  user: UserRow,
  given: Static<typeof ChangeUser>,
  fuzzing: Fuzzing,
  queries: Queries,
) {
  const { application_id: applicationId, id: userId } = user;
  const { username, gender, dateOfBirth, celebMode, locationFuzzing, location } = given;
  return {
    ...(username !== undefined && { user_name: username, user_name_key: requireUserNameKey(username) }),
    email: changedText(user.email, given.email),
    first_name: changedText(user.first_name, given.firstName),
    last_name: changedText(user.last_name, given.lastName),
    tag: changedText(user.tag, given.tag),
    ...(gender !== undefined && { gender: genders.indexOf(gender) }),
    ...(dateOfBirth !== undefined && { date_of_birth: dateOfBirth }),
    ...(location !== undefined &&
      (await fuzzing.locateAs(true, { applicationId, userId, setterId: userId, location }, queries))),
    ...(celebMode !== undefined && { celeb_mode: celebMode ? 1 : 0 }),
    ...(locationFuzzing !== undefined && fuzzingColumns(user, locationFuzzing)),
  };
}

/** A change of the setting leaves work behind: see `privacy/reshifting.ts`. */
function fuzzingColumns(user: UserRow, isOn: boolean) {
  const location_fuzzing = isOn ? 1 : 0;
  return { location_fuzzing, is_reshifting: location_fuzzing === user.location_fuzzing ? user.is_reshifting : 1 };
}
