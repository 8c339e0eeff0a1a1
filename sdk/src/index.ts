export { indexedDbStore } from "./identity/indexed-db-store.ts";
export { memoryStore } from "./identity/memory-store.ts";
export type { Awaitable, Store, Stored } from "./identity/store.ts";
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
