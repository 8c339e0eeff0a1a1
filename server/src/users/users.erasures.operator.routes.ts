import { requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import { formatDate } from "../lib/dates.ts";
import { operation } from "../operations/operation.ts";
import { Erasures, erasuresMax, OperatedUsersPath } from "./users.operator.contract.ts";
import { countOfUser } from "./users.operator.store.ts";
import { listErasedUsers } from "./users.store.ts";

const listErasures = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/erasures",
  operation: "listErasures",
  summary: "List deleted users with data left to erase",
  description: "Clients no longer find this data.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUsersPath,
  parameters: Type.Object({}),
  status: 200,
  result: Erasures,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, { database: { reads } }) {
    await requireApplication(appid, reads);
    const found = await listErasedUsers(appid, erasuresMax + 1, reads);
    const users = await Promise.all(
      found.slice(0, erasuresMax).map(async ({ id, deleted_at }) => ({
        id,
        since: formatDate(deleted_at),
        counts: await countOfUser(appid, id, reads),
      })),
    );
    return { users, isMore: found.length > erasuresMax };
  },
});

/** Lists unfinished erasures, for operators. */
export const erasureOperatorOperations = [listErasures];
