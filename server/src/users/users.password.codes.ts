import { takeRandomBytes } from "../lib/random.ts";
import { digestSecret } from "../lib/secrets.ts";

/** 32 characters, so that random bits map to them evenly; without the easily confused 0 and O, 1 and I. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const codeCharacters = 12;

/** A new one-time code: 60 random bits that are easy to type. */
export function newResetCode(): string {
  return Array.from(takeRandomBytes(codeCharacters), (byte) => alphabet[byte % alphabet.length]).join("");
}

/** The digest that is stored and compared: it ignores case, blanks and dashes. */
export function digestResetCode(code: string): string {
  return digestSecret(code.replaceAll(/[\s\p{Dash}]/gu, "").toUpperCase());
}
