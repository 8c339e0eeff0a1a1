import type { Static } from "../../../server/src/contract/schema.ts";
import type { Operator } from "../../../server/src/operators/operators.contract.ts";
import { operation } from "./call.ts";

export type OwnOperator = Static<typeof Operator>;
export type Role = OwnOperator["role"];

/** The session that the cookie of this browser stands for. */
export interface Session {
  readonly id: string;
  readonly operator: OwnOperator;
  readonly expires: string;
  readonly idleMs: number;
  readonly created: string;
  readonly proved: string;
  readonly deployment: { readonly version: string; readonly region?: string; readonly publicUrl?: string };
}

export const signIn = operation<
  { name: string; password: string; cookie: true; isPersistent: boolean },
  { expires: string; idleMs: number; operator: OwnOperator }
>("POST", "/sessions", ["name", "password", "cookie", "isPersistent"]);

export const getSession = operation<object, Session>("GET", "/sessions/current", []);

export const signOut = operation<object, true>("DELETE", "/sessions/current", []);
