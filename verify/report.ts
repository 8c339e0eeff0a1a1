import { styleText } from "node:util";
import type { CheckResult } from "./check.ts";

/** The number of checks with an outcome. */
export function count(results: readonly CheckResult[], outcome: CheckResult["outcome"]): number {
  return results.filter((result) => result.outcome === outcome).length;
}

/** Prints results as they arrive; in colour on a terminal only. */
export function createReport(): { add(result: CheckResult): void; finish(results: readonly CheckResult[]): void } {
  let group = "";
  return {
    add(result) {
      if (result.group !== group) {
        group = result.group;
        print(`\n${styleText("bold", group)}`);
      }
      print(formatResult(result));
    },
    finish(results) {
      const skipped = count(results, "skipped");
      print(skipped > 0 ? `\n${skipped} skipped` : "");
      print(formatTotal(results));
    },
  };
}

/** The summary line. */
function formatTotal(results: readonly CheckResult[]): string {
  const failed = count(results, "failed");
  return styleText(failed > 0 ? "red" : "green", `${count(results, "passed")} passed, ${failed} failed`);
}

/** One check as text; a failed one with its request and the answer. */
export function formatResult({ outcome, promise, request, expected, received, reason }: CheckResult): string {
  if (outcome === "passed") return `  ${styleText("green", "✓")} ${promise}`;
  if (outcome === "skipped") return styleText("dim", `  - ${promise} (${reason})`);
  const details = Object.entries({ request, expected, received })
    .filter(([, text]) => text !== undefined && text !== "")
    .map(([label, text]) => `      ${styleText("dim", label.padEnd(8))} ${indent(text ?? "")}`);
  return [`  ${styleText("red", "✗")} ${promise}`, ...details].join("\n");
}

/** Indents all lines but the first, and escapes control characters. */
function indent(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(/\p{Cc}/gu, (character) => (character === "\n" ? character : JSON.stringify(character).slice(1, -1)))
    .replaceAll("\n", `\n${" ".repeat(15)}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
