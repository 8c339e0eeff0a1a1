const nameCharactersMax = 256;

/** What a name of an application, or a label of a key, must be; completes the sentence "<parameter> …". */
export const nameRule = `must have 1 to ${nameCharactersMax} characters, none of them a line break or a control character`;

/** The name as it is stored: trimmed. @returns undefined when it breaks {@link nameRule} */
export function readName(text: string): string | undefined {
  const name = text.trim();
  const isRight = name !== "" && [...name].length <= nameCharactersMax && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name);
  return isRight ? name : undefined;
}
