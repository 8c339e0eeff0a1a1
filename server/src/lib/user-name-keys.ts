/**
 * Returns the form of a user name that is unique in its application. It is the same for names that look alike to a
 * reader: that differ only in case, Unicode form (spec/users#user-names), invisible characters, or the number of blanks
 * between and around words.
 */
export function userNameKey(userName: string): string {
  const visible = userName.normalize("NFKC").replaceAll(blank, " ").replaceAll(invisible, "");
  return formerUserNameKey(visible).replaceAll(/ +/g, " ").trim();
}

const blank = /[\p{White_Space}\u2800]/gu;
const invisible = /[\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;

/**
 * Returns the unique form of earlier versions, which did not fold blanks and invisible characters. Users of these
 * versions have it as their key, and two of them may share one {@link userNameKey}, so lookups try this form first.
 */
export function formerUserNameKey(userName: string): string {
  // Lower, upper, lower maps ẞ, ß and ss, and all three sigmas, to one form.
  return userName.normalize("NFKC").toLowerCase().toUpperCase().toLowerCase().normalize("NFKC");
}
