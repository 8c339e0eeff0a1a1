import type { Config } from "./config.ts";
import { workerNumber } from "./workers/worker.ts";

/** Serves until SIGTERM: in this process, or in as many as WORKERS says. Loads only what it is in for. */
export async function start(config: Config): Promise<void> {
  if (config.workers > 1 && workerNumber === undefined) {
    const { supervise } = await import("./workers/supervisor.ts");
    const { keepCounts, metricsQuestion } = await import("./insight/kept-counts.ts");
    return supervise(config, { [metricsQuestion]: keepCounts });
  }
  const { serve } = await import("./serve.ts");
  try {
    await serve(config);
  } catch (error) {
    process.channel?.unref(); // of a worker: nothing else keeps it
    throw error;
  }
}
