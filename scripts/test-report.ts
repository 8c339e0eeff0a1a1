import path from "node:path";
import type { EventData } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect, stripVTControlCharacters, styleText } from "node:util";

type Finished = EventData.TestPass | EventData.TestFail;

/** Fields that the types of Node.js lack: why a test failed, and how the process of a file ended. */
type TestError = Error & { failureType?: string; exitCode?: number; signal?: string };

const marksPerLine = 100;
const slowestCount = 30;

/**
 * Counts and prints the events of `run()` of node:test: one character for each test as it ends, then the failures with
 * their reasons. Only single tests count; a suite, or a test with subtests, counts when it fails itself, as in a hook.
 */
export class TestReport {
  passed = 0;
  failed = 0;
  skipped = 0;

  readonly #root: string;
  readonly #failures: string[] = [];
  readonly #failedFiles = new Set<string>();
  readonly #output = new Map<string, string>();
  readonly #parents = new Set<string>();
  readonly #durations = new Map<string, number>();
  /** The names of the test that started last and of its ancestors. */
  readonly #trail: string[] = [];
  #marks = 0;

  /** Paths are printed relative to `root`. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Takes the next event of the run. */
  add(event: TestEvent): void {
    switch (event.type) {
      case "test:start":
        this.#trail.splice(event.data.nesting, Infinity, event.data.name);
        break;
      case "test:pass":
        this.#addPass(event.data);
        break;
      case "test:fail":
        this.#addFailure(event.data);
        break;
      case "test:stdout":
      case "test:stderr":
        this.#capture(event.data.file, event.data.message);
        break;
      case "test:summary":
        if (event.data.file !== undefined) this.#durations.set(event.data.file, event.data.duration_ms);
        break;
      case "test:diagnostic":
        // Errors that occur after the end of their test are reported only here.
        if (event.data.file !== undefined) this.#capture(event.data.file, `${event.data.message}\n`);
        break;
    }
  }

  /** Counts a failure. `file` is the absolute path of the test file that it is in, if any. */
  fail(title: string, reason: string, file?: string): void {
    this.failed++;
    this.#failures.push(`${styleText("red", `✖ ${title}`)}\n${reason}`);
    if (file !== undefined) this.#failedFiles.add(file);
    this.#mark("F");
  }

  /** Prints every failure in full, and the output of files with failures; with `withAllOutput` that of all files. */
  print(withAllOutput: boolean): void {
    if (this.#marks % marksPerLine !== 0) console.log();
    for (const failure of this.#failures) console.log(`\n${failure}`);
    for (const [file, text] of this.#output) {
      if (!withAllOutput && !this.#failedFiles.has(file)) continue;
      console.log(`\n${styleText("bold", `Output of ${this.#relative(file)}`)}\n${text.trimEnd()}`);
    }
  }

  /** Prints the durations of the slowest files of a long run. */
  printSlowest(): void {
    if (this.#durations.size <= slowestCount) return;
    const slowest = [...this.#durations].sort(([, a], [, b]) => b - a).slice(0, slowestCount);
    console.log("\nSlowest files, in seconds:");
    for (const [file, ms] of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(6)}  ${this.#relative(file)}`);
  }

  #addPass(test: EventData.TestPass): void {
    const isSingle = this.#isSingle(test);
    // Node.js reports a file that ends well without a test as a test that passed.
    if (isWholeFile(test)) this.fail(this.#relative(test.name), "No test ran in this file.", test.name);
    else if (isSkipped(test)) this.#skip();
    else if (isSingle) {
      this.passed++;
      this.#mark(".");
    }
  }

  #addFailure(test: EventData.TestFail): void {
    this.#isSingle(test);
    const error: TestError = test.details.error;
    if (error.failureType === "subtestsFailed") return;
    if (isSkipped(test)) this.#skip();
    else if (isWholeFile(test)) {
      const isStopped = error.failureType === "testAborted";
      const end = isStopped
        ? `was stopped: ${error.message}`
        : `ended with ${error.signal ?? `code ${error.exitCode}`}`;
      this.fail(this.#relative(test.name), `The process of this file ${end}.`, test.name);
    } else {
      const title = [...this.#trail.slice(0, test.nesting), test.name].join(" › ");
      const place = `${this.#relative(test.file ?? "")}:${test.line}:${test.column}`;
      this.fail(title, `at ${place}\n${describe(error.cause)}`, test.entryFile);
    }
  }

  #capture(file: string, text: string): void {
    this.#output.set(file, (this.#output.get(file) ?? "") + text);
  }

  /**
   * Whether a test has no subtests. Must be called for every test, in order: subtests end before the test around them.
   */
  #isSingle(test: Finished): boolean {
    this.#parents.add(`${test.entryFile} ${test.parentId}`);
    return test.details.type !== "suite" && !this.#parents.has(`${test.entryFile} ${test.testId}`);
  }

  #skip(): void {
    this.skipped++;
    this.#mark("-");
  }

  #mark(symbol: "." | "-" | "F"): void {
    this.#marks++;
    process.stdout.write(symbol === "F" ? styleText("red", symbol) : symbol);
    if (this.#marks % marksPerLine === 0) console.log();
  }

  #relative(file: string): string {
    return path.relative(this.#root, file);
  }
}

/** Node.js reports a file as a test of its own when its process fails or runs no test; only that has no entry file. */
function isWholeFile(test: Finished): boolean {
  return test.entryFile === undefined;
}

function isSkipped(test: Finished): boolean {
  return test.skip !== undefined || test.todo !== undefined;
}

/** The error of a test, without the stack frames of Node.js itself. */
function describe(cause: unknown): string {
  if (typeof cause === "string") return cause;
  // Inspects with colours under the same conditions as `styleText`.
  const lines = inspect(cause, { colors: styleText("red", "x") !== "x" }).split("\n");
  return lines.filter((line) => !/^\s*at .*node:internal.*[^{]$/.test(stripVTControlCharacters(line))).join("\n");
}
