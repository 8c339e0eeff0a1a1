import type { Operation } from "./document.ts";
import type { Random } from "./random.ts";

/** What takes long by its nature, or makes much of what listings then have to show. */
const seldom: Readonly<Record<string, number>> = {
  requestPasswordReset: 0.2,
  createApplication: 0.3,
  exportUser: 0.3,
  deleteApplication: 0.3,
};
const often: Readonly<Record<string, number>> = { runBatch: 6 };

/** Which operation each call is of, in an order of chance: every one comes as often as it weighs. */
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
    [schedule[index], schedule[other]] = [schedule[other] as Operation, schedule[index] as Operation]; // both are within it
  }
  return schedule.slice(0, calls);
}
