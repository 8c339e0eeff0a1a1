// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reportArchive, reportBytes } from "./archive-progress.ts";
import { createProgress, type Step } from "./progress.ts";

/** A stream that records its output, and a clock that the test advances. */
function createStream(isTTY: boolean, columns = 80) {
  const state = { text: "", at: 0 };
  const write = (text: string) => {
    state.text += text;
  };
  const progress = createProgress({ isTTY, columns, write }, () => state.at);
  const rowsDone = (done: number) => progress.report({ name: "rows", done, total: 200, detail: `${done} rows` });
  return { state, progress, rowsDone };
}

const erase = "\r\u001b[K";

describe("progress on a terminal", () => {
  it("updates one line in place, at most four times a second, and finally removes it", () => {
    const { state, progress, rowsDone } = createStream(true);
    for (let done = 0; done <= 100; done += 1) {
      rowsDone(done);
      state.at += 10;
    }
    const lines = state.text.split(erase).slice(1);
    assert.deepEqual(lines, [
      "rows: 0 % (0 rows)",
      "rows: 12 % (25 rows)",
      "rows: 25 % (50 rows)",
      "rows: 37 % (75 rows)",
      "rows: 50 % (100 rows)",
    ]);
    assert.ok(!state.text.includes("\n"));
    state.text = "";
    progress.clear();
    progress.clear();
    assert.equal(state.text, erase);
  });

  it("shows a new step immediately, and truncates a line that would wrap", () => {
    const { state, progress, rowsDone } = createStream(true, 11);
    rowsDone(1);
    progress.report({ name: "files", done: 1, detail: "1 of 20 files" });
    assert.equal(state.text, `${erase}rows: 0 % ${erase}files: 1 o`);
  });
});

describe("progress in a log", () => {
  it("prints a line every ten seconds, and no line for short work", () => {
    const { state, progress, rowsDone } = createStream(false);
    rowsDone(1);
    state.at = 9_999;
    rowsDone(2);
    progress.clear();
    assert.equal(state.text, "");
    for (const at of [10_000, 15_000, 20_000]) {
      state.at = at;
      rowsDone(at / 100);
    }
    assert.equal(state.text, "rows: 50 % (100 rows)\nrows: 100 % (200 rows)\n");
  });
});

describe("a step of a command", () => {
  function shown(step: Omit<Step, "name" | "detail">): string {
    const { state, progress } = createStream(true);
    progress.report({ name: "n", detail: "d", ...step });
    return state.text.slice(erase.length);
  }

  it("has a percentage if it has a total, and never shows 100 % of an estimate", () => {
    assert.equal(shown({ done: 199, total: 200 }), "n: 99 % (d)");
    assert.equal(shown({ done: 200, total: 200 }), "n: 100 % (d)");
    assert.equal(shown({ done: 200, total: 200, isEstimate: true }), "n: about 99 % (d)");
  });

  it("has only counts if it has no total or too small a total", () => {
    for (const total of [undefined, 0, 199]) assert.equal(shown({ done: 200, total, isEstimate: true }), "n: d");
  });
});

describe("the progress of an archive", () => {
  function record() {
    const steps: Step[] = [];
    return { steps, progress: { report: (step: Step) => void steps.push(step), clear() {} } };
  }

  it("compares rows with the estimate, then bytes of files, while writing", () => {
    const { steps, progress } = record();
    const report = reportArchive(progress);
    report({ rows: 1_234, rowsTotal: 5_000, files: 0, bytes: 0 });
    const filesTotal = { files: 20, bytes: 31_457_280 };
    report({ rows: 5_001, rowsTotal: 5_001, files: 3, bytes: 1_572_864, filesTotal });
    assert.deepEqual(steps, [
      { name: "rows", done: 1_234, total: 5_000, isEstimate: true, detail: "1,234 rows" },
      { name: "files", done: 1_572_864, total: 31_457_280, isEstimate: true, detail: "3 of 20 files, 1.5 of 30 MiB" },
    ]);
  });

  it("compares bytes with the size of the archive while reading", async () => {
    const { steps, progress } = record();
    const chunks = [Buffer.alloc(524_288), Buffer.alloc(524_288)];
    const read: Uint8Array[] = [];
    async function* source() {
      yield* chunks;
    }
    for await (const chunk of reportBytes(source(), { name: "read", total: 1_048_576 }, progress)) read.push(chunk);
    assert.deepEqual(read, chunks);
    assert.deepEqual(
      steps.map(({ done, total, detail }) => [done, total, detail]),
      [
        [524_288, 1_048_576, "0.5 of 1 MiB"],
        [1_048_576, 1_048_576, "1 of 1 MiB"],
      ],
    );
  });
});
