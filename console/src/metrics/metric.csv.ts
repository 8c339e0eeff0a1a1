import { saveFile } from "../lib/save-file.ts";
import type { ChartSeries } from "../ui/time-chart.parts.ts";

/** Saves the numbers of a chart. */
export function saveTable(name: string, times: readonly number[], series: readonly ChartSeries[]): void {
  const head = ["start", ...series.map(({ label }) => label)];
  const rows = times.map((time, index) => [
    new Date(time).toISOString(),
    ...series.map(({ values }) => values[index] ?? ""),
  ]);
  const text = [head, ...rows].map((row) => row.map(cellOf).join()).join("\r\n");
  saveFile(new Blob([`${text}\r\n`]), name);
}

/** Spreadsheets evaluate unquoted strings that begin with these characters as formulas. */
const formula = /^[=+\-@\p{Cc}]/u;

function cellOf(value: string | number): string {
  if (typeof value === "number") return `${value}`;
  const text = formula.test(value) ? `'${value}` : value;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
