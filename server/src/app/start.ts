import type { Config } from "../config/config.ts";
import { workerNumber } from "../config/worker-number.ts";
import type { StartOptions } from "./serve.ts";

/** Serves until SIGTERM, in this process or in WORKERS processes. Loads only the modules that it needs. */
export async function start(config: Config, options: StartOptions = {}): Promise<void> {
  if (config.workers > 1 && workerNumber === undefined) {
    const { supervise } = await import("../workers/supervisor.ts");
    const { keepCounts, metricsRequest } = await import("../monitoring/kept-counts.ts");
    return supervise(config, { [metricsRequest]: keepCounts });
  }
  try {
    const { serve } = await import("./serve.ts");
    await serve(config, options);
  } catch (error) {
    process.channel?.unref(); // otherwise the channel would keep a failed worker running
    throw error;
  }
}
