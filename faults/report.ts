import { styleText } from "node:util";
import { isWhole, type Tally } from "./tally.ts";

/** A scenario with its tally, or the reason why it was skipped. */
export interface Result {
  readonly name: string;
  readonly promise: string;
  readonly tally: Tally;
  readonly seconds: number;
  readonly skipped: string | undefined;
}

const shownMax = 5;
const head = [
  "",
  "faults",
  "sent",
  "answered",
  "503",
  "checked",
  "lost",
  "half-written",
  "wrong",
  "worst recovery",
  "",
];

/** One line for a finished scenario, and its first failures. */
export function formatResult({ name, promise, tally, seconds, skipped }: Result): string {
  if (skipped !== undefined) return styleText("dim", `- ${name}: skipped, ${skipped}`);
  const mark = isWhole(tally) ? styleText("green", "✓") : styleText("red", "✗");
  const failures = Object.entries({ lost: tally.lost, "half-written": tally.halfWritten, wrong: tally.wrong });
  const lines = failures.flatMap(([what, found]) => [
    ...found.slice(0, shownMax).map((text) => `    ${what}: ${text}`),
    ...(found.length > shownMax ? [`    ${what}: ${found.length - shownMax} more`] : []),
  ]);
  return [`${mark} ${name}: ${promise} ${styleText("dim", `(${seconds.toFixed(0)} s)`)}`, ...lines].join("\n");
}

/** The final table: a line for each scenario, and one for all of them. */
export function formatTable(results: readonly Result[]): string {
  const run = results.filter(({ skipped }) => skipped === undefined);
  const rows = run.map(({ name, tally }) => [
    name,
    ...counts(tally).map((count) => count.toLocaleString("en-US")),
    tally.recoveryMs.length === 0 ? "" : `${Math.max(...tally.recoveryMs).toFixed(0)} ms`,
    tally.remarks.join(", "),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        const isText = column === 0 || column === head.length - 1;
        return isText ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
      })
      .join("  ")
      .trimEnd();
  return ["", styleText("dim", line(head)), ...rows.map(line), "", formatTotal(results)].join("\n");
}

function formatTotal(results: readonly Result[]): string {
  const tallies = results.map(({ tally }) => tally);
  const sum = (count: (tally: Tally) => number) => tallies.reduce((all, tally) => all + count(tally), 0);
  const many = (count: (tally: Tally) => number) => sum(count).toLocaleString("en-US");
  const skipped = results.filter((result) => result.skipped !== undefined).length;
  const tried = `${many(({ faults }) => faults)} faults, ${many(({ answered }) => answered)} answered calls`;
  const checked = `${many(({ checks }) => checks)} checks`;
  const lost = `${many((tally) => tally.lost.length)} lost, ${many((tally) => tally.halfWritten.length)} half-written`;
  const wrong = `${many((tally) => tally.wrong.length)} wrong${skipped === 0 ? "" : `, ${skipped} skipped`}`;
  const total = `${tried}, ${checked}: ${lost}, ${wrong}`;
  return styleText(tallies.every(isWhole) ? "green" : "red", total);
}

function counts({ faults, sent, answered, unavailable, checks, lost, halfWritten, wrong }: Tally): number[] {
  return [faults, sent, answered, unavailable, checks, lost.length, halfWritten.length, wrong.length];
}
