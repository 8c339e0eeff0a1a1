const nameCharactersMax = 256;

/** An invalid operator name; the message states the rule. */
export class OperatorNameError extends Error {}

/**
 * The name as stored: trimmed and normalized, so that names that look alike are equal byte by byte.
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
