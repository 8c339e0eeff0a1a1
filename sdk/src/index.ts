export type { EventName, EventOf, RollcallEvent } from "./identity/events.ts";
export { indexedDbStore } from "./identity/indexed-db-store.ts";
export { memoryStore } from "./identity/memory-store.ts";
export type { DeviceFacts, EndedSession, EndReason } from "./identity/options.ts";
export type { Handoff, Session, SignOutOptions } from "./identity/session.ts";
export type { Awaitable, Store, Stored } from "./identity/store.ts";
export type { RollcallOptions } from "./options.ts";
export { createRollcall, type Rollcall } from "./rollcall.ts";
export type { AnyCall, Call, Operation } from "./wire/call.ts";
export {
  AbortedError,
  ConfigurationError,
  ConnectionError,
  NotSignedIn,
  RollcallError,
  ServiceError,
  SessionEnded,
  TimeoutError,
  UnexpectedAnswer,
} from "./wire/errors.ts";
