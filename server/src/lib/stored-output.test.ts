import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOutputStored, type Surroundings } from "./stored-output.ts";

const pipe: Surroundings = {
  isTerminal: false,
  stats: { dev: 12, ino: 3456, isFile: () => false },
  journalStream: undefined,
  pid: 4711,
  ppid: 4700,
  firstProcess: "/sbin/init splash ",
};

describe("isOutputStored", () => {
  const cases: [what: string, given: Partial<Surroundings>, isStored: boolean][] = [
    ["a terminal, also in a container", { isTerminal: true, pid: 1 }, false],
    ["a pipe of a program that started us", {}, false],
    ["a file", { stats: { ...pipe.stats, isFile: () => true } }, true],
    ["the journal", { journalStream: "12:3456" }, true],
    ["a pipe, where the journal is another stream", { journalStream: "12:3457" }, false],
    ["the log of a container, as its first process", { pid: 1 }, true],
    ["the log of a container with an init", { ppid: 1, firstProcess: "/sbin/docker-init -- rollcall serve " }, true],
    ["the log of a container, as a worker", { ppid: 1, firstProcess: "node /usr/local/bin/rollcall serve " }, true],
    ["a program that is the first of a container", { ppid: 1, firstProcess: "node /rollcall/checks/all.js " }, false],
  ];
  for (const [what, given, isStored] of cases)
    it(`is ${isStored} for ${what}`, () => assert.equal(isOutputStored({ ...pipe, ...given }), isStored));
});
