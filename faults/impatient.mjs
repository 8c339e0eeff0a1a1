// Loaded before server/src/main.ts: what comes every minute comes every second.

const minuteMs = 60_000;
const { setInterval } = globalThis;

globalThis.setInterval = (work, ms, ...args) => setInterval(work, ms === minuteMs ? 1_000 : ms, ...args);
