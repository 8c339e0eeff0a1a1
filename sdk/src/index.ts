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
