import { styleText } from "node:util";

/** A line of the report. */
export interface Row {
  readonly name: string;
  /** The figure, with its unit. */
  readonly measured: string;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** CPU time of the server's process (of the client's process in the rows of the client) per request, in all its threads; NaN on systems without /proc. */
  readonly cpuMicros?: number;
  /** The baseline, with its unit. */
  readonly against?: string;
  /** The share of the ceiling that was reached; drawn as a bar. */
  readonly ratio?: number;
  /** The multiple of the baseline. */
  readonly factor?: number;
  readonly goal?: { readonly text: string; readonly isMet: boolean };
  /** All raw figures, for the JSON. */
  readonly details: object;
}

const barCells = 20;

/** The table, with a bar for every ratio, and colours if the terminal has them. */
export function formatTable(rows: readonly Row[], hasColours: boolean): string {
  const head = ["", "measured", "p50 ms", "p99 ms", "CPU µs", "against", "ratio", "of the ceiling", "goal", ""];
  const isRight = [false, true, true, true, true, false, true, false, false, false];
  const body = rows.map((row) => [
    row.name,
    row.measured,
    formatMs(row.p50Ms),
    formatMs(row.p99Ms),
    row.cpuMicros === undefined || Number.isNaN(row.cpuMicros) ? "" : row.cpuMicros.toFixed(0),
    row.against ?? "",
    formatRatio(row),
    row.ratio === undefined ? "" : formatBar(row.ratio),
    row.goal?.text ?? "",
    row.goal === undefined ? "" : row.goal.isMet ? "✓" : "✗",
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((cells) => (cells[column] ?? "").length)));

  function line(cells: readonly string[], paint: (text: string, column: number) => string): string {
    return cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return paint(isRight[column] ? cell.padStart(width) : cell.padEnd(width), column);
      })
      .join("  ")
      .trimEnd();
  }
  function colour(row: Row | undefined, text: string, column: number): string {
    if (!hasColours || row === undefined) return text;
    if (column === 1) return styleText("bold", text, { validateStream: false });
    if (column === 7) return styleText("cyan", text, { validateStream: false });
    if (column < 8 || row.goal === undefined) return text;
    return styleText(row.goal.isMet ? "green" : "red", text, { validateStream: false });
  }
  return [
    line(head, (text) => (hasColours ? styleText("dim", text, { validateStream: false }) : text)),
    ...body.map((cells, index) => line(cells, (text, column) => colour(rows[index], text, column))),
  ].join("\n");
}

function formatMs(ms: number | undefined): string {
  return ms === undefined ? "" : ms.toFixed(ms < 10 ? 2 : 0);
}

function formatRatio({ ratio, factor }: Row): string {
  if (ratio !== undefined) return formatPercent(ratio);
  return factor === undefined ? "" : `× ${factor.toFixed(2)}`;
}

/** Drawn in eighths of a character, so that a percent shows. */
function formatBar(ratio: number): string {
  const eighths = Math.round(Math.min(1, ratio) * barCells * 8);
  const part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8] ?? "";
  return ("█".repeat(Math.floor(eighths / 8)) + part).padEnd(barCells, "·");
}

/** A large number, rounded to an integer. */
export function formatMany(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function formatPercent(ratio: number): string {
  return `${(ratio * 100).toFixed(0)} %`;
}
