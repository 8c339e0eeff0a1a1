/** Standard output or standard error; replaced in tests. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The progress of one step of long work. */
export interface Step {
  /** Names the step: "rows", "files". */
  readonly name: string;
  readonly done: number;
  /** In the unit of `done`. Without a total, only the detail is shown. */
  readonly total?: number | undefined;
  /** For an estimated total, 100 % is never shown, and no percentage after `done` exceeds the total. */
  readonly isEstimate?: boolean;
  /** Counts with their unit: "1,200 rows". */
  readonly detail: string;
}

/** Displays the steps of long work. */
export interface Progress {
  /** May be called at any rate, because output is throttled. */
  report(step: Step): void;
  /** Removes the progress line from a terminal, before other output. */
  clear(): void;
}

/** Faster updates would be unreadable. */
const terminalIntervalMs = 250;
/** Short work prints no line, because log files and cron mails store each of them. */
const logIntervalMs = 10_000;

/** Updates one line in place on a terminal; elsewhere writes a line every ten seconds. */
export function createProgress(stream: OutputStream, now: () => number = () => performance.now()): Progress {
  const isTerminal = stream.isTTY === true;
  const intervalMs = isTerminal ? terminalIntervalMs : logIntervalMs;
  let printedAt = isTerminal ? Number.NEGATIVE_INFINITY : now();
  let isShown = false;
  let shownName = "";
  return {
    report(step) {
      const isNew = isTerminal && step.name !== shownName;
      if (!isNew && now() - printedAt < intervalMs) return;
      printedAt = now();
      shownName = step.name;
      const line = describeStep(step);
      if (isTerminal) stream.write(`\r\u001b[K${line.slice(0, (stream.columns ?? 80) - 1)}`);
      else stream.write(`${line}\n`);
      isShown = isTerminal;
    },
    clear() {
      if (isShown) stream.write("\r\u001b[K");
      isShown = false;
    },
  };
}

/** Displays nothing, for `--json`. */
export const noProgress: Progress = { report() {}, clear() {} };

function describeStep({ name, done, total, isEstimate = false, detail }: Step): string {
  if (total === undefined || total <= 0 || done > total) return `${name}: ${detail}`;
  const percentage = Math.floor((100 * done) / total);
  const shown = isEstimate ? `about ${Math.min(percentage, 99)} %` : `${percentage} %`;
  return `${name}: ${shown} (${detail})`;
}

/** Formats bytes in MiB: "0.5", "1,234". */
export function formatMebibytes(bytes: number): string {
  const mebibytes = bytes / 1_048_576;
  return mebibytes.toLocaleString("en-US", { maximumFractionDigits: mebibytes < 10 ? 1 : 0 });
}

export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}
