// Loaded before server/src/main.ts: shifts what the program takes for the wall clock, as an administrator or an NTP daemon
// would. FAULTS_CLOCK_SHIFT_MS shifts it from the start; SIGUSR2 sets it back by an hour while it runs. The monotonic
// clock goes on, as the system's does.

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
