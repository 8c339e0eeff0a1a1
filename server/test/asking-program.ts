import { setTimeout } from "node:timers/promises";
import { loadConfig } from "../src/config/config.ts";
import { workerNumber } from "../src/config/worker-number.ts";
import { createPeers } from "../src/workers/peers.ts";
import { supervise } from "../src/workers/supervisor.ts";
import { onSupervisorMessage, sendToSupervisor } from "../src/workers/worker.ts";

/**
 * Workers without a server that send each other IPC requests. The last worker prints the responses; it answers one kind of
 * request too late, and does not handle another. A third kind makes the first worker crash.
 */
const workers = 3;
if (workerNumber === undefined) {
  await supervise(loadConfig({ WORKERS: `${workers}`, PORT: "0", LOG_LEVEL: "silent" }));
} else {
  const peers = createPeers();
  const isLast = workerNumber === workers;
  peers.answer("number", () => ({ number: workerNumber }));
  peers.answer("number, soon", () => (isLast ? new Promise(() => {}) : { number: workerNumber }));
  if (!isLast) peers.answer("known to some", () => true);
  peers.answer("echo", (argument) => argument);
  peers.answer("failing", () => {
    throw new Error("an answer that fails");
  });
  peers.answer("deadly", () => (workerNumber === 1 ? process.kill(process.pid, "SIGKILL") : { number: workerNumber }));
  sendToSupervisor({ kind: "listening" });
  onSupervisorMessage("stop", () => process.exit());
  if (isLast) {
    // Workers that start at the same time may not be connected yet.
    while ((await peers.ask("number", 10_000)).length < workers) await setTimeout(20);
    const answers = {
      patient: await peers.ask("number", 10_000),
      hasty: await peers.ask("number, soon", 2_000),
      some: await peers.ask("known to some", 10_000),
      echoed: await peers.ask("echo", 10_000, "an argument"),
      failing: await peers.ask("failing", 10_000),
      unhandled: await peers.ask("unhandled", 10_000),
      living: await peers.ask("deadly", 600_000),
    };
    process.stdout.write(`${JSON.stringify(answers)}\n`);
  }
}
