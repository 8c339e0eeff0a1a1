import { noteChanges } from "../audit/audit.changes.ts";
import { requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import { applicationEvent } from "./applications.events.ts";
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
import {
  deleteApplicationRows,
  findLiveApplication,
  findShownApplication,
  insertApplication,
  type LiveApplication,
  listApplicationsById,
  listShownApplications,
  updateApplication,
  updateApplicationDeleted,
} from "./applications.store.ts";

const listApplications = operation({
  method: "GET",
  path: "/_/api/applications",
  operation: "listApplications",
  summary: "List the applications",
  description: "Returns the applications of this region, with `include=activity` their activity.",
  tag: "Operators",
  caller: "operator",
  parameters: ListApplications,
  status: 200,
  result: ApplicationPage,
  errors: [],
  async handle({ caller, parameters, call }, { paging, database, statistics, regions: { own }, clock }) {
    const request = await paging.read("applications", caller, parameters, call);
    const listedBy = { ...request.filters, own, now: clock.now() };
    const page =
      request.filters.sortOrder === "busiest"
        ? await listApplicationsById(await statistics.readBusiest(), listedBy, request.size, database.reads)
        : await listShownApplications(listedBy, request.position, request.size, database.reads);
    const ids = request.filters.include === "activity" ? page.rows.map(({ application_id }) => application_id) : [];
    const activity = await statistics.readActivity(ids);
    return paging.present("applications", caller, request, page, (application) =>
      presentApplication(application, own, activity.get(application.application_id)),
    );
  },
});

export const createApplication = operation({
  method: "POST",
  path: "/_/api/applications",
  operation: "createApplication",
  summary: "Create an application; its key is shown only once",
  description: "Devices register with its id and its key.",
  tag: "Operators",
  caller: "operator",
  parameters: CreateApplication,
  status: 201,
  result: CreatedApplication,
  errors: [],
  async handle({ parameters }, { database, clock, ids }: CommandServices) {
    const name = requireName(parameters.name);
    return database.write(async ({ queries }) => {
      const credentials = await insertApplication(name, { clock, ids }, queries);
      const { created } = presentFound(await findLiveApplication(credentials.appid, queries));
      return { ...credentials, name, created };
    });
  },
});

const getApplication = operation({
  method: "GET",
  path: "/_/api/applications/{appid}",
  operation: "getApplication",
  summary: "Read an application",
  description: "Returns its name and state.",
  tag: "Operators",
  caller: "operator",
  pathParameters: ApplicationPath,
  status: 200,
  result: Application,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, { database, regions: { own }, clock }) {
    return presentFound(await findShownApplication(appid, clock.now(), database.reads), own);
  },
});

export const changeApplication = operation({
  method: "PATCH",
  path: "/_/api/applications/{appid}",
  operation: "changeApplication",
  summary: "Rename an application",
  description: "Only operators see the name.",
  tag: "Operators",
  caller: "operator",
  pathParameters: ApplicationPath,
  parameters: ChangeApplication,
  status: 200,
  result: Application,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters, call }, { database }: CommandServices) {
    if (parameters.name === undefined) return presentFound(await findLiveApplication(appid, database.reads));
    await requireApplication(appid, database.reads);
    const name = requireName(parameters.name);
    const changed = await database.write(async ({ queries }) => {
      const before = await findLiveApplication(appid, queries);
      noteChanges(call, { name: before?.name }, { name });
      return updateApplication(appid, { name }, queries);
    });
    return presentFound(changed);
  },
});

/** Suspends or resumes an application, and invalidates its cached policies in every process. */
function setSuspended(
  appid: string,
  at: number | null,
  { database, revocations, events }: CommandServices,
): Promise<LiveApplication | undefined> {
  return database.write(async (transaction) => {
    const { queries } = transaction;
    await requireApplication(appid, queries);
    const changed = await updateApplication(appid, { suspended_at: at }, queries);
    await events.record(appid, applicationEvent(appid, at === null ? "resumed" : "suspended"), queries);
    await revocations.invalidatePolicies(appid, transaction);
    return changed;
  });
}

export const suspendApplication = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/suspend",
  operation: "suspendApplication",
  summary: "Suspend an application: calls of its clients are refused; their tokens stay valid",
  description: "The suspension lasts until the application is resumed.",
  tag: "Operators",
  caller: "operator",
  pathParameters: ApplicationPath,
  status: 200,
  result: Application,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services: CommandServices) {
    return presentFound(await setSuspended(appid, services.clock.now(), services));
  },
});

export const resumeApplication = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/resume",
  operation: "resumeApplication",
  summary: "Resume a suspended application",
  description: "Earlier tokens are valid again.",
  tag: "Operators",
  caller: "operator",
  pathParameters: ApplicationPath,
  status: 200,
  result: Application,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services: CommandServices) {
    return presentFound(await setSuspended(appid, null, services));
  },
});

export const deleteApplication = operation({
  method: "DELETE",
  path: "/_/api/applications/{appid}",
  operation: "deleteApplication",
  summary: "Delete an application with all data: tokens are revoked immediately, rows are erased in the background",
  description: "Requires the id in `confirm`.",
  tag: "Operators",
  caller: "operator",
  role: "owner",
  proof: "recent",
  pathParameters: ApplicationPath,
  parameters: DeleteApplication,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle(
    { path: { appid }, parameters: { confirm } },
    { database, revocations, background, bytes, clock }: CommandServices,
  ) {
    await requireApplication(appid, database.reads);
    if (confirm !== appid) {
      throw new ApiError("ParameterOutOfRange", "confirm must be the id of the application.", { parameter: "confirm" });
    }
    await database.write(async (transaction) => {
      await updateApplicationDeleted(appid, clock.now(), transaction.queries);
      await revocations.invalidatePolicies(appid, transaction);
    });
    // If a shutdown interrupts this, maintenance finishes it.
    background.run("deleteApplicationRows", (signal) => deleteApplicationRows(appid, { database, bytes }, { signal }));
    return true as const;
  },
});

function requireName(text: string): string {
  const name = readName(text);
  if (name === undefined) throw new ApiError("ParameterOutOfRange", `name ${nameRule}.`, { parameter: "name" });
  return name;
}

function presentFound(application: LiveApplication | undefined, own?: string): ReturnType<typeof presentApplication> {
  if (application === undefined) throw new ApiError("ItemDoesNotExist");
  return presentApplication(application, own);
}

/** The applications of the deployment, for operators. */
export const applicationOperations = [
  listApplications,
  createApplication,
  getApplication,
  changeApplication,
  suspendApplication,
  resumeApplication,
  deleteApplication,
];
