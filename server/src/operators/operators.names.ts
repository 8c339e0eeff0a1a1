const nameCharactersMax = 256;

/** An invalid operator name. The message states the rule. */
export class OperatorNameError extends Error {}

/**
 * Normalizes a name for storage: trimmed and in NFC, so that names that look alike have the same bytes.
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
