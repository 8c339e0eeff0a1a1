import { takeRandomBytes } from "../lib/random.ts";
import { digestSecret } from "../lib/secrets.ts";

/** 32 characters, so that no character is likelier than another; without 0 and O, 1 and I. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const codeCharacters = 12;

/** A new one-time code: 60 random bits that a person can type. */
export function newResetCode(): string {
  return Array.from(takeRandomBytes(codeCharacters), (byte) => alphabet[byte % alphabet.length]).join("");
}

/** What is stored of a code, and compared: the same in any case, with blanks and dashes or without. */
export function digestResetCode(code: string): string {
  return digestSecret(code.replaceAll(/[\s\p{Dash}]/gu, "").toUpperCase());
}
