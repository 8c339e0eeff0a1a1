import { PageOf, pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { Flag, IdInput, Text, WireDate } from "../contract/wire.ts";
import { formatDate } from "../lib/dates.ts";
import { Operator } from "./operators.contract.ts";
import { type ListedSession, sessionIdOf } from "./operators.sessions.store.ts";

export const SignIn = Type.Object({
  // No length limits: a value that is too long is an unknown name or a wrong password.
  name: Text({}),
  password: Text({ keepsEmpty: true, description: "The empty text is a wrong password." }),
  cookie: Type.Optional(
    Flag({
      description:
        "Marks this browser for 180 days, so that guesses of others do not delay its sign-ins. With `X-Rollcall-Console`, also sets the token as a cookie and does not answer it.",
    }),
  ),
  isPersistent: Type.Optional(Flag({ description: "Keeps the cookie of the session when the browser is closed." })),
});

export const ProvePassword = Type.Object({
  password: Text({ keepsEmpty: true, description: "The empty text is a wrong password." }),
});

export const SessionPath = Type.Object({ sessionId: IdInput("OperatorSession") });

const ofOperator = { ...IdInput("Operator"), description: "For owners: of this operator, in place of one's own." };

export const ListSessions = Type.Object({ ...pagingParameters, operatorId: Type.Optional(ofOperator) });

export const EndSessions = Type.Object({ operatorId: Type.Optional(ofOperator) });

const idleMs = Type.Integer({
  format: "int64",
  description: "The session also ends when it is not used for so long.",
});

export const Session = named(
  "OperatorSession",
  "A session of an operator.",
  Type.Object({
    token: Type.Optional(
      Type.String({ description: "The token of the session, opaque; absent if it was set as a cookie." }),
    ),
    expires: WireDate,
    idleMs,
    operator: Operator,
  }),
);

export const CurrentSession = named(
  "CurrentOperatorSession",
  "The session of the call, and the deployment that it belongs to.",
  Type.Object({
    id: Type.String(),
    operator: Operator,
    expires: WireDate,
    idleMs,
    created: WireDate,
    proved: { ...WireDate, description: "When the password was last entered." },
    deployment: named(
      "DeploymentName",
      "The identity of this deployment.",
      Type.Object({
        version: Type.String({ description: "The release that the server runs." }),
        region: Type.String(),
        otherRegions: Type.Optional({
          ...Type.Array(Type.String()),
          description: "The names of the other regions, if there are some.",
        }),
        publicUrl: Type.Optional(Type.String({ description: "PUBLIC_URL." })),
      }),
    ),
  }),
);

export const FoundSession = named(
  "FoundOperatorSession",
  "The session of a browser, if there is one.",
  Type.Object({ session: Type.Optional(CurrentSession) }),
);

export const ListedOperatorSession = named(
  "ListedOperatorSession",
  "A session in a list.",
  Type.Object({
    id: Type.String(),
    operatorId: Type.String({ description: "Whose session it is." }),
    created: WireDate,
    lastUsed: { ...WireDate, description: "About a minute behind." },
    expires: WireDate,
    address: Type.String({ description: "The address that signed in; empty for a session of an older release." }),
    browser: Type.String({ description: "The browser and its system, as far as it is known." }),
    isCookie: Type.Boolean({ description: "Whether the session is in a cookie of the console." }),
    current: Type.Boolean({ description: "Whether it is the session of this call." }),
  }),
);

export const SessionPage = PageOf(ListedOperatorSession);

export function presentSession(row: ListedSession, currentDigest: string): Static<typeof ListedOperatorSession> {
  return {
    id: sessionIdOf(row.id, row.created_at),
    operatorId: row.operator_id,
    created: formatDate(row.created_at),
    lastUsed: formatDate(row.used_at),
    expires: formatDate(row.expires_at),
    address: row.address,
    browser: row.browser,
    isCookie: row.is_cookie === 1,
    current: row.id === currentDigest,
  };
}
