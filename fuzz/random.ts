import { createRandom } from "../testkit/random.ts";

/** The source of all random choices: the same seed gives the same choices. */
export interface Random {
  /** From 0 to 1, without 1. */
  next(): number;
  /** An integer from 0 to below this. */
  below(count: number): number;
  chance(probability: number): boolean;
  /** An element of the list; undefined if it is empty. */
  pick<T>(list: readonly [T, ...T[]]): T;
  pick<T>(list: readonly T[]): T | undefined;
  /** A word of lower-case letters and digits. */
  word(length: number): string;
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

/**
 * @param index of the call: each has a stream of its own, so that a single call can be repeated without the calls
 * before it
 */
export function createSeeded(seed: number, index: number): Random {
  const next = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const below = (count: number) => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T, // undefined for an empty list, as declared
    word: (length) => Array.from({ length }, () => letters[below(letters.length)]).join(""),
  };
}
