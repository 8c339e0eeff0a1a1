/** The calls about sessions. A file of its own, because the sign-in loads no other calls. */
export * from "../../../sdk/src/generated/operator-sessions.ts";
