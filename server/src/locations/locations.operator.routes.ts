import { holdApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import type { LocationRow } from "../db/tables.ts";
import { operation } from "../operations/operation.ts";
import { changePublic, createOwned, lockPublic, newColumns, removeOwned } from "../owned/changes.ts";
import { columnsOf } from "../owned/fields.ts";
import { OperatedPath, operatedOperations, operatedPathOf } from "../owned/operator.operations.ts";
import { trueLocation } from "../privacy/fuzzing.ts";
import {
  ChangePublicLocation,
  CreatePublicLocation,
  Location,
  locationKind,
  noFields,
  presentLocation,
} from "./locations.contract.ts";

const { search, get } = operatedOperations<LocationRow, typeof Location>(locationKind, {
  Result: Location,
  present: (row) => presentLocation(row, row.user_id),
});

const path = "/_/api/applications/{appid}/locations";
const common = { tag: "Operators", caller: "operator" } as const;

const create = operation({
  ...common,
  method: "POST",
  path,
  operation: "createPublicLocation",
  summary: "Create a public location, readable by every user",
  description: "It belongs to no user, and only operators can change it.",
  pathParameters: OperatedPath,
  parameters: CreatePublicLocation,
  status: 201,
  result: Location,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters }, { database, clock, ids, events }) {
    const { name, location, tag } = parameters;
    const given = { ...(tag !== undefined && { tag }), readPermissions: "App" } as const;
    const row: LocationRow = {
      ...newColumns({ applicationId: appid, userId: null }, ids.newId("Location"), given, clock),
      ...{ ...noFields, ...columnsOf(locationKind.fields, parameters), name },
      ...trueLocation(location),
    };
    await database.write(async ({ queries }) => {
      await holdApplication(appid, database.dialect, queries);
      await createOwned("locations", row, events, queries);
    });
    return presentLocation(row, null);
  },
});

const one = { ...common, path: `${path}/{locationId}`, pathParameters: operatedPathOf(locationKind) } as const;

const change = operation({
  ...one,
  method: "PATCH",
  operation: "changePublicLocation",
  summary: "Change a public location",
  description: "Changes the fields that are sent; an empty text clears a field.",
  parameters: ChangePublicLocation,
  status: 200,
  result: Location,
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ path: { appid = "", locationId = "" }, parameters }, services) {
    const { database } = services;
    const row = await database.write(async ({ queries }) => {
      await holdApplication(appid, database.dialect, queries);
      return changePublic(locationKind, appid, locationId, parameters, services, queries);
    });
    return presentLocation(row, null);
  },
});

const remove = operation({
  ...one,
  method: "DELETE",
  operation: "deletePublicLocation",
  summary: "Delete a public location",
  description: "Users do not find it any more.",
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ path: { appid = "", locationId = "" } }, services) {
    const { database } = services;
    await database.write(async (transaction) => {
      await holdApplication(appid, database.dialect, transaction.queries);
      const { id } = await lockPublic(locationKind, appid, locationId, database, transaction.queries);
      await removeOwned("locations", appid, id, transaction, services);
    });
    return true as const;
  },
});

/** Operators manage the locations of an application, and only they change public ones. */
export const locationOperatorOperations = [search, get, create, change, remove];
