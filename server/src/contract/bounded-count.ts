import { countMax } from "../lib/counted.ts";
import { named, Type } from "./schema.ts";

/** The wire format of a `Counted`. */
export const BoundedCount = named(
  "BoundedCount",
  "A number of which counting stops early.",
  Type.Object({
    count: Type.Integer({ description: `At most ${countMax}.` }),
    isMore: Type.Boolean({ description: "Whether there are, or may be, more." }),
  }),
);
