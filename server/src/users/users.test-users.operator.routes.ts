import { requireApplication } from "../auth/operated-application.ts";
import { TestCaller, TestCallersPath } from "../auth/test-callers.contract.ts";
import { insertTestDevice, testTag } from "../auth/test-callers.ts";
import { insertUserToken } from "../auth/user-tokens.ts";
import { Type } from "../contract/schema.ts";
import { userNameKey } from "../lib/user-name-keys.ts";
import { operation } from "../operations/operation.ts";
import { insertUser, newUserRow } from "./users.store.ts";

const createTestUser = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/test-users",
  operation: "createTestUser",
  summary: "Create a user to try calls with, on a device of its own",
  description: "Has celebMode and no password. The token lives for an hour. Beyond 20 test users, the oldest one ends.",
  tag: "Operators",
  caller: "operator",
  pathParameters: TestCallersPath,
  parameters: Type.Object({}),
  status: 201,
  result: TestCaller,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services) {
    const { database, tokens, clock, ids } = services;
    await requireApplication(appid, database.reads);
    const id = ids.newId("User");
    const user_name = `${testTag}-${id}`;
    const user = newUserRow({
      ...{ application_id: appid, id, user_name, user_name_key: userNameKey(user_name), created_at: clock.now() },
      ...{ password_hash: "", celeb_mode: 1, tag: testTag },
    });
    return database.write(async (transaction) => {
      await insertUser(user, transaction.queries);
      const device = await insertTestDevice(appid, id, services, transaction);
      const { token, row } = tokens.issueUserToken(device, { id, tokenVersion: 0 });
      await insertUserToken(row, transaction.queries);
      return { id, ...token };
    });
  },
});

/** Creates the users with which operators try calls (spec/operators#test-devices-and-users). */
export const testUserOperations = [createTestUser];
