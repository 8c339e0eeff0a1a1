import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  CreatedOperator,
  OperatorPage,
  Operator as WireOperator,
} from "../../../server/src/operators/operators.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";
import type { Role } from "./sessions.ts";

export type Operator = Static<typeof WireOperator>;
interface OfOperator {
  readonly operatorId: string;
}

export const listOperators = operation<{ include?: "access" } & PageParameters, Static<typeof OperatorPage>>(
  "GET",
  "/operators",
  ["include", "pageSize", "pagingToken"],
);

/** Returns a password that the server has generated. */
export const createOperator = operation<{ name: string; role: Role }, Static<typeof CreatedOperator>>(
  "POST",
  "/operators",
  ["name", "role"],
);

export const changeOperator = operation<OfOperator & { name?: string; role?: Role; password?: string }, Operator>(
  "PATCH",
  "/operators/{operatorId}",
  ["operatorId", "name", "role", "password"],
);

export const deleteOperator = operation<OfOperator, true>("DELETE", "/operators/{operatorId}", ["operatorId"]);

export const changeOwnPassword = operation<{ password: string; currentPassword: string }, Operator>(
  "PATCH",
  "/operators/me",
  ["password", "currentPassword"],
);
