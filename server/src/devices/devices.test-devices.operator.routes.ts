import { requireApplication } from "../auth/operated-application.ts";
import { TestCaller, TestCallersPath } from "../auth/test-callers.contract.ts";
import { insertTestDevice } from "../auth/test-callers.ts";
import { Type } from "../contract/schema.ts";
import { operation } from "../operations/operation.ts";

const createTestDevice = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/test-devices",
  operation: "createTestDevice",
  summary: "Create a device for trying calls",
  description: "Its token is valid for an hour. Beyond 20 test devices, the oldest is deleted.",
  tag: "Operators",
  caller: "operator",
  pathParameters: TestCallersPath,
  parameters: Type.Object({}),
  status: 201,
  result: TestCaller,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services) {
    const { database, tokens } = services;
    await requireApplication(appid, database.reads);
    const device = await database.write((transaction) => insertTestDevice(appid, null, services, transaction));
    return { id: device.deviceId, ...tokens.issueDeviceToken(device) };
  },
});

/** Devices for operators to try calls with (spec/operators#test-devices-and-users). */
export const testDeviceOperations = [createTestDevice];
