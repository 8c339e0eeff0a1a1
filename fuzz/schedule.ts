import type { Operation } from "./document.ts";
import type { Random } from "./random.ts";

/** Operations that are slow, or that fill the listings. */
const seldom: Readonly<Record<string, number>> = {
  requestPasswordReset: 0.2,
  createApplication: 0.3,
  exportUser: 0.3,
  downloadUser: 0.3,
  testMailSettings: 0.2,
  deleteApplication: 0.3,
  deleteWebhook: 0.1,
  pauseWebhook: 0.3,
};
const often: Readonly<Record<string, number>> = { runBatch: 6 };

/** The operation of each call, in random order: each is called in proportion to its weight. */
export function createSchedule(
  operations: readonly Operation[],
  only: readonly string[],
  calls: number,
  random: Random,
): readonly Operation[] {
  const wanted = only.length === 0 ? operations : operations.filter(({ id }) => only.includes(id));
  const weightOf = ({ id }: Operation) => seldom[id] ?? often[id] ?? 1;
  const weight = wanted.reduce((sum, each) => sum + weightOf(each), 0);
  const schedule = wanted.flatMap((each) =>
    Array.from({ length: Math.ceil((calls * weightOf(each)) / weight) }, () => each),
  );
  for (let index = schedule.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1);
    [schedule[index], schedule[other]] = [schedule[other] as Operation, schedule[index] as Operation]; // both are in range
  }
  return schedule.slice(0, calls);
}
