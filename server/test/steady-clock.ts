const measured = performance.now.bind(performance);
let aheadMs = 0;
performance.now = () => measured() + aheadMs;

/** Advances `performance.now()` in this process, for code that measures waiting with it; timers are unaffected. */
export function passSteadyTime(ms: number): void {
  aheadMs += ms;
}
