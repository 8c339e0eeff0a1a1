import { styleText } from "node:util";
import type { Operation } from "./document.ts";

/** The results of the calls of one operation. */
export interface Tally {
  calls: number;
  successes: number;
  refusals: number;
  /** The sum of the times from sending to the end of the response. */
  ms: number;
  readonly errors: Set<string>;
}

export function newTallies(operations: readonly Operation[]): Map<string, Tally> {
  return new Map(operations.map(({ id }) => [id, { calls: 0, successes: 0, refusals: 0, ms: 0, errors: new Set() }]));
}

/** A fault with what is needed to reproduce it. */
export interface Failure {
  readonly operation: string;
  readonly kind: string;
  readonly details: string;
  readonly request: string;
  readonly answer: string;
  readonly log: string;
  /** How many calls failed in this way. */
  count: number;
}

export function formatFailure({ operation, kind, details, request, answer, log, count }: Failure): string {
  const lines = [
    `${styleText("red", "✗")} ${styleText("bold", operation)}: ${kind}${count > 1 ? ` (${count} times)` : ""}`,
    `    ${shorten(details, 2_000)}`,
    `    ${shorten(request, 6_000)}`,
    ...[answer, log].filter((text) => text !== "").map((text) => `    ${shorten(text, 1_500)}`),
  ];
  return lines.join("\n");
}

/** One line for each operation. */
export function formatTallies(tallies: ReadonlyMap<string, Tally>): string {
  const rows = [...tallies].map(([operation, { calls, successes, refusals, ms, errors }]) =>
    [
      operation.padEnd(28),
      pad(calls),
      pad(successes),
      pad(refusals),
      pad(Math.round((10 * ms) / calls) / 10),
      [...errors].sort().join(" "),
    ].join(" "),
  );
  const head = ["operation".padEnd(28), "  calls", "   good", "refused", "ms each", "errors"].join(" ");
  return [styleText("bold", head), ...rows].join("\n");
}

function pad(count: number): string {
  return String(count).padStart(7);
}

/** Escapes control characters. */
function shorten(text: string, charactersMax: number): string {
  const shown = text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
  return shown.length <= charactersMax ? shown : `${shown.slice(0, charactersMax)}… (${shown.length} characters)`;
}

/** Prints the progress of a run: on one line of a terminal, otherwise on a line now and then. */
export function createProgress(label: string, total: number): { at(done: number): void; end(): void } {
  const { isTTY } = process.stdout;
  let shownAt = performance.now();
  return {
    at(done) {
      if (performance.now() - shownAt < (isTTY ? 200 : 15_000)) return;
      shownAt = performance.now();
      process.stdout.write(`${isTTY ? "\r\u001b[K" : ""}${label}: ${done} of ${total}${isTTY ? "" : "\n"}`);
    },
    end() {
      if (isTTY) process.stdout.write("\r\u001b[K");
    },
  };
}
