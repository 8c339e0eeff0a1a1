// Preloaded before `rollcall serve`: timers of a minute fire every second.

const minuteMs = 60_000;
const { setInterval } = globalThis;

globalThis.setInterval = (work, ms, ...args) => setInterval(work, ms === minuteMs ? 1_000 : ms, ...args);
