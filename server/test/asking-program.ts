import { loadConfig } from "../src/config.ts";
import { createSiblings } from "../src/workers/siblings.ts";
import { supervise } from "../src/workers/supervisor.ts";
import { onSupervisor, tellSupervisor, workerNumber } from "../src/workers/worker.ts";

/**
 * Workers without a server, that ask each other: each writes a line with the answers that it got. The last one answers
 * slowly, and does not know the second question.
 */
const workers = 3;
if (workerNumber === undefined) {
  await supervise(loadConfig({ WORKERS: `${workers}`, PORT: "0", LOG_LEVEL: "error" }));
} else {
  const siblings = createSiblings();
  const isLast = workerNumber === workers;
  siblings.answer("number", async () => {
    if (isLast) await new Promise((resolve) => setTimeout(resolve, 100));
    return { number: workerNumber };
  });
  if (!isLast) siblings.answer("known to some", () => true);
  siblings.answer("failing", () => {
    throw new Error("an answer that fails");
  });
  tellSupervisor({ kind: "listening" });
  onSupervisor("stop", () => process.exit());
  if (isLast) {
    const answers = {
      patient: await siblings.ask("number", 10_000),
      hasty: await siblings.ask("number", 50),
      some: await siblings.ask("known to some", 10_000),
      failing: await siblings.ask("failing", 10_000),
      nobody: await siblings.ask("what nobody knows", 10_000),
    };
    process.stdout.write(`${JSON.stringify(answers)}\n`);
  }
}
