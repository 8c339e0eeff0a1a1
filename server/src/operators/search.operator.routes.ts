import { requireApplication } from "../auth/operated-application.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { ApplicationHits, DeploymentHits, hitsMax, Search, SearchPath } from "./search.contract.ts";
import { findInApplication, findInDeployment, type Hit } from "./search.store.ts";

const searchApplication = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/search",
  operation: "searchApplication",
  summary: "Find objects by an id or the beginning of a name",
  description: "Up to ten objects of each kind.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SearchPath,
  parameters: Search,
  status: 200,
  result: ApplicationHits,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters: { q } }, services) {
    const { audit, database } = services;
    await requireApplication(appid, database.reads);
    await audit.save();
    const [found, requests] = await Promise.all([
      findInApplication(appid, q.trim(), database.reads),
      findRequests(appid, q.trim(), services),
    ]);
    return { ...found, requests };
  },
});

const searchDeployment = operation({
  method: "GET",
  path: "/_/api/search",
  operation: "searchDeployment",
  summary: "Find applications, users, operators and calls by an id or the beginning of a name",
  description: "Up to ten objects of each kind.",
  tag: "Operators",
  caller: "operator",
  parameters: Search,
  status: 200,
  result: DeploymentHits,
  errors: [],
  async handle({ parameters: { q } }, { audit, database }) {
    await audit.save();
    return findInDeployment(q.trim(), database.reads);
  },
});

async function findRequests(
  applicationId: string,
  requestId: string,
  { requests }: Pick<Services, "requests">,
): Promise<Hit[]> {
  if (!/^[\w-]{1,64}$/.test(requestId)) return [];
  const question = { applicationId, positions: {}, filters: { requestId }, areAddressesShort: true };
  const answers = await requests.ask(question);
  const calls = answers.flatMap((answer) => answer.calls).slice(0, hitsMax);
  return calls.map(({ shown: { requestId: id, operation: title } }) => ({
    id,
    ...(title !== undefined && { title }),
    match: "requestId",
  }));
}

/** Operators search for anything (spec/operators#search-for-anything). */
export const searchOperations = [searchApplication, searchDeployment];
