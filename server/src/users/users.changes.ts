import type { Static } from "../contract/schema.ts";
import { changedText } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import { languageTag } from "../lib/languages.ts";
import type { Location } from "../lib/locations.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { type ChangeUser, genders } from "./users.contract.ts";
import { requireUserNameKey, userNameTaken } from "./users.names.ts";
import { findUserByName } from "./users.store.ts";

/**
 * Returns the columns that a PATCH changes, except password and address. Absent fields do not change.
 *
 * @throws ApiError ParameterOutOfRange, ItemAlreadyExists
 */
export async function changedUserColumns(
  user: UserRow,
  given: Static<typeof ChangeUser>,
  fuzzing: Fuzzing,
  queries: Queries,
) {
  const { application_id: applicationId, id: userId } = user;
  const { username, gender, dateOfBirth, celebMode, locationFuzzing, location } = given;
  return {
    ...(username !== undefined &&
      username !== user.user_name && {
        user_name: username,
        user_name_key: await changedNameKey(user, username, queries),
      }),
    first_name: changedText(user.first_name, given.firstName),
    last_name: changedText(user.last_name, given.lastName),
    tag: changedText(user.tag, given.tag),
    language: changedLanguage(user.language, given.language),
    ...(gender !== undefined && { gender: genders.indexOf(gender) }),
    ...(dateOfBirth !== undefined && { date_of_birth: dateOfBirth }),
    ...(location !== undefined &&
      // Clients send complete objects back, so an unchanged location must not get another fuzzed location.
      !isUnchanged(user, location) &&
      (await fuzzing.locateAs("profile", { applicationId, userId, setterId: userId, location }, queries))),
    ...(celebMode !== undefined && { celeb_mode: celebMode ? 1 : 0 }),
    ...(locationFuzzing !== undefined && (await fuzzingColumns(user, locationFuzzing, fuzzing, queries))),
  };
}

/** Ignores a text that is no language tag. */
function changedLanguage(stored: string | null, given: string | undefined): string | null {
  if (given === undefined) return stored;
  return given === "" ? null : (languageTag(given) ?? stored);
}

/** The unique index refuses taken names, except names stored by releases that distinguished names by blanks. */
async function changedNameKey(user: UserRow, userName: string, queries: Queries): Promise<string> {
  const key = requireUserNameKey(userName);
  const holder = await findUserByName(user.application_id, userName, queries);
  if (holder === undefined) return key;
  if (holder.id !== user.id) throw userNameTaken();
  return user.user_name_key;
}

/** Changing the setting starts background work: see `privacy/reshifting.ts`. */
async function fuzzingColumns(user: UserRow, isOn: boolean, fuzzing: Fuzzing, queries: Queries) {
  const location_fuzzing = isOn ? 1 : 0;
  if (location_fuzzing === user.location_fuzzing) return {};
  const { application_id, id, shift_generation } = user;
  return {
    location_fuzzing,
    is_reshifting: 1,
    ...(isOn && { shift_generation: await fuzzing.nextGeneration(application_id, id, shift_generation, queries) }),
  };
}

function isUnchanged({ lat, lng, seen_lat }: UserRow, location: Location): boolean {
  return lat === location.lat && lng === location.lng && seen_lat !== null;
}
