export * from "./generated/calls.ts";
