import { ApiError } from "../lib/errors.ts";
import { userNameKey } from "../lib/user-name-keys.ts";

/** The maximum size of a folded name: PostgreSQL refuses index entries above about 2,700 bytes. */
const keyBytesMax = 2_048;

/**
 * The key of a name to be stored.
 *
 * @throws ApiError ParameterOutOfRange when the key is too long: folding can expand one letter to eighteen
 */
export function requireUserNameKey(userName: string): string {
  const key = userNameKey(userName);
  if (Buffer.byteLength(key) > keyBytesMax)
    throw new ApiError("ParameterOutOfRange", "username is too long.", { parameter: "username" });
  return key;
}

export function userNameTaken(): ApiError {
  return new ApiError("ItemAlreadyExists", "The username is already in use. Choose a unique username.", {
    parameter: "username",
  });
}
