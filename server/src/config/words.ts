import { parseSender } from "./mail-sender.ts";
import { BrokenRule, checked, list, type Reader } from "./reader.ts";

/** The accepted schemes of the Authorization header, in lower case. */
export const authSchemes = checked(
  (given: string) => list(given).map((word) => word.toLowerCase()),
  (words) => words.length > 0 && words.every((word) => /^[a-z0-9-]+$/.test(word)),
  "must be words of letters, digits and -, separated by commas",
);

export const sender: Reader<{ readonly name: string; readonly address: string }> = (given) => {
  const parsed = parseSender(given);
  if (parsed === undefined) throw new BrokenRule("must be an address, or a name and an address in angle brackets");
  return parsed;
};

/** Comma-separated `name=value` pairs with percent-encoded values. */
export const headers: Reader<Readonly<Record<string, string>>> = (given) => {
  const pairs = given.split(",").filter((each) => each.trim() !== "");
  return Object.fromEntries(pairs.map(parseHeader));
};

function parseHeader(pair: string): readonly [name: string, value: string] {
  const [, name, value] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*((?:[!-$&-~]|%[2-7][0-9a-f])*)\s*$/i.exec(pair) ?? [];
  if (name === undefined || value === undefined) throw new BrokenRule("must be name=value, separated by commas");
  return [name, value.replaceAll(/%(..)/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))];
}
