import { requireApplication } from "../auth/operated-application.ts";
import { ArchiveResult } from "../contract/file-result.ts";
import { Type } from "../contract/schema.ts";
import { Bytes } from "../contract/wire.ts";
import { ApiError } from "../errors.ts";
import { archiveUser } from "../exports/user-archive.ts";
import { operation } from "../operation.ts";
import type { CommandServices } from "../services.ts";
import { OperatedUserPath } from "./users.operator.contract.ts";
import { findUser } from "./users.store.ts";

export const exportUser = operation({
  // Not a GET, because an export of personal data belongs in the audit log.
  method: "POST",
  path: "/_/api/applications/{appid}/users/{userId}/export",
  operation: "exportUser",
  summary: "Export a user as a ZIP of JSON and files with a manifest",
  description: "Contains everything that is stored about the user. The archive is sent while it is made.",
  tag: "Operators",
  caller: "operator",
  isBatchable: false,
  pathParameters: OperatedUserPath,
  parameters: Type.Object({}),
  status: 200,
  result: Bytes("application/zip"),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId } }, { database, userExporters, clock }: CommandServices) {
    await requireApplication(appid, database.reads);
    const isThere = async () => (await findUser(appid, userId, database.reads)) !== undefined;
    if (!(await isThere())) throw new ApiError("ItemDoesNotExist");
    const owner = { applicationId: appid, userId };
    return new ArchiveResult({
      contentType: "application/zip",
      fileName: `${userId}.zip`,
      open: () => archiveUser(owner, userExporters, { now: clock.now(), isThere }),
    });
  },
});

/** Exports all data of a user in one archive. */
export const userExportOperatorOperations = [exportUser];
