import { resolveUserId } from "../contract/wire.ts";
import { searchPage } from "../db/search/search.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { OwnUser, presentOwnUser, presentUser, SearchUsers, ShownUser, UserPage, UserPath } from "./users.contract.ts";
import { userSearch } from "./users.search.ts";
import { findProfile, findShownUser } from "./users.store.ts";

const getOwnUser = operation({
  method: "GET",
  path: "/users/me",
  operation: "getOwnUser",
  summary: "Read one's own profile",
  description: "Answers with all fields, also those that others do not see.",
  tag: "Users",
  caller: "user",
  status: 200,
  result: OwnUser,
  errors: [],
  async handle({ caller }, { database, pictureUrl }) {
    const user = await findProfile(caller.applicationId, caller.userId, database.reads);
    if (user === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token check
    return presentOwnUser(user, pictureUrl);
  },
});

const getUser = operation({
  method: "GET",
  path: "/users/{userId}",
  operation: "getUser",
  summary: "Read a user's profile; users see all fields of their own",
  description: "Others see the name, the shared profile picture and the date of creation.",
  tag: "Users",
  caller: "user",
  pathParameters: UserPath,
  status: 200,
  result: ShownUser,
  errors: ["OperationNotFound", "ItemDoesNotExist"],
  async handle({ caller: { applicationId, userId }, path }, { database, pictureUrl }) {
    const user = await findShownUser(applicationId, userId, resolveUserId(path.userId, userId), database.reads);
    if (user === undefined) throw new ApiError("ItemDoesNotExist");
    return presentUser(user, userId, pictureUrl);
  },
});

const searchUsers = operation({
  method: "GET",
  path: "/users",
  operation: "searchUsers",
  summary: "Search the users of the application",
  description:
    "Finds users by the fields that they show to others. Only users themselves find their account with celebMode.",
  tag: "Users",
  caller: "user",
  parameters: SearchUsers,
  status: 200,
  result: UserPage,
  errors: [],
  async handle({ caller, parameters, call }, { database, paging, pictureUrl }) {
    const request = await paging.read("users", caller, parameters, call);
    const search = userSearch(caller.applicationId, caller.userId, request.filters);
    const page = await searchPage(search, request.position, request.size, database.reads, call.work);
    return paging.present("users", caller, request, page, (row) => presentUser(row, caller.userId, pictureUrl));
  },
});

/** Reading and searching profiles (spec/users#profiles). */
export const userOperations = [getOwnUser, getUser, searchUsers];
