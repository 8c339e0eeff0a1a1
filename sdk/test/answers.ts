import type { Credentials, Principal } from "../src/transport/principal.ts";
import type { Call } from "../src/wire/call.ts";

/** A successful answer of the service. */
export function success(result: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ status: 200, result, request_id: "req_1", success: true }, { headers });
}

/** A refusal of the service. */
export function refusal(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Response {
  const envelope = { status, error, errorNumber: 1, message: "No.", request_id: "req_2", success: false };
  return Response.json(envelope, { status, headers });
}

/** A principal with a token that never changes. */
export function principalOf(token: string, id = "usr_1"): Principal {
  const credentials: Credentials = { root: "https://service.example", token };
  return {
    id,
    credentials: async () => credentials,
    replace: async (_dead, error) => {
      throw error;
    },
  };
}

export const readCall: Call<{ readonly id: string }> = {
  operation: {
    id: "getCheckin",
    method: "GET",
    route: "/checkins/{checkinId}",
    caller: "user",
    isIdempotent: false,
    isBatchable: true,
  },
  path: "/checkins/chk_1",
};

export const writeCall: Call<{ readonly id: string }> = {
  operation: {
    id: "createCheckin",
    method: "POST",
    route: "/checkins",
    caller: "user",
    isIdempotent: true,
    isBatchable: true,
  },
  path: "/checkins",
  parameters: { location: { lat: 48.2, lng: 16.37 }, comment: "secret words" },
};

/** A write that the service would do again. */
export const plainCall: Call<true> = {
  operation: { ...writeCall.operation, id: "createOperator", isIdempotent: false, caller: "operator" },
  path: "/_/api/operators",
};
