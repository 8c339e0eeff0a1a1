import { checked, list, text } from "./reader.ts";

export const secretCharactersMin = 16;
export const secretRule = `must have at least ${secretCharactersMin} characters (openssl rand -hex 32 makes a good one)`;

/** Comma-separated secrets, newest first. */
export const secrets = checked(list, (words) => words.every((word) => word.length >= secretCharactersMin), secretRule);

export const metricsToken = checked(
  text,
  (given) => /^[\x21-\x7e]{16,}$/.test(given),
  `must have at least ${secretCharactersMin} characters, and no spaces (openssl rand -hex 32 makes a good one)`,
);
