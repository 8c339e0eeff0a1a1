import type { Probes } from "./probes.ts";
import type { Tally } from "./tally.ts";

const recoveryMsMax = 1_000;
/** How long a late recovery is awaited, so that it can be reported. */
const patienceMs = 20_000;
/** A machine that others use stands still at times; a server that recovers late is late each time. */
const lateMax = 3;

/** Injects faults one after the other, and times how soon the server answers again after each. */
export class Recoveries {
  readonly #probes: Probes;
  readonly #tally: Tally;
  readonly #late: string[] = [];

  constructor(probes: Probes, tally: Tally) {
    this.#probes = probes;
    this.#tally = tally;
  }

  /**
   * Times the recovery from a fault, and repeats the fault while it is late.
   *
   * @param fault resolves when nothing prevents the server from answering any more
   */
  async time(fault: () => Promise<void>): Promise<void> {
    while (this.#late.length <= lateMax) {
      await this.#probes.untilCalm();
      await fault();
      const ms = await this.#probes.recoveryFrom(performance.now(), patienceMs);
      this.#tally.faults += 1;
      this.#tally.recoveryMs.push(ms ?? Number.POSITIVE_INFINITY);
      if (ms === undefined) this.#tally.wrong.push(`did not recover within ${patienceMs / 1000} s`);
      if (ms === undefined || ms <= recoveryMsMax) return;
      this.#late.push(ms.toFixed(0));
      if (this.#late.length > lateMax) this.#tally.wrong.push(`recovered late: after ${this.#late.join(", ")} ms`);
    }
  }
}
