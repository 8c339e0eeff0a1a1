import { requireApplication } from "../auth/operated-application.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import {
  ListOperatedItems,
  OperatedItemPage,
  OperatedObjectPath,
  presentOperatedItem,
} from "./metadata.operator.contract.ts";
import { isObjectThere, listOperatedItems } from "./metadata.operator.store.ts";

const listItems = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/metadata/{objectId}",
  operation: "listOperatedMetadata",
  summary: "List the metadata of an object by key: shared values first, then those of each user",
  description: "Private values are among them.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedObjectPath,
  parameters: ListOperatedItems,
  status: 200,
  result: OperatedItemPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, objectId }, parameters, call }, { database, paging }) {
    const listing = `metadata of ${appid} ${objectId}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    if (!(await isObjectThere(appid, objectId, database.reads))) throw new ApiError("ItemDoesNotExist");
    const page = await listOperatedItems(appid, objectId, request.filters, request, database.reads);
    return paging.present(listing, caller, request, page, presentOperatedItem);
  },
});

/** The metadata of an object for operators: the shared slot and the users' own slots. */
export const metadataOperatorOperations = [listItems];
