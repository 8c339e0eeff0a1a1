import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  ApplicationOverview,
  ReadOverview as OverviewParameters,
  ReadStatistics as StatisticsParameters,
} from "../../../server/src/statistics/statistics.contract.ts";
import { operation } from "./call.ts";

export type Overview = Static<typeof ApplicationOverview>;
export type Statistics = Overview["statistics"];

export const readOverview = operation<{ appid: string } & Static<typeof OverviewParameters>, Overview>(
  "GET",
  "/applications/{appid}/overview",
  ["appid", "from", "to", "interval", "compare"],
);

export const readStatistics = operation<{ appid: string } & Static<typeof StatisticsParameters>, Statistics>(
  "GET",
  "/applications/{appid}/statistics",
  ["appid", "from", "to", "interval", "series"],
);
