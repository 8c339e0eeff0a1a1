import { noteChanges } from "../audit/audit.changes.ts";
import { operatorTicket } from "../auth/guard/hash-queue.ts";
import { Type } from "../contract/schema.ts";
import { isUniqueViolation } from "../db/dialect.ts";
import type { OperatorRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import {
  ChangeOperator,
  ChangeOwnOperator,
  CreatedOperator,
  CreateOperator,
  ListOperators,
  Operator,
  OperatorPage,
  OperatorPath,
  presentOperator,
} from "./operators.contract.ts";
import { requireCurrentPassword } from "./operators.current-password.ts";
import { OperatorNameError, readOperatorName } from "./operators.names.ts";
import { newOperator } from "./operators.new.ts";
import { countOperatorSessions } from "./operators.sessions.store.ts";
import {
  deleteOperator,
  findLastOwner,
  findOperator,
  insertOperator,
  listOperatorPage,
  type OperatorRefusal,
  updateOperator,
} from "./operators.store.ts";

export const listOperators = operation({
  method: "GET",
  path: "/_/api/operators",
  operation: "listOperators",
  summary: "List the operators, oldest first",
  description: "All operators of the deployment, with their sessions on request.",
  tag: "Operators",
  caller: "operator",
  parameters: ListOperators,
  status: 200,
  result: OperatorPage,
  errors: [],
  async handle({ caller, parameters, call }, { database, paging, config, clock }: CommandServices) {
    const request = await paging.read("operators", caller, parameters, call);
    const page = await listOperatorPage(request.position, request.size, database.reads);
    if (request.filters.include === undefined)
      return paging.present("operators", caller, request, page, (row) => presentOperator(row));
    const ids = page.rows.map(({ id }) => id);
    const readable = caller.role === "owner" ? ids : ids.filter((id) => id === caller.operatorId);
    const now = clock.now();
    const alive = { now, usedAfter: now - config.operatorIdleMs };
    const sessions = await countOperatorSessions(readable, alive, database.reads);
    const lastOwner = await findLastOwner(database.reads);
    return paging.present("operators", caller, request, page, (row) =>
      presentOperator(row, { sessions: sessions.get(row.id), isLastOwner: row.id === lastOwner }),
    );
  },
});

export const createOperator = operation({
  method: "POST",
  path: "/_/api/operators",
  operation: "createOperator",
  summary: "Create an operator",
  description: "Without a password in the call, the answer has one that is shown only once.",
  tag: "Operators",
  caller: "operator",
  role: "owner",
  proof: "recent",
  parameters: CreateOperator,
  status: 201,
  result: CreatedOperator,
  errors: ["ItemAlreadyExists"],
  async handle({ caller, parameters: { name, role, password: given }, call }, services: CommandServices) {
    const ticket = operatorTicket(call, caller.operatorId);
    const { row, password } = await newOperator({ name: requireName(name), role, password: given }, services, ticket);
    const isCreated = await services.database.write(({ queries }) => insertOperator(row, queries));
    if (!isCreated) throw refusalError("has a taken name");
    return { ...presentOperator(row), ...(given === undefined && { password }) };
  },
});

const getOwnOperator = operation({
  method: "GET",
  path: "/_/api/operators/me",
  operation: "getOwnOperator",
  summary: "Read the operator of the token",
  description: "Answers with the name and the role.",
  tag: "Operators",
  caller: "operator",
  withFirstPassword: true,
  status: 200,
  result: Operator,
  errors: [],
  async handle({ caller }, { database }) {
    const operator = await findOperator(caller.operatorId, database.reads);
    if (operator === undefined) throw new ApiError("AuthFailed"); // deleted after the session check
    return presentOperator(operator);
  },
});

const changeOwnOperator = operation({
  method: "PATCH",
  path: "/_/api/operators/me",
  operation: "changeOwnOperator",
  summary: "Change one's own password; all other sessions end",
  description: "Needs the current password.",
  tag: "Operators",
  caller: "operator",
  withFirstPassword: true,
  role: "viewer",
  parameters: ChangeOwnOperator,
  status: 200,
  result: Operator,
  errors: ["AuthBadUsernameOrPassword"],
  async handle({ caller, parameters: { password, currentPassword }, call }, services) {
    const { database, passwords } = services;
    const { operatorId, sessionId, mustChangePassword } = caller;
    if (mustChangePassword && password === currentPassword)
      throw new ApiError("ParameterOutOfRange", "password: must differ from the current one.", {
        parameter: "password",
      });
    async function change(): Promise<OperatorRow | OperatorRefusal> {
      const attempt = { caller, password: currentPassword, call, action: "changeOwnOperator" };
      const known = await requireCurrentPassword(attempt, "AuthBadUsernameOrPassword", services);
      const change = { password_hash: await passwords.hash(password, operatorTicket(call, operatorId)) };
      return database.write(({ queries }) =>
        updateOperator(operatorId, change, database.dialect, queries, { keptSession: sessionId, password_hash: known }),
      );
    }
    const changed = await change();
    // A concurrent sign-in may have rehashed the same password.
    return presentOperator(orThrow(changed === "has another password" ? await change() : changed));
  },
});

const getOperator = operation({
  method: "GET",
  path: "/_/api/operators/{operatorId}",
  operation: "getOperator",
  summary: "Read an operator",
  description: "Answers with the name, the role, and the time of the last sign-in.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatorPath,
  status: 200,
  result: Operator,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { operatorId } }, { database }) {
    return presentOperator(orThrow((await findOperator(operatorId, database.reads)) ?? "is not there"));
  },
});

export const changeOperator = operation({
  method: "PATCH",
  path: "/_/api/operators/{operatorId}",
  operation: "changeOperator",
  summary: "Change the name, role or password of an operator; a new password ends all sessions of the operator",
  description: "Changes the fields that are sent. The last owner keeps that role.",
  tag: "Operators",
  caller: "operator",
  role: "owner",
  proof: "recent",
  pathParameters: OperatorPath,
  parameters: ChangeOperator,
  status: 200,
  result: Operator,
  errors: ["ItemDoesNotExist", "ItemAlreadyExists"],
  async handle(
    { caller, path: { operatorId }, parameters: { name, role, password }, call },
    { database, passwords }: CommandServices,
  ) {
    const ticket = operatorTicket(call, caller.operatorId);
    const change = {
      ...(name !== undefined && { name: requireName(name) }),
      ...(role !== undefined && { role }),
      ...(password !== undefined && { password_hash: await passwords.hash(password, ticket) }),
    };
    const known = operatorId === caller.operatorId ? { keptSession: caller.sessionId } : {};
    const changed = await database
      .write(async ({ queries }) => {
        const before = await findOperator(operatorId, queries);
        const updated = await updateOperator(operatorId, change, database.dialect, queries, known);
        if (before !== undefined && typeof updated !== "string") {
          noteChanges(call, { name: before.name, role: before.role }, { name: updated.name, role: updated.role });
        }
        return updated;
      })
      .catch((error) => {
        throw isUniqueViolation(error) ? refusalError("has a taken name") : error; // a concurrent request took the name
      });
    return presentOperator(orThrow(changed));
  },
});

export const removeOperator = operation({
  method: "DELETE",
  path: "/_/api/operators/{operatorId}",
  operation: "deleteOperator",
  summary: "Delete an operator and end all sessions of the operator",
  description: "The last owner cannot be deleted.",
  tag: "Operators",
  caller: "operator",
  role: "owner",
  pathParameters: OperatorPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { operatorId } }, { database }: CommandServices) {
    const refusal = await database.write(({ queries }) => deleteOperator(operatorId, database.dialect, queries));
    if (refusal !== undefined) throw refusalError(refusal);
    return true as const;
  },
});

/** @throws ApiError ParameterOutOfRange */
function requireName(given: string): string {
  try {
    return readOperatorName(given);
  } catch (error) {
    if (error instanceof OperatorNameError)
      throw new ApiError("ParameterOutOfRange", `name: ${error.message}.`, { parameter: "name" });
    throw error;
  }
}

/** @throws ApiError ItemDoesNotExist, ItemAlreadyExists, ObjectPermissionDenied, AuthBadUsernameOrPassword */
function orThrow(changed: OperatorRow | OperatorRefusal): OperatorRow {
  if (typeof changed === "string") throw refusalError(changed);
  return changed;
}

function refusalError(refusal: OperatorRefusal): ApiError {
  if (refusal === "is not there") return new ApiError("ItemDoesNotExist");
  if (refusal === "has a taken name") return new ApiError("ItemAlreadyExists", undefined, { parameter: "name" });
  if (refusal === "has another password") return new ApiError("AuthBadUsernameOrPassword");
  return new ApiError("ObjectPermissionDenied", "The last owner cannot be deleted or given another role.");
}

/** Owners manage all operators; others change their own password. */
export const operatorOperations = [
  listOperators,
  createOperator,
  getOwnOperator,
  changeOwnOperator,
  getOperator,
  changeOperator,
  removeOperator,
];
