import { createRandom } from "../server/test/attacker.ts";

/** Where everything that is left to chance comes from: the same at every run with the same seed. */
export interface Random {
  /** From 0 up to, and without, 1. */
  next(): number;
  /** An integer from 0 up to, and without, this. */
  below(count: number): number;
  chance(probability: number): boolean;
  /** One of them; of none, undefined. */
  pick<T>(list: readonly [T, ...T[]]): T;
  pick<T>(list: readonly T[]): T | undefined;
  /** A word of lower-case letters and digits. */
  word(length: number): string;
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

/** @param index of the call: each has a stream of its own, so that one can be made again without those before it */
export function createSeeded(seed: number, index: number): Random {
  const next = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const below = (count: number) => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T, // of what is empty it is undefined, as declared
    word: (length) => Array.from({ length }, () => letters[below(letters.length)]).join(""),
  };
}
