import { open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { findUsage } from "../storage/usage.ts";
import { eraseUser } from "../users/users.erasure.ts";
import { exportUser } from "../users/users.export.operator.routes.ts";
import { disableUser, enableUser, endTokensOfUser, removeUser } from "../users/users.operator.routes.ts";
import { reportBytes } from "./archive-progress.ts";
import { type Command, requireId, UsageError } from "./command.ts";
import { asOperator, operationCommand } from "./operator.ts";

/** The commands for the users of an application. */
export const commands = {
  "users disable": operationCommand(disableUser, readUser("disable"), (id) => ({
    json: { id, isDisabled: true },
    text: `disabled ${id}`,
  })),

  "users enable": operationCommand(enableUser, readUser("enable"), (id) => ({
    json: { id, isDisabled: false },
    text: `enabled ${id}`,
  })),

  "users revoke": operationCommand(endTokensOfUser, readUser("revoke"), (id) => ({
    json: { id, revoked: true },
    text: `revoked the tokens of ${id}`,
  })),

  "users erase": (config, { yes = false }, rest) =>
    asOperator(config, async ({ perform, services: { database } }) => {
      const { id: userId, ...call } = readUser("erase")(rest);
      if (!yes) throw new UsageError("users erase deletes everything the user owns: confirm with --yes");
      await perform(removeUser, { ...call, parameters: { confirm: userId } });
      const isDone = await eraseUser(call.path.appid, userId, database);
      const text = isDone
        ? `erased ${userId}`
        : `erased ${userId}; a running server will erase the rows that were added meanwhile`;
      return { json: { id: userId, erased: true, isComplete: isDone }, text };
    }),

  "users export": (config, _values, rest, { progress }) =>
    asOperator(config, async ({ performArchive, services: { database } }) => {
      const { id: userId, ...call } = readUser("export")(rest);
      const [, , file] = rest;
      if (file === undefined) throw new UsageError("users export needs a FILE.zip");
      const exported = await performArchive(exportUser, call);
      const usage = await findUsage(call.path.appid, database.reads, userId);
      const files = { name: "exported", total: usage.bytes, isEstimate: true };
      // The rename makes the export atomic: a partial export never has the requested name.
      const unfinished = `${file}.unfinished`;
      await rm(unfinished, { force: true });
      const target = await open(unfinished, "wx", 0o600); // only the owner may read personal data
      try {
        await pipeline(
          exported.open(),
          (archive: AsyncIterable<Uint8Array>) => reportBytes(archive, files, progress),
          target.createWriteStream({ flush: true }),
        );
        await rename(unfinished, file);
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
      return { json: { id: userId, file }, text: `exported ${userId} to ${file}` };
    }),
} satisfies Readonly<Record<string, Command>>;

function readUser(verb: string) {
  return ([givenApp, given]: readonly string[]) => {
    const appid = requireId(`users ${verb}`, "App", givenApp);
    const userId = requireId(`users ${verb}`, "User", given);
    return { id: userId, path: { appid, userId }, refusals: { ItemDoesNotExist: `there is no user ${userId}` } };
  };
}
