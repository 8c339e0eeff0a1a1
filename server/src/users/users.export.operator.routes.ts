import { requireApplication } from "../auth/operated-application.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import { archiveUser } from "../exports/user-archive.ts";
import type { UserExporter } from "../exports/user-export.ts";
import { ArchiveResult } from "../http/file-result.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { OperatedUserPath } from "./users.operator.contract.ts";
import { findUser } from "./users.store.ts";

/** Exports all data of a user in one archive. */
export function usersExportOperatorRoutes(services: {
  readonly database: Database;
  readonly userExporters: readonly UserExporter[];
  readonly clock: Clock;
}): Route[] {
  const { database, userExporters, clock } = services;

  const exportUser = route({
    // Not a GET, because an export of personal data belongs in the audit log.
    method: "POST",
    path: "/_/api/applications/{appid}/users/{userId}/export",
    operation: "exportUser",
    summary: "Export a user: a ZIP of JSON and files, with a manifest",
    tag: "Operators",
    caller: "operator",
    isBatchable: false,
    pathParameters: OperatedUserPath,
    parameters: Type.Object({}),
    status: 200,
    result: Type.String({ format: "binary" }),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid, userId } }) {
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

  return [exportUser];
}
