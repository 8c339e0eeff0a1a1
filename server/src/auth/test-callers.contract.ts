import { named, type Static, Type } from "../contract/schema.ts";
import { WireDate } from "../contract/wire.ts";
import { applicationPathParameters } from "./operated-application.ts";

export const TestCallersPath = Type.Object(applicationPathParameters);

export const TestCaller = named(
  "TestCaller",
  "A device or user to try calls with, which is erased after a day.",
  Type.Object({
    id: Type.String({ description: "The id of the device or user." }),
    accessToken: Type.String({ description: "The value of the header Authorization is `Service <access token>`." }),
    accessTokenExpires: { ...WireDate, description: "When the token expires: after an hour." },
  }),
);
export type TestCaller = Static<typeof TestCaller>;
