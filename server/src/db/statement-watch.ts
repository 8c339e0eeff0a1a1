import { type CurrentCall, currentCall } from "../lib/current-call.ts";
import { Histogram } from "../lib/histogram.ts";

export interface SlowStatement {
  /** With placeholders, never with values. */
  readonly statement: string;
  readonly ms: number;
  readonly rows: number;
  readonly engine: string;
  readonly failure: unknown;
}

export interface StatementWatchOptions {
  /** 0 disables the report. */
  readonly slowQueryMs: number;
  readonly onSlow?: ((statement: SlowStatement) => void) | undefined;
}

/** Observes every finished statement: counts it, and reports it if it was slow or its call is traced. */
export interface StatementWatch {
  readonly seconds: Histogram;
  /**
   * @param startedAt `performance.now()` before the statement was requested
   * @param calls the calls that requested it
   */
  ended(
    statement: string,
    startedAt: number,
    rows: number,
    failure?: unknown,
    calls?: readonly (CurrentCall | undefined)[],
  ): void;
}

/** Seconds: a point read of SQLite takes some microseconds. */
const statementBounds = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** Truncates long statements: a list of a thousand values has a thousand placeholders. */
const statementCharactersMax = 2_000;

export function createStatementWatch(engine: string, options: StatementWatchOptions): StatementWatch {
  const { onSlow } = options;
  const slowMs = options.slowQueryMs === 0 || onSlow === undefined ? Number.POSITIVE_INFINITY : options.slowQueryMs;
  const seconds = new Histogram(statementBounds);
  return {
    seconds,
    ended(statement, startedAt, rows, failure, calls = [currentCall()]) {
      const ms = performance.now() - startedAt;
      seconds.observe(ms / 1_000);
      if (ms >= slowMs) {
        onSlow?.({ statement: statement.slice(0, statementCharactersMax), ms, rows, engine, failure });
      }
      for (const call of calls) {
        if (call?.trace === undefined) continue;
        const attributes = {
          "db.system.name": engine,
          "db.query.text": statement.slice(0, statementCharactersMax),
          "db.response.returned_rows": rows,
        };
        call.trace.add(statement.split(" ", 1)[0] ?? "", startedAt, attributes, failure);
      }
    },
  };
}
