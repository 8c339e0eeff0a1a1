import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  ApplicationHits as WireApplicationHits,
  DeploymentHits as WireDeploymentHits,
} from "../../../server/src/operators/search.contract.ts";
import { operation } from "./call.ts";

export type ApplicationHits = Static<typeof WireApplicationHits>;
export type DeploymentHits = Static<typeof WireDeploymentHits>;
export type Hit = ApplicationHits["users"][number];

export const searchApplication = operation<{ appid: string; q: string }, ApplicationHits>(
  "GET",
  "/applications/{appid}/search",
  ["appid", "q"],
);

export const searchDeployment = operation<{ q: string }, DeploymentHits>("GET", "/search", ["q"]);
