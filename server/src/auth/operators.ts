import type { Database } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { ApiError } from "../errors.ts";
import type { OperatorCaller } from "../http/route.ts";
import { digestSecret, isOperatorToken } from "../lib/secrets.ts";
import { readToken } from "./authorization.ts";

/** Finds out which operator is calling, from the Authorization header. */
export interface OperatorCallers {
  /**
   * Asks the database every time: operators call seldom, and a token that was taken back is dead at once, on every
   * process. What does not look like an operator token is refused without asking.
   *
   * @throws ApiError AuthFailed
   */
  authenticate(authorization: string | undefined): Promise<OperatorCaller>;
}

export function createOperatorCallers(
  database: Database,
  settings: { readonly authSchemes: readonly string[] },
): OperatorCallers {
  const schemes = new Set(settings.authSchemes);
  return {
    async authenticate(authorization) {
      const token = readToken(authorization, schemes);
      if (token === undefined || !isOperatorToken(token)) throw new ApiError("AuthFailed");
      const [operator] = await findByToken(database.reads, { digest: digestSecret(token) });
      if (operator === undefined) throw new ApiError("AuthFailed");
      return { operatorId: operator.id, name: operator.name };
    },
  };
}

const findByToken = prepare<{ digest: string }, { id: string; name: string }>((queries, parameter) =>
  queries
    .selectFrom("operator_tokens as token")
    .innerJoin("operators as operator", "operator.id", "token.operator_id")
    .where("token.digest", "=", parameter("digest"))
    .select(["operator.id", "operator.name"]),
);
