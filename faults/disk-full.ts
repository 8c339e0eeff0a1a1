import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createDeployment } from "../testkit/deployment.ts";
import { startServer } from "../testkit/server.ts";
import { getSharedPostgres } from "./postgres.ts";
import { Probes } from "./probes.ts";
import { Recoveries } from "./recoveries.ts";
import type { Scenario } from "./scenario.ts";
import { findObstacleToMounting, mountSmallDisk } from "./small-disk.ts";
import { Workload } from "./workload.ts";

const rounds = 3;
const fullMs = 1_500;

/** @param settings of a server whose data are in this folder */
function diskFull(
  name: string,
  promise: string,
  settings: (folder: string) => Promise<Readonly<Record<string, string>>>,
): Scenario {
  return {
    name,
    promise,
    isTimed: true,
    findObstacle: findObstacleToMounting,
    async run(tally) {
      const disk = mountSmallDisk();
      if (disk === undefined) throw new Error("the small disk could not be mounted again");
      const deployment = await createDeployment(await settings(disk.folder));
      const server = await startServer(deployment.settings);
      const workload = await Workload.begin(deployment, server.port, tally, { mayBreak: false });
      const probes = await Probes.begin(deployment, server.port, tally);
      const stop = new AbortController();
      const running = workload.run(server.port, stop.signal);
      const recoveries = new Recoveries(probes, tally);
      const fillForAWhile = async () => {
        disk.fill();
        const fullFrom = performance.now();
        await sleep(fullMs);
        const refused = probes.failures("read", fullFrom, performance.now());
        if (refused > 0) tally.wrong.push(`${refused} reads failed while the disk was full`);
        disk.free();
      };
      for (let round = 0; round < rounds; round += 1) await recoveries.time(fillForAWhile);
      stop.abort();
      await Promise.all([running, probes.end()]);
      if (tally.unavailable === 0) tally.wrong.push("no write failed: the disk was not full");
      await workload.checkAll(server.port);
      const code = await server.end("SIGTERM");
      if (code !== 0) tally.wrong.push(`the server exited with ${code}`);
      disk.unmount();
    },
  };
}

const promise = "writes get ServiceUnavailable, reads succeed, and writes succeed again when there is free space";

export const fullDisks: readonly Scenario[] = [
  diskFull("disk full, SQLite and files", promise, async (folder) => ({ DATA_DIR: path.join(folder, "data") })),
  diskFull("disk full, PostgreSQL", promise, async (folder) => ({
    DATABASE_URL: await (await getSharedPostgres()).createDatabase(path.join(folder, "tables")),
  })),
];
