const nameCharactersMax = 256;

/** The name of an operator is not as it must be; the message is the rule. */
export class OperatorNameError extends Error {}

/**
 * The name as it is stored: trimmed, and in the one form that Unicode has for what looks alike to the byte.
 *
 * @throws OperatorNameError
 */
export function readOperatorName(text: string): string {
  const name = text.trim().normalize("NFC");
  if (name === "") throw new OperatorNameError("an operator's name must not be empty");
  if ([...name].length > nameCharactersMax) {
    throw new OperatorNameError(`an operator's name must have at most ${nameCharactersMax} characters`);
  }
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) {
    throw new OperatorNameError("an operator's name must not have control characters or line breaks");
  }
  return name;
}
