import { requireApplication } from "../auth/operated-application.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import {
  ListOperatedItems,
  OperatedItemPage,
  OperatedObjectPath,
  presentOperatedItem,
} from "./metadata.operator.contract.ts";
import { isObjectThere, listOperatedItems } from "./metadata.operator.store.ts";

/** The metadata of an object for operators: the shared slot and the users' own slots. */
export function metadataOperatorRoutes(services: { readonly database: Database; readonly paging: Paging }): Route[] {
  const { database, paging } = services;

  const listItems = route({
    method: "GET",
    path: "/_/api/applications/{appid}/metadata/{objectId}",
    operation: "listOperatedMetadata",
    summary: "List the metadata of an object, what is shared first, then what each user keeps, by key",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedObjectPath,
    parameters: ListOperatedItems,
    status: 200,
    result: OperatedItemPage,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid, objectId }, parameters, call }) {
      const listing = `metadata of ${appid} ${objectId}`;
      const request = await paging.read(listing, caller, parameters, call);
      await requireApplication(appid, database.reads);
      if (!(await isObjectThere(appid, objectId, database.reads))) throw new ApiError("ItemDoesNotExist");
      const page = await listOperatedItems(appid, objectId, request.filters, request, database.reads);
      return paging.present(listing, caller, request, page, presentOperatedItem);
    },
  });

  return [listItems];
}
