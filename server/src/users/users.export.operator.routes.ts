import { calledBy } from "../audit/audit.events.ts";
import { ArchiveResult } from "../contract/file-result.ts";
import { type Static, Type } from "../contract/schema.ts";
import { Bytes } from "../contract/wire.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import { OperatedUserPath } from "./users.operator.contract.ts";
import { requireOperatedUser } from "./users.operator.reading.ts";
import { findUser } from "./users.store.ts";

const exportOf = {
  path: "/_/api/applications/{appid}/users/{userId}/export",
  tag: "Operators",
  caller: "operator",
  isBatchable: false,
  pathParameters: OperatedUserPath,
  status: 200,
  result: Bytes("application/zip"),
  errors: ["ItemDoesNotExist"],
} as const;

export const exportUser = operation({
  ...exportOf,
  method: "POST",
  operation: "exportUser",
  summary: "Export a user as a ZIP of JSON and files with a manifest",
  description: "Contains all stored data of the user. The archive is sent while it is written.",
  parameters: Type.Object({}),
  handle: ({ path }, services: CommandServices) => openExport(path, services),
});

const downloadUser = operation({
  ...exportOf,
  method: "GET",
  role: "editor",
  operation: "downloadUser",
  summary: "Export a user, as POST does, for the download of a browser",
  description: "In the audit log it is an entry like that of POST.",
  async handle({ caller, path, call }, services) {
    const { audit, database } = services;
    const archive = await openExport(path, services);
    const { appid, userId } = path;
    const event = { ...calledBy(caller, call), action: "exportUser", applicationId: appid, target: userId };
    await database.write(({ queries }) => audit.record(event, queries)); // committed before the first byte is sent
    return archive;
  },
});

async function openExport(
  { appid, userId }: Static<typeof OperatedUserPath>,
  { database, userExporters, clock }: CommandServices,
): Promise<ArchiveResult> {
  await requireOperatedUser(appid, userId, database.reads);
  const isThere = async () => (await findUser(appid, userId, database.reads)) !== undefined;
  const owner = { applicationId: appid, userId };
  const { archiveUser } = await import("../owned/user-archive.ts"); // loaded on demand, because it loads node:zlib
  return new ArchiveResult({
    contentType: "application/zip",
    fileName: `${userId}.zip`,
    open: () => archiveUser(owner, userExporters, { now: clock.now(), isThere }),
  });
}

/** Exports all data of a user in one archive. */
export const userExportOperatorOperations = [exportUser, downloadUser];
