import { applicationPathParameters } from "../auth/operated-application.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { Decimal, Flag, IdInput, Text, WireDate } from "../contract/wire.ts";

export const RequestsPath = Type.Object(applicationPathParameters);

const statusPattern = "^([1-5]xx|[1-5][0-9]{2})$";

export const ListRequests = Type.Object({
  cursor: Type.Optional(
    Text({ maxLength: 4_000, description: "The `cursor` of the answer before: only later calls. Else the last 100." }),
  ),
  before: Type.Optional(
    Text({ maxLength: 4_000, description: "The `before` of an answer: only earlier calls. Not with `cursor`." }),
  ),
  status: Type.Optional({
    ...Text({ maxLength: 3, description: "A status, or a class of them such as `4xx`." }),
    pattern: statusPattern,
  }),
  operation: Type.Optional(Text({ maxLength: 64, description: "The id of the operation in the OpenAPI document." })),
  error: Type.Optional(Text({ maxLength: 64, description: "The condition, as in the log." })),
  userID: Type.Optional({ ...IdInput("User"), description: "The user who called." }),
  deviceID: Type.Optional({ ...IdInput("Device"), description: "The device that called." }),
  address: Type.Optional(
    Text({ maxLength: 64, description: "The address of the client; for viewers, any of the same network." }),
  ),
  slowerThanMs: Type.Optional(Decimal({ minimum: 0, description: "Calls that took longer than this." })),
  requestId: Type.Optional(
    Text({ maxLength: 64, description: "The `request_id` of a call, or of the batch that it was in." }),
  ),
  refused: Type.Optional(Flag({ description: "Only calls that were refused or failed." })),
});
export type RequestFilters = Omit<Static<typeof ListRequests>, "cursor" | "before">;

/** Whether the string is a status or a class of statuses. */
export function isStatusFilter(text: string): boolean {
  return new RegExp(statusPattern).test(text);
}

const AnsweredRequest = named(
  "AnsweredRequest",
  "A call that was answered, as in the log: without query, headers and bodies.",
  Type.Object({
    requestId: Type.String({ description: "The `request_id` of the answer." }),
    time: { ...WireDate, description: "When it was answered." },
    batch: Type.Optional(Type.String({ description: "The `request_id` of the batch that it was in." })),
    method: Type.Optional(Type.String({ description: "The method; absent where a batch named none." })),
    path: Type.Optional(Type.String({ description: "The first 256 characters of the path." })),
    operation: Type.Optional(Type.String({ description: "The id of the operation; absent for an unknown path." })),
    status: Type.Integer({ description: "The status of the answer." }),
    error: Type.Optional(Type.String({ description: "The condition, as in the log." })),
    message: Type.Optional(Type.String({ description: "The message of the error." })),
    rehearsed: Type.Optional(Type.String({ description: "The rehearsed failure." })),
    ms: Type.Number({ description: "The milliseconds that it took." }),
    device: Type.Optional(Type.String({ description: "The id of the device that called." })),
    platform: Type.Optional(Type.String({ description: "The platform of this device." })),
    user: Type.Optional(Type.String({ description: "The id of the user who called." })),
    address: Type.Optional(Type.String({ description: "The address of the client; its network for viewers." })),
    worker: Type.Integer({ description: "The process that answered." }),
  }),
);
export type AnsweredRequest = Static<typeof AnsweredRequest>;

const AskedProcess = named(
  "AskedProcess",
  "A process of the machine that was queried for its calls.",
  Type.Object({
    worker: Type.Integer({ description: "The number of the process on its machine." }),
    isSilent: Type.Boolean({ description: "True if it did not answer within two seconds: its calls are missing." }),
  }),
);

export const RecentRequests = named(
  "RecentRequests",
  "The last calls of an application, the newest first.",
  Type.Object({
    calls: Type.Array(AnsweredRequest),
    cursor: Type.String({ description: "Send it to read later calls." }),
    before: Type.Optional(
      Type.String({ description: "Send it to read earlier calls; absent with `cursor`, and where there are none." }),
    ),
    processes: Type.Array(AskedProcess),
    since: Type.Optional({
      ...WireDate,
      description:
        "From this time on no call that matches is missing, unless a process is silent. With `cursor`, absent if none is missing since the answer before.",
    }),
  }),
);
