import { endTokensOfDevice } from "../devices/devices.operator.routes.ts";
import { type Command, requireId } from "./command.ts";
import { operationCommand } from "./operator.ts";

/** The commands for the devices of an application. */
export const commands = {
  "devices revoke": operationCommand(endTokensOfDevice, readDevice, (id) => ({
    json: { id, revoked: true },
    text: `revoked the tokens of ${id} and of the users on it`,
  })),
} satisfies Readonly<Record<string, Command>>;

function readDevice([givenApp, given]: readonly string[]) {
  const appid = requireId("devices revoke", "App", givenApp);
  const deviceId = requireId("devices revoke", "Device", given);
  return { id: deviceId, path: { appid, deviceId }, refusals: { ItemDoesNotExist: `there is no device ${deviceId}` } };
}
