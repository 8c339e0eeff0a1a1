import type { Probes } from "./probes.ts";
import type { Tally } from "./tally.ts";

/** The factor by which other clients may wait longer during an attack. */
const p99FactorMax = 20;

/** What was measured during an attack. */
interface Attacked {
  /** When it began. */
  readonly from: number;
  /** The p99 of other clients before it, and during it. */
  readonly calmMs: number;
  readonly p99Ms: number;
  /** By how many bytes the memory of the server grew. */
  readonly grown: number;
}

/**
 * Compares how other clients were served during an attack, and the memory of the server, with what is allowed.
 *
 * @param limits `p99MsMax`: a wait that is short enough on a busy machine
 */
export function compareOthers(
  probes: Probes,
  { from, calmMs, p99Ms, grown }: Attacked,
  { p99MsMax, residentGrowthMax }: { readonly p99MsMax: number; readonly residentGrowthMax: number },
  tally: Tally,
): void {
  const refused = probes.failuresSince(from);
  tally.checks += probes.successes(from, performance.now()).length + refused;
  if (refused > 0) tally.wrong.push(`${refused} calls of other clients failed`);
  if (p99Ms > Math.max(p99MsMax, p99FactorMax * calmMs)) tally.wrong.push(`others waited ${p99Ms.toFixed(0)} ms (p99)`);
  if (grown > residentGrowthMax) tally.wrong.push(`memory grew by ${(grown / 1e6).toFixed(0)} MB`);
  tally.remarks.push(
    `p99 of others ${calmMs.toFixed(0)} → ${p99Ms.toFixed(0)} ms`,
    `${(grown / 1e6).toFixed(0)} MB more`,
  );
}
