// Preloaded before `rollcall serve`: shifts the wall clock as the program sees it, as an administrator or an NTP
// daemon does. FAULTS_CLOCK_SHIFT_MS shifts it from the start; SIGUSR2 sets it back by an hour while it runs. The
// monotonic clock is unchanged, as on a real system.

const hourMs = 3_600_000;
let shiftMs = Number(process.env.FAULTS_CLOCK_SHIFT_MS ?? 0);

const RealDate = Date;
const now = () => RealDate.now() + shiftMs;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now());
    else super(...args);
  }

  static now() {
    return now();
  }
};

process.on("SIGUSR2", () => {
  shiftMs -= hourMs;
});
