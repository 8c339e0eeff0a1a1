import { requireApplication } from "../auth/operated-application.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Background } from "../background.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Outgoing } from "../outgoing/outgoing.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import type { Policies } from "../tenancy/policies.ts";
import type { SettingsSealer } from "../tenancy/sealed-settings.ts";
import { applicationsKeysOperatorRoutes } from "./applications.keys.operator.routes.ts";
import { nameRule, readName } from "./applications.names.ts";
import {
  Application,
  ApplicationPage,
  ApplicationPath,
  ChangeApplication,
  CreateApplication,
  CreatedApplication,
  DeleteApplication,
  ListApplications,
  presentApplication,
} from "./applications.operator.contract.ts";
import { applicationsSettingsOperatorRoutes } from "./applications.settings.operator.routes.ts";
import {
  deleteApplicationRows,
  findLiveApplication,
  insertApplication,
  type LiveApplication,
  listLiveApplications,
  updateApplication,
  updateApplicationDeleted,
} from "./applications.store.ts";

/** The applications of the deployment, for operators. */
export function applicationsOperatorRoutes(services: {
  readonly database: Database;
  readonly policies: Policies;
  readonly settingsSealer: SettingsSealer;
  readonly revocations: Revocations;
  readonly background: Background;
  readonly bytes: ByteStore;
  readonly outgoing: Outgoing;
  readonly paging: Paging;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, revocations, background, bytes, paging, clock, ids } = services;

  const listApplications = route({
    method: "GET",
    path: "/_/api/applications",
    operation: "listApplications",
    summary: "List the applications, oldest first",
    tag: "Operators",
    caller: "operator",
    parameters: ListApplications,
    status: 200,
    result: ApplicationPage,
    errors: [],
    async handle({ caller, parameters, call }) {
      const request = await paging.read("applications", caller, parameters, call);
      const page = await listLiveApplications(request.position, request.size, database.reads);
      return paging.present("applications", caller, request, page, presentApplication);
    },
  });

  const createApplication = route({
    method: "POST",
    path: "/_/api/applications",
    operation: "createApplication",
    summary: "Create an application; its key is shown only once",
    tag: "Operators",
    caller: "operator",
    parameters: CreateApplication,
    status: 201,
    result: CreatedApplication,
    errors: [],
    async handle({ parameters }) {
      const name = requireName(parameters.name);
      return database.write(async ({ queries }) => {
        const credentials = await insertApplication(name, { clock, ids }, queries);
        const { created } = presentFound(await findLiveApplication(credentials.appid, queries));
        return { ...credentials, name, created };
      });
    },
  });

  const getApplication = route({
    method: "GET",
    path: "/_/api/applications/{appid}",
    operation: "getApplication",
    summary: "Read an application",
    tag: "Operators",
    caller: "operator",
    pathParameters: ApplicationPath,
    status: 200,
    result: Application,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      return presentFound(await findLiveApplication(appid, database.reads));
    },
  });

  const changeApplication = route({
    method: "PATCH",
    path: "/_/api/applications/{appid}",
    operation: "changeApplication",
    summary: "Rename an application",
    tag: "Operators",
    caller: "operator",
    pathParameters: ApplicationPath,
    parameters: ChangeApplication,
    status: 200,
    result: Application,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid }, parameters }) {
      if (parameters.name === undefined) return presentFound(await findLiveApplication(appid, database.reads));
      await requireApplication(appid, database.reads);
      const name = requireName(parameters.name);
      return presentFound(await database.write(({ queries }) => updateApplication(appid, { name }, queries)));
    },
  });

  /** Invalidates the cached policies, so that every process decides again about every caller of the application. */
  function setSuspended(appid: string, at: number | null): Promise<LiveApplication | undefined> {
    return database.write(async (transaction) => {
      await requireApplication(appid, transaction.queries);
      revocations.invalidatePolicies(transaction);
      return updateApplication(appid, { suspended_at: at }, transaction.queries);
    });
  }

  const suspendApplication = route({
    method: "POST",
    path: "/_/api/applications/{appid}/suspend",
    operation: "suspendApplication",
    summary: "Refuse everything that clients of an application ask for; their tokens stay good for afterwards",
    tag: "Operators",
    caller: "operator",
    pathParameters: ApplicationPath,
    status: 200,
    result: Application,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      return presentFound(await setSuspended(appid, clock.now()));
    },
  });

  const resumeApplication = route({
    method: "POST",
    path: "/_/api/applications/{appid}/resume",
    operation: "resumeApplication",
    summary: "Serve a suspended application again",
    tag: "Operators",
    caller: "operator",
    pathParameters: ApplicationPath,
    status: 200,
    result: Application,
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid } }) {
      return presentFound(await setSuspended(appid, null));
    },
  });

  const deleteApplication = route({
    method: "DELETE",
    path: "/_/api/applications/{appid}",
    operation: "deleteApplication",
    summary: "Delete an application and everything it owns: its tokens die at once, its data in the background",
    tag: "Operators",
    caller: "operator",
    pathParameters: ApplicationPath,
    parameters: DeleteApplication,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid }, parameters: { confirm } }) {
      await requireApplication(appid, database.reads);
      if (confirm !== appid) {
        throw new ApiError("ParameterOutOfRange", "confirm must be the id of the application that is to be deleted.");
      }
      await database.write((transaction) => {
        revocations.invalidatePolicies(transaction);
        return updateApplicationDeleted(appid, clock.now(), transaction.queries);
      });
      // Maintenance finishes what a shutdown interrupts.
      background.run("deleteApplicationRows", (signal) =>
        deleteApplicationRows(appid, { database, bytes }, { signal }),
      );
      return true as const;
    },
  });

  return [
    listApplications,
    createApplication,
    getApplication,
    changeApplication,
    suspendApplication,
    resumeApplication,
    deleteApplication,
    ...applicationsKeysOperatorRoutes(services),
    ...applicationsSettingsOperatorRoutes(services),
  ];
}

function requireName(text: string): string {
  const name = readName(text);
  if (name === undefined) throw new ApiError("ParameterOutOfRange", `name ${nameRule}.`);
  return name;
}

function presentFound(application: LiveApplication | undefined): ReturnType<typeof presentApplication> {
  if (application === undefined) throw new ApiError("ItemDoesNotExist");
  return presentApplication(application);
}
