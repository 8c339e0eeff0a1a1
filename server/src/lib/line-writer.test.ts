import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createLineWriter } from "./line-writer.ts";

const options = { gatherMs: 5, gatheredBytes: 2_048, writeBytesMax: 4_096, waitingBytesMax: 1_000_000 };
const onLinux = { skip: process.platform !== "linux" && "needs a named pipe" };

test(
  "lines are buffered in order until they are read, and dropped and reported beyond the bound",
  onLinux,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const lostCounts: number[] = [];
    const lines = createLineWriter(fd, { ...options, onLost: (count) => lostCounts.push(count) });
    const lineOf = (number: number) => `${number} ${"ü".repeat(50)}\n`;
    const count = 20_000; // two megabytes; the pipe takes 64 KiB
    for (let number = 0; number < count; number += 1) lines.write(lineOf(number));

    const startedAt = performance.now();
    await new Promise<void>((resolve) => lines.flush(resolve));
    assert.ok(performance.now() - startedAt < 30_000, "it does not wait for ever");

    const bytes: Buffer[] = [];
    const buffer = Buffer.alloc(65_536);
    function read(): boolean {
      try {
        bytes.push(Buffer.from(buffer.subarray(0, readSync(fd, buffer))));
        return true;
      } catch {
        return false; // the pipe is empty
      }
    }
    while (lostCounts.length === 0) if (!read()) await setTimeout(1);
    lines.write("the last\n");
    while (!bytes.at(-1)?.toString().endsWith("the last\n")) if (!read()) await setTimeout(1);
    closeSync(fd);
    rmSync(folder, { recursive: true });

    const [lost = 0] = lostCounts;
    assert.ok(lost > count / 4 && lost < count / 2 + count / 10, `${lost}`);
    const kept = Array.from({ length: count - lost }, (_, number) => lineOf(number));
    assert.equal(Buffer.concat(bytes).toString(), `${kept.join("")}the last\n`);
  },
);

test("a full disk does not stop the process or delay a flush", onLinux, async () => {
  const fd = openSync("/dev/full", "w");
  const lines = createLineWriter(fd, { ...options, onLost: () => assert.fail("nothing is lost") });
  for (let number = 0; number < 1_000; number += 1) lines.write(`${number}\n`);
  await new Promise<void>((resolve) => lines.flush(resolve));
  await setTimeout(50); // time for several retries
  await new Promise<void>((resolve) => lines.flush(resolve));
});
