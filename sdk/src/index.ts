export {
  type Batch,
  BatchFailed,
  type BatchMode,
  type BatchOptions,
  type BatchResults,
  type Item,
  type ItemOutcome,
} from "./batch/batch.ts";
export type { Refs } from "./batch/references.ts";
export * from "./generated/errors.ts";
export type * from "./generated/types.ts";
export type { DeviceState } from "./identity/device.ts";
export type { EventName, EventOf, RollcallEvent } from "./identity/events.ts";
export { indexedDbStore } from "./identity/indexed-db-store.ts";
export { memoryStore } from "./identity/memory-store.ts";
export type { DeviceFacts, EndedSession, EndReason } from "./identity/options.ts";
export type { Handoff, Session, SignOutOptions } from "./identity/session.ts";
export type { Store, Stored } from "./identity/store.ts";
export type { Awaitable } from "./lib/awaitable.ts";
export { type Connection, type ConnectOptions, connect } from "./nouns/connect.ts";
export type { DownloadOptions, PictureSize } from "./nouns/files.ts";
export type { MetadataOptions, ObjectMetadata } from "./nouns/metadata.client.ts";
export type { Nouns } from "./nouns/nouns.ts";
export type { ProfilePictureOptions } from "./nouns/users.client.ts";
export type { RollcallOptions } from "./options.ts";
export type { Page, PageOptions, Pages, PageTokens, WirePage } from "./pages/pages.ts";
export { createRollcall, type RegisteredDevice, type Rollcall, type UserClient } from "./rollcall.ts";
export type { InterceptedRequest, Interceptor } from "./transport/interceptors.ts";
export type { LogFields, Logger } from "./transport/logger.ts";
export type { CallOptions, Meta, Retry, Sent, Timeouts } from "./transport/options.ts";
export type { Progress } from "./transport/progress.ts";
export type { AnyCall, BatchableCall, Call, Operation, Parameters } from "./wire/call.ts";
export type { Download } from "./wire/download.ts";
export type { NamedServiceError, ServiceErrorClass } from "./wire/error-classes.ts";
export {
  AbortedError,
  ConfigurationError,
  ConnectionError,
  type ErrorDetails,
  type FailedCall,
  NotSignedIn,
  type Outcome,
  RollcallError,
  ServiceError,
  type ServiceErrorDetails,
  SessionEnded,
  TimeoutError,
  UnexpectedAnswer,
} from "./wire/errors.ts";
export type { OpenableSource, Source } from "./wire/source.ts";
export type { Box, DateRange, Near, Place } from "./wire/values.ts";
