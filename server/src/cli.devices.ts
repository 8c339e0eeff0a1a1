import { type Command, UsageError } from "./cli.command.ts";
import { operationCommand } from "./cli.operator.ts";
import { endTokensOfDevice } from "./devices/devices.operator.routes.ts";
import { kindOfId } from "./lib/ids.ts";

/** The commands about the devices of an application. */
export const commands = {
  "devices revoke": operationCommand(endTokensOfDevice, readDevice, (id) => ({
    json: { id, revoked: true },
    text: `revoked the tokens of ${id} and of the users on it`,
  })),
} satisfies Readonly<Record<string, Command>>;

function readDevice([appid, deviceId]: readonly string[]) {
  if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError("devices revoke needs an APPID");
  if (deviceId === undefined || kindOfId(deviceId) !== "Device")
    throw new UsageError("devices revoke needs a DEVICEID");
  return { id: deviceId, path: { appid, deviceId }, refusals: { ItemDoesNotExist: `there is no device ${deviceId}` } };
}
