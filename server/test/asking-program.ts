import { setTimeout } from "node:timers/promises";
import { loadConfig } from "../src/config.ts";
import { createSiblings } from "../src/workers/siblings.ts";
import { supervise } from "../src/workers/supervisor.ts";
import { onSupervisor, tellSupervisor, workerNumber } from "../src/workers/worker.ts";

/**
 * Workers without a server, that ask each other. The last one writes a line with the answers that it got; it answers one
 * of its questions too late, and does not know another. The first one dies of one.
 */
const workers = 3;
if (workerNumber === undefined) {
  await supervise(loadConfig({ WORKERS: `${workers}`, PORT: "0", LOG_LEVEL: "silent" }));
} else {
  const siblings = createSiblings();
  const isLast = workerNumber === workers;
  siblings.answer("number", () => ({ number: workerNumber }));
  siblings.answer("number, soon", () => (isLast ? new Promise(() => {}) : { number: workerNumber }));
  if (!isLast) siblings.answer("known to some", () => true);
  siblings.answer("failing", () => {
    throw new Error("an answer that fails");
  });
  siblings.answer("deadly", () =>
    workerNumber === 1 ? process.kill(process.pid, "SIGKILL") : { number: workerNumber },
  );
  tellSupervisor({ kind: "listening" });
  onSupervisor("stop", () => process.exit());
  if (isLast) {
    // Those that start at the same time may not be there yet.
    while ((await siblings.ask("number", 10_000)).length < workers) await setTimeout(20);
    const answers = {
      patient: await siblings.ask("number", 10_000),
      hasty: await siblings.ask("number, soon", 2_000),
      some: await siblings.ask("known to some", 10_000),
      failing: await siblings.ask("failing", 10_000),
      nobody: await siblings.ask("what nobody knows", 10_000),
      living: await siblings.ask("deadly", 600_000),
    };
    process.stdout.write(`${JSON.stringify(answers)}\n`);
  }
}
