import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

const sampleMs = 250;
const busyMax = 0.15;

let disturbedCount = 0;

/**
 * Waits until the server has finished the last load, and until other programs leave the machine idle. Gives up after a
 * timeout.
 */
export async function untilQuiet(patienceSeconds: number): Promise<void> {
  const endsAt = performance.now() + patienceSeconds * 1000;
  while (true) {
    const before = readTimes();
    await delay(sampleMs);
    const after = readTimes();
    if ((after.busy - before.busy) / (after.all - before.all) <= busyMax) return;
    if (performance.now() > endsAt) {
      disturbedCount += 1;
      return;
    }
  }
}

/** The number of measurements that began on a machine that other programs kept busy. */
export function readDisturbedCount(): number {
  return disturbedCount;
}

/** The busy time of all processors together, in milliseconds. */
function readTimes(): { busy: number; all: number } {
  let all = 0;
  let idle = 0;
  for (const { times } of cpus()) {
    all += times.user + times.nice + times.sys + times.irq + times.idle;
    idle += times.idle;
  }
  return { busy: all - idle, all };
}
