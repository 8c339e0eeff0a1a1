import type { Static } from "../../../server/src/contract/schema.ts";
import type { Deployment as WireDeployment } from "../../../server/src/deployment/deployment.contract.ts";
import type { DeploymentStatistics, ReadStatistics } from "../../../server/src/statistics/statistics.contract.ts";
import { operation } from "./call.ts";

export type Deployment = Static<typeof WireDeployment>;
export type DeploymentCalls = Static<typeof DeploymentStatistics>;

export const readDeployment = operation<Record<never, never>, Deployment>("GET", "/deployment", []);

export const readDeploymentStatistics = operation<Static<typeof ReadStatistics>, DeploymentCalls>(
  "GET",
  "/statistics",
  ["from", "to", "interval", "series"],
);
