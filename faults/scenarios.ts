import { clockSteps } from "./clock.ts";
import { fullDisks } from "./disk-full.ts";
import { flood } from "./flood.ts";
import { killOnPostgres, killOnSqlite } from "./kills.ts";
import { databaseOutages } from "./outages.ts";
import { pipelines } from "./pipelines.ts";
import type { Scenario } from "./scenario.ts";
import { shutdowns } from "./shutdowns.ts";
import { slowClients } from "./slow-clients.ts";
import { manyStreams } from "./streams.ts";

/** All scenarios of the server, in the order in which they run. */
export const scenarios: readonly Scenario[] = [
  killOnSqlite,
  killOnPostgres,
  ...databaseOutages,
  ...shutdowns,
  ...clockSteps,
  ...fullDisks,
  slowClients,
  pipelines,
  flood,
  manyStreams,
];
