import { Type } from "../contract/schema.ts";
import { Choice, Flag, List } from "../contract/wire.ts";

const modes = ["independent", "sequential", "atomic"] as const;
export type BatchMode = (typeof modes)[number];

export const RunBatch = Type.Object({
  requests: List({
    description:
      "The calls: objects of key, method, path, parameters and idempotencyKey. Also a text that holds the array, with double or single quotes.",
  }),
  mode: Type.Optional(
    Choice(modes, {
      description:
        "independent (default): one failure stops nothing. sequential: stops at the first failure. atomic: all or nothing, in one transaction.",
    }),
  ),
  references: Type.Optional(
    Flag({
      description:
        "A later item may use an earlier one's result: {{key.result.id}} in its path or in a text of its parameters.",
    }),
  ),
});

/** One response: the item's key and its own envelope. */
const BatchResponse = Type.Object({
  key: Type.String(),
  status: Type.Integer(),
  result: Type.Optional(Type.Unsafe<unknown>({})),
  error: Type.Optional(Type.String()),
  errorNumber: Type.Optional(Type.Integer()),
  message: Type.Optional(Type.String()),
  request_id: Type.String(),
  success: Type.Boolean(),
});

export const BatchResult = Type.Object({ responses: Type.Array(BatchResponse) });
