import { enumeration, named, type Static, Type, withLimits } from "../contract/schema.ts";
import { Choice, Flag, List, Members, Raw, Text } from "../contract/wire.ts";
import { failureDetails } from "../operations/envelope.ts";

const Mode = enumeration("BatchMode", "The effect of a failed item on the others.", {
  independent: "Nothing. The default.",
  sequential: "The items after it are not run.",
  atomic: "None of the items takes effect: all or nothing, in one transaction.",
});
export type BatchMode = Static<typeof Mode>;

/** One call of a batch. */
export const BatchItem = named(
  "BatchItem",
  "One call of a batch.",
  Type.Object({
    key: Type.Optional(
      Text({ minLength: 1, maxLength: 256, description: "The key of the response; the index of the item by default." }),
    ),
    method: Text({ maxLength: 16, description: "The verb, such as POST." }),
    path: Text({ description: "The path, with its query, such as /checkins." }),
    parameters: Type.Optional(
      Members(undefined, { description: "The parameters of the query or the body, by their names." }),
    ),
    idempotencyKey: Type.Optional(
      Raw({
        type: "string",
        minLength: 1,
        maxLength: 255,
        keepsEmpty: true,
        description: "The same as the header Idempotency-Key.",
      }),
    ),
  }),
);

export const RunBatch = Type.Object({
  requests: withLimits(
    List(BatchItem, {
      description: "The calls; also a string that holds the array, with double or single quotes.",
    }),
    ({ batchItemsMax }) => ({ minItems: 1, maxItems: batchItemsMax }),
  ),
  mode: Type.Optional(Choice(Mode, { default: "independent" })),
  references: Type.Optional(
    Flag({
      description:
        "A later item may use the result of an earlier one: {{key.result.id}} in its path or in a string of its parameters.",
    }),
  ),
});

/** The response to one item: its key and its envelope. */
const BatchResponse = named(
  "BatchResponse",
  "The response to one item of a batch: its key and its envelope.",
  Type.Object({
    key: Type.String({ description: "The key of the item." }),
    status: Type.Integer(),
    result: Type.Optional(Type.Unsafe<unknown>({})),
    error: Type.Optional(Type.String({ description: "The name of the error." })),
    errorNumber: Type.Optional(Type.Integer({ description: "The number of the error." })),
    message: Type.Optional(Type.String({ description: "An explanation for people." })),
    ...failureDetails,
    request_id: Type.String({ description: "Identifies the item in the log of the server." }),
    success: Type.Boolean(),
  }),
);

export const BatchResult = named(
  "BatchResult",
  "The responses to the items of a batch, in the order of the items.",
  Type.Object({ responses: Type.Array(BatchResponse) }),
);
