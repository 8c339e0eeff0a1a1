import { ApiError } from "../errors.ts";

/** What a name may weigh in its folded form: PostgreSQL refuses index entries above some 2,700 bytes. */
const keyBytesMax = 2_048;

/**
 * The form of a user name that is unique in its application: the same for names that differ in case or in Unicode form
 * only (surface.md section 5).
 *
 * @throws ApiError ParameterOutOfRange when the folded form is too long
 */
export function userNameKey(userName: string): string {
  // Upper case first brings ß and ss, and all three sigmas, to one lower-case form.
  const key = userName.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
  if (Buffer.byteLength(key) > keyBytesMax) throw new ApiError("ParameterOutOfRange", "username is too long.");
  return key;
}
