/** The calls of `/_/api` and the types of their answers, which `npm run docs` writes from the OpenAPI document. */
export * from "../../../sdk/src/generated/admin.ts";
export type { Identity } from "../../../sdk/src/generated/types.ts";
