import { open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { holdApplication } from "./auth/operated-application.ts";
import { createRevocations } from "./auth/revocations.ts";
import { reportBytes } from "./cli.archive-progress.ts";
import { type Command, createClockAndIds, UsageError, withDatabase } from "./cli.command.ts";
import { recordCommand } from "./cli.operators.ts";
import type { Database, Queries } from "./db/database.ts";
import { ApiError } from "./errors.ts";
import { archiveUser } from "./exports/user-archive.ts";
import { kindOfId } from "./lib/ids.ts";
import { createSaltedHashes } from "./metrics/engine/salted-hashes.ts";
import { loadSecrets } from "./server-secret.ts";
import { openByteStore } from "./storage/open.ts";
import { findUsage } from "./storage/usage.ts";
import { createUserExporters } from "./user-exporters.ts";
import { eraseUser } from "./users/users.erasure.ts";
import { deleteUserByOperator, updateUserDisabled } from "./users/users.operated.ts";
import { findUser } from "./users/users.store.ts";

/** A command caches no tokens; running servers poll the database. */
const revocations = createRevocations({ invalidateTokenCache: () => {} });

/** The commands about the users of an application. */
export const userCommands: Readonly<Record<string, Command>> = {
  "users disable": setDisabled(true),
  "users enable": setDisabled(false),

  "users revoke": (config, _values, rest) =>
    withDatabase(config, async (database) => {
      const { applicationId, userId } = readUser("revoke", rest);
      await database.write(async (transaction) => {
        await requireUser(applicationId, userId, database, transaction.queries);
        await revocations.endUserTokens(applicationId, userId, transaction);
        await recordCommand({ action: "endTokensOfUser", applicationId, target: userId }, transaction.queries);
      });
      return { json: { id: userId, revoked: true }, text: `revoked the tokens of ${userId}` };
    }),

  "users erase": (config, { yes = false }, rest) =>
    withDatabase(config, async (database) => {
      const { applicationId, userId } = readUser("erase", rest);
      if (!yes) throw new UsageError("users erase deletes everything the user owns: confirm with --yes");
      const { dialect } = database;
      const at = createClockAndIds().clock.now();
      await database.write(async (transaction) => {
        await requireUser(applicationId, userId, database, transaction.queries);
        await deleteUserByOperator(applicationId, userId, at, dialect, revocations, transaction);
        await recordCommand({ action: "eraseUser", applicationId, target: userId }, transaction.queries);
      });
      const isDone = await eraseUser(applicationId, userId, database);
      const text = isDone
        ? `erased ${userId}`
        : `erased ${userId}; a running server will erase the rows that were added meanwhile`;
      return { json: { id: userId, erased: true, isComplete: isDone }, text };
    }),

  "users export": (config, _values, rest, { progress }) =>
    withDatabase(config, async (database) => {
      const owner = readUser("export", rest);
      const { applicationId, userId } = owner;
      const [, , file] = rest;
      if (file === undefined) throw new UsageError("users export needs a FILE.zip");
      await database.write(async ({ queries }) => {
        await requireUser(applicationId, userId, database, queries);
        await recordCommand({ action: "exportUser", applicationId, target: userId }, queries);
      });
      const { clock } = createClockAndIds();
      const saltedHashes = createSaltedHashes(loadSecrets(config));
      const exporters = createUserExporters({ database, bytes: await openByteStore(config), saltedHashes, clock });
      const isThere = async () => (await findUser(applicationId, userId, database.reads)) !== undefined;
      const usage = await findUsage(applicationId, database.reads, userId);
      const files = { name: "exported", total: usage.bytes, isEstimate: true };
      // The rename makes the export atomic: the file name never holds a partial export.
      const unfinished = `${file}.unfinished`;
      await rm(unfinished, { force: true });
      const target = await open(unfinished, "wx", 0o600); // only the owner may read personal data
      try {
        await pipeline(
          archiveUser(owner, exporters, { now: clock.now(), isThere }),
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
};

function setDisabled(isDisabled: boolean): Command {
  return (config, _values, rest) =>
    withDatabase(config, async (database) => {
      const { applicationId, userId } = readUser(isDisabled ? "disable" : "enable", rest);
      const at = isDisabled ? createClockAndIds().clock.now() : null;
      await database.write(async (transaction) => {
        await requireUser(applicationId, userId, database, transaction.queries);
        await updateUserDisabled(applicationId, userId, at, revocations, transaction);
        const action = isDisabled ? "disableUser" : "enableUser";
        await recordCommand({ action, applicationId, target: userId }, transaction.queries);
      });
      return { json: { id: userId, isDisabled }, text: `${isDisabled ? "disabled" : "enabled"} ${userId}` };
    });
}

function readUser(verb: string, [applicationId, userId]: readonly string[]) {
  if (applicationId === undefined || kindOfId(applicationId) !== "App") {
    throw new UsageError(`users ${verb} needs an APPID`);
  }
  if (userId === undefined || kindOfId(userId) !== "User") throw new UsageError(`users ${verb} needs a USERID`);
  return { applicationId, userId };
}

/** @throws UsageError */
async function requireUser(
  applicationId: string,
  userId: string,
  { dialect }: Pick<Database, "dialect">,
  queries: Queries,
): Promise<void> {
  await holdApplication(applicationId, dialect, queries).catch((error) => {
    if (!(error instanceof ApiError)) throw error;
    const isMoving = error.condition === "ServiceUnavailable";
    throw new UsageError(
      isMoving ? `${applicationId} is moving to another region` : `there is no application ${applicationId}`,
    );
  });
  const user = await findUser(applicationId, userId, queries);
  if (user === undefined) throw new UsageError(`there is no user ${userId}`);
}
