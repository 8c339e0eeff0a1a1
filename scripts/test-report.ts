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
 * Counts and prints the events of an engine from `run()` of node:test: one character for each test as it ends, then the
 * failures with their reasons. Only single tests count; a suite, or a test with subtests, counts when it fails itself,
 * as in a hook. Around the tests of each file is a suite named by its path.
 */
export class TestReport {
  passed = 0;
  failed = 0;
  skipped = 0;

  readonly #root: string;
  readonly #engine: string;
  readonly #failures: string[] = [];
  /** The files that have not ended. */
  readonly #unfinished: Set<string>;
  /** The files that each program has begun. */
  readonly #begun = new Map<string, string[]>();
  readonly #failedPrograms = new Set<string>();
  readonly #output = new Map<string, string>();
  readonly #parents = new Set<string>();
  readonly #durations = new Map<string, number>();
  /** In each program, the names of the test that started last and of its ancestors. */
  readonly #trails = new Map<string, string[]>();
  #begunAt: number | undefined;
  #endedAt = 0;

  /** @param files the test files that must run, relative to `root` */
  constructor(root: string, engine: string, files: readonly string[]) {
    this.#root = root;
    this.#engine = engine;
    this.#unfinished = new Set(files);
  }

  /** Takes the next event of a program that runs test files. */
  add(event: TestEvent, program: string): void {
    this.#endedAt = performance.now();
    switch (event.type) {
      case "test:dequeue": // unlike a start, not held back until the programs before this one have ended
        this.#begunAt ??= performance.now();
        if (event.data.nesting === 0 && event.data.name !== program) this.#noteBegin(program, event.data.name);
        break;
      case "test:start":
        this.#trailOf(program).splice(event.data.nesting, Infinity, event.data.name);
        break;
      case "test:pass":
        this.#addPass(event.data, program);
        break;
      case "test:fail":
        this.#addFailure(event.data, program);
        break;
      case "test:stdout":
      case "test:stderr":
        this.#capture(program, event.data.message);
        break;
      case "test:diagnostic":
        // Errors that occur after the end of their test are reported only here.
        this.#capture(program, `${event.data.message}\n`);
        break;
    }
  }

  /** Counts a failure, in a program if there is one. */
  fail(title: string, reason: string, program?: string): void {
    this.failed++;
    this.#failures.push(`${styleText("red", `✖ ${title}`)}\n${reason}`);
    if (program !== undefined) this.#failedPrograms.add(program);
    mark("F");
  }

  /**
   * Prints the engine, every failure in full, and the output of programs with failures; with `withAllOutput` that of all
   * programs.
   */
  finish(withAllOutput: boolean): void {
    if (this.#unfinished.size > 0) this.fail([...this.#unfinished].join(", "), "These files did not run to their end.");
    endMarks();
    console.log(styleText("bold", this.#engine));
    for (const failure of this.#failures) console.log(`\n${failure}`);
    for (const [program, text] of this.#output) {
      if (!withAllOutput && !this.#failedPrograms.has(program)) continue;
      console.log(`\n${styleText("bold", `Output of ${this.#filesOf(program)}`)}\n${text.trimEnd()}`);
    }
    this.#printSlowest();
    const seconds = ((this.#endedAt - (this.#begunAt ?? this.#endedAt)) / 1000).toFixed(1);
    console.log(`${this.passed + this.failed} tests in ${seconds} s\n`);
  }

  /** Prints the durations of the slowest files of a long run. */
  #printSlowest(): void {
    if (this.#durations.size <= slowestCount) return;
    const slowest = [...this.#durations].sort(([, a], [, b]) => b - a).slice(0, slowestCount);
    console.log("\nSlowest files, in seconds:");
    for (const [file, ms] of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(6)}  ${file}`);
  }

  #trailOf(program: string): string[] {
    const trail = this.#trails.get(program) ?? [];
    this.#trails.set(program, trail);
    return trail;
  }

  #noteBegin(program: string, file: string): void {
    this.#begun.set(program, [...(this.#begun.get(program) ?? []), file]);
  }

  #addPass(test: EventData.TestPass, program: string): void {
    const isSingle = this.#isSingle(test);
    if (isProgram(test)) return;
    if (test.nesting === 0) this.#endFile(test, program, false);
    else if (isSkipped(test)) this.#skip();
    else if (isSingle) {
      this.passed++;
      mark(".");
    }
  }

  #addFailure(test: EventData.TestFail, program: string): void {
    this.#isSingle(test);
    if (!isProgram(test) && test.nesting === 0) this.#endFile(test, program, true);
    const error: TestError = test.details.error;
    if (error.failureType === "subtestsFailed") return;
    if (isSkipped(test)) this.#skip();
    else if (isProgram(test)) {
      const isStopped = error.failureType === "testAborted";
      const end = isStopped
        ? `was stopped: ${error.message}`
        : `ended with ${error.signal ?? `code ${error.exitCode}`}`;
      this.fail(this.#filesOf(program), `The process of these files ${end}.`, program);
    } else {
      const title = [...this.#trailOf(program).slice(1, test.nesting), test.name].join(" › ");
      const place = `${path.relative(this.#root, test.file ?? "")}:${test.line}:${test.column}`;
      this.fail(title, `at ${place}\n${describe(error.cause)}`, program);
    }
  }

  #endFile(file: Finished, program: string, isFailed: boolean): void {
    this.#durations.set(file.name, file.details.duration_ms);
    if (!this.#unfinished.delete(file.name))
      this.fail(file.name, "This test is outside the suite of its file.", program);
    else if (!isFailed && !this.#parents.has(idOf(file.entryFile, file.testId))) {
      this.fail(file.name, "No test ran in this file.", program);
    }
  }

  /** The files that a program has begun, for a message. */
  #filesOf(program: string): string {
    return this.#begun.get(program)?.join(", ") ?? "some of the files that did not run to their end";
  }

  #capture(program: string, text: string): void {
    this.#output.set(program, (this.#output.get(program) ?? "") + text);
  }

  /**
   * Whether a test has no subtests. Must be called for every test, in order: subtests end before the test around them.
   */
  #isSingle(test: Finished): boolean {
    this.#parents.add(idOf(test.entryFile, test.parentId));
    return test.details.type !== "suite" && !this.#parents.has(idOf(test.entryFile, test.testId));
  }

  #skip(): void {
    this.skipped++;
    mark("-");
  }
}

/** How many marks stand on the last line: programs of all engines run, and print, at the same time. */
let marksOfLine = 0;

function mark(symbol: "." | "-" | "F"): void {
  process.stdout.write(symbol === "F" ? styleText("red", symbol) : symbol);
  marksOfLine += 1;
  if (marksOfLine === marksPerLine) endMarks();
}

function endMarks(): void {
  if (marksOfLine > 0) console.log();
  marksOfLine = 0;
}

/** Node.js reports a program as a test of its own when its process fails or runs no test; only that has no entry file. */
function isProgram(test: Finished): boolean {
  return test.entryFile === undefined;
}

function idOf(program: string | undefined, test: number | undefined): string {
  return `${program} ${test}`;
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
