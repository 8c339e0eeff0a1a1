import { ApiError } from "../errors.ts";

/** What a name may weigh in its folded form: PostgreSQL refuses index entries above some 2,700 bytes. */
const keyBytesMax = 2_048;

/**
 * The form of a user name that is unique in its application: the same for names that differ in case or in Unicode form
 * only (surface.md section 5).
 */
export function userNameKey(userName: string): string {
  // Lower, upper, lower brings ẞ, ß and ss, and all three sigmas, to one form.
  return userName.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase().normalize("NFKC");
}

/**
 * The key of a name that is to be stored.
 *
 * @throws ApiError ParameterOutOfRange when it is too long: folding can make eighteen letters of one
 */
export function requireUserNameKey(userName: string): string {
  const key = userNameKey(userName);
  if (Buffer.byteLength(key) > keyBytesMax) throw new ApiError("ParameterOutOfRange", "username is too long.");
  return key;
}

export function userNameTaken(): ApiError {
  return new ApiError("ItemAlreadyExists", "The username is already in use. Choose a unique username.");
}
