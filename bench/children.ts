import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Everything that must not outlive a run: child processes and one temporary folder. */

const children = new Map<ChildProcess, NodeJS.Signals>();
const patienceMs = 5_000;
const resultsFolder = path.join(import.meta.dirname, "results");

let folder: string | undefined;
let isEnding = false;

/** True once a signal has begun to end the run: what fails from then on fails because of that. */
export function isInterrupted(): boolean {
  return isEnding;
}

/** Takes a child process into care. @param signal what makes it end by itself */
export function adopt<Child extends ChildProcess>(child: Child, signal: NodeJS.Signals = "SIGTERM"): Child {
  children.set(child, signal);
  child.once("exit", () => children.delete(child));
  child.once("error", () => children.delete(child));
  return child;
}

/** Ends a child and waits until it is gone; kills it when it does not go. */
export async function end(child: ChildProcess): Promise<void> {
  const signal = children.get(child);
  if (signal === undefined || child.pid === undefined) return;
  const exited = once(child, "exit");
  child.kill(signal);
  const impatience = new AbortController();
  const kill = delay(patienceMs, undefined, { signal: impatience.signal })
    .then(() => child.kill("SIGKILL"))
    .catch(() => false); // went in time
  await exited;
  impatience.abort();
  await kill;
}

/** The folder of this run, on a real disk where there is one: in memory, a durable write would cost nothing. */
export function temporaryFolder(): string {
  if (folder === undefined) {
    mkdirSync(resultsFolder, { recursive: true });
    folder = mkdtempSync(path.join(isInMemory(tmpdir()) ? resultsFolder : tmpdir(), "rollcall-bench-"));
  }
  return folder;
}

/** A new, empty folder inside the one of this run. */
export function newFolder(name: string): string {
  return mkdtempSync(path.join(temporaryFolder(), `${name}-`));
}

function isInMemory(place: string): boolean {
  const memoryFilesystems = [0x0102_1994, 0x8584_58f6]; // tmpfs, ramfs
  return process.platform === "linux" && memoryFilesystems.includes(statfsSync(place).type);
}

/** Ends all children and deletes the temporary folder. */
export async function endEverything(): Promise<void> {
  await Promise.all([...children.keys()].map(end));
  deleteFolder();
}

function deleteFolder(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Leaves nothing behind, however the process ends. To be called once, first. */
export function cleanUpAtExit(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (isEnding) return;
      isEnding = true;
      process.stderr.write(`\nended by ${signal}\n`);
      endEverything().finally(() => process.exit(130));
    });
  }
  process.on("exit", () => {
    for (const child of children.keys()) child.kill("SIGKILL");
    deleteFolder();
  });
}
