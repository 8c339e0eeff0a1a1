export const nameCharactersMax = 256;

/** The rule for names of applications and labels of keys, as a predicate for "<parameter> …". */
export const nameRule = `must have 1 to ${nameCharactersMax} characters, none of them a line break or a control character`;

/** Trims a name. @returns undefined if it violates {@link nameRule} */
export function readName(text: string): string | undefined {
  const name = text.trim();
  const isValid = name !== "" && [...name].length <= nameCharactersMax && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name);
  return isValid ? name : undefined;
}
