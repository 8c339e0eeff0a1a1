import { compileParameters } from "../contract/parameters.ts";
import { Type } from "../contract/schema.ts";
import { IdInput } from "../contract/wire.ts";
import type { MessageHandler } from "../regions/regions.endpoint.ts";

const aboutApplication = compileParameters(Type.Object({ appid: IdInput("App") }));

/** Answers a call about one application. */
export function onApplication(work: (appid: string, from: string) => Promise<unknown>): MessageHandler {
  return {
    takes: "message",
    answer: (message, from) => work(aboutApplication(Object.entries(Object(message))).appid, from),
  };
}
