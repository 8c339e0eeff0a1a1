import { inspect, styleText } from "node:util";
import { createProgress, noProgress, type OutputStream, type Progress } from "./progress.ts";

/** The result of a command. Commands return it instead of printing, so that `--json` works for all of them. */
export interface CommandResult {
  /** The output of `--json`: an object, or an array for a list. */
  readonly json: object;
  /** The output for a person. */
  readonly text: string | Table;
  /** Set if the command has failed despite a result; the exit code is 1. */
  readonly failure?: string | undefined;
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

/** The reason why a command failed. */
export interface CommandFailure {
  /** An unexpected error is printed with its stack. */
  readonly reason: unknown;
  readonly exitCode: number;
  /** The usage of the command, for a person. */
  readonly usage?: string;
}

/** The output of a running command to standard error. */
export interface Notices {
  readonly progress: Progress;
  /** Prints a warning about work that continues. */
  warn(text: string): void;
}

export interface Output extends Notices {
  printResult(result: CommandResult): void;
  printFailure(failure: CommandFailure): void;
}

export interface OutputStreams {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

/** Prints the result to standard output, and progress, warnings and failures to standard error. */
export function createTextOutput({ stdout, stderr }: OutputStreams): Output {
  const progress = createProgress(stderr);
  return {
    progress,
    warn(text) {
      progress.clear();
      stderr.write(`${stderr.isTTY === true ? styleText("yellow", text, { validateStream: false }) : text}\n`);
    },
    printResult({ text, failure }) {
      progress.clear();
      stdout.write(`${typeof text === "string" ? text : formatTable(text, stdout)}\n`);
      if (failure !== undefined) stderr.write(`${failure}\n`);
    },
    printFailure({ reason, usage }) {
      progress.clear();
      const message = typeof reason === "string" ? reason : inspect(reason);
      stderr.write(usage === undefined ? `${message}\n` : `${message}\n\n${usage}`);
    },
  };
}

/**
 * Prints the result as one JSON document to standard output, and an error as one to standard error. Does not print progress.
 * Warnings become the document's member `warnings`, except in a list, which is a bare array.
 */
export function createJsonOutput({ stdout, stderr }: OutputStreams): Output {
  const warnings: string[] = [];
  const given = () => (warnings.length === 0 ? {} : { warnings });
  const write = (stream: OutputStream, document: object) => stream.write(`${JSON.stringify(document)}\n`);
  return {
    progress: noProgress,
    warn: (text) => void warnings.push(text),
    printResult({ json, failure }) {
      write(stdout, Array.isArray(json) ? json : { ...json, ...given() });
      if (failure !== undefined) write(stderr, { error: { message: failure, exitCode: 1 } });
    },
    printFailure({ reason, exitCode }) {
      const error = typeof reason === "string" ? { message: reason } : describeUnexpected(reason);
      write(stderr, { error: { ...error, exitCode }, ...given() });
    },
  };
}

function describeUnexpected(reason: unknown): { message: string; stack?: string } {
  return reason instanceof Error ? { message: reason.message, stack: inspect(reason) } : { message: inspect(reason) };
}

/** Aligns columns on a terminal, and separates them with tabs elsewhere. */
function formatTable({ columns, rows }: Table, { isTTY = false }: OutputStream): string {
  const lines = [columns, ...rows.map((row) => columns.map((name) => row[name] ?? ""))];
  if (!isTTY) return lines.map((cells) => cells.join("\t")).join("\n");
  const widths = columns.map((_, column) => Math.max(...lines.map((cells) => (cells[column] ?? "").length)));
  const [head, ...body] = lines.map((cells) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "),
  );
  return [styleText("bold", head ?? "", { validateStream: false }), ...body].join("\n");
}
