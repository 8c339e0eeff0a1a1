import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Resources that must not outlive a run: child processes and one temporary folder. */

const children = new Map<ChildProcess, NodeJS.Signals>();
const patienceMs = 5_000;
const resultsFolder = path.join(import.meta.dirname, "../bench/results");

let folder: string | undefined;
let isEnding = false;

/** True once a signal has started to end the run: later failures are a consequence of that. */
export function isInterrupted(): boolean {
  return isEnding;
}

/** Registers a child process to be stopped with the run. @param signal the one that makes it shut down */
export function adopt<Child extends ChildProcess>(child: Child, signal: NodeJS.Signals = "SIGTERM"): Child {
  children.set(child, signal);
  child.once("exit", () => children.delete(child));
  child.once("error", () => children.delete(child));
  return child;
}

/** Stops a child and waits for its exit; kills it after a timeout. */
export async function end(child: ChildProcess): Promise<void> {
  const signal = children.get(child);
  if (signal === undefined || child.pid === undefined) return;
  const exited = once(child, "exit");
  child.kill(signal);
  const impatience = new AbortController();
  const kill = delay(patienceMs, undefined, { signal: impatience.signal })
    .then(() => child.kill("SIGKILL"))
    .catch(() => false); // it exited in time
  await exited;
  impatience.abort();
  await kill;
}

/** The folder of this run, on a real disk if there is one: in memory, a durable write would cost nothing. */
export function temporaryFolder(): string {
  if (folder === undefined) {
    mkdirSync(resultsFolder, { recursive: true });
    folder = mkdtempSync(path.join(isInMemory(tmpdir()) ? resultsFolder : tmpdir(), "rollcall-bench-"));
  }
  return folder;
}

/** A new, empty folder inside the folder of this run. */
export function newFolder(name: string): string {
  return mkdtempSync(path.join(temporaryFolder(), `${name}-`));
}

function isInMemory(place: string): boolean {
  const memoryFilesystems = [0x0102_1994, 0x8584_58f6]; // tmpfs, ramfs
  return process.platform === "linux" && memoryFilesystems.includes(statfsSync(place).type);
}

/** Stops all children and deletes the temporary folder. */
export async function endEverything(): Promise<void> {
  await Promise.all([...children.keys()].map(end));
  deleteFolder();
}

function deleteFolder(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Kills the children that a failed test did not stop. */
export function killEverything(): void {
  for (const child of children.keys()) child.kill("SIGKILL");
}

/** Cleans up however the process ends. Must be called first, and once. */
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
    killEverything();
    deleteFolder();
  });
}
