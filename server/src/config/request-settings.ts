import { integer, lifetime, optional, type Setting } from "./reader.ts";

const hourMs = 3_600_000;
const tebibyte = 1_099_511_627_776;
const trillion = 1_000_000_000_000;

/** The bounds of requests, uploads, pages, streams, batches, stored responses and connections. */
export const requestRows = {
  bodyBytesMax: {
    name: "BODY_BYTES_MAX",
    default: "1048576",
    about: "Largest request body.",
    read: integer(1_024, 1_073_741_824),
  },
  inFlightBytesMax: {
    name: "IN_FLIGHT_BYTES_MAX",
    default: "",
    about:
      "Bytes of request bodies, uploads and replies that each process holds at once, beyond which it answers 503; empty for 64 MiB (256 MiB with an s3:// FILES_URL), or 8 times BODY_BYTES_MAX if that is more.",
    read: optional(integer(1_048_576, tebibyte)),
  },
  headerBytesMax: {
    name: "HEADER_BYTES_MAX",
    default: "16384",
    about: "Largest request head: path and headers together.",
    read: integer(4_096, 1_048_576),
  },
  fileBytesMax: {
    name: "FILE_BYTES_MAX",
    default: "1073741824",
    about: "Largest file that can be uploaded (1 GiB).",
    read: integer(1, tebibyte),
  },
  uploadLifetimeMs: {
    name: "UPLOAD_LIFETIME_MS",
    default: "86400000",
    about: "Time to complete a resumable upload (1 day).",
    read: lifetime,
  },
  signedUrlLifetimeMs: {
    name: "SIGNED_URL_LIFETIME_MS",
    default: "3600000",
    about: "Lifetime of a signedUrl (1 hour).",
    read: lifetime,
  },
  pageItemsDefault: {
    name: "PAGE_ITEMS_DEFAULT",
    default: "100",
    about: "Items of a page when the request has no pageSize.",
    read: integer(1, 10_000),
  },
  pageItemsMax: { name: "PAGE_ITEMS_MAX", default: "1000", about: "Largest pageSize.", read: integer(1, 10_000) },
  eventsRowsMax: {
    name: "EVENTS_ROWS_MAX",
    default: "10000000",
    about: "Events in the log of an application; the oldest are dropped.",
    read: integer(1, Number.MAX_SAFE_INTEGER),
  },
  eventsBacklogMax: {
    name: "EVENTS_BACKLOG_MAX",
    default: "1000000",
    about:
      "Largest number of events of an application without a position on PostgreSQL; beyond it they are dropped and readers start again.",
    read: integer(1, Number.MAX_SAFE_INTEGER),
  },
  eventsPollMs: {
    name: "EVENTS_POLL_MS",
    default: "",
    about:
      "Interval at which a process with streams polls for events of other processes on PostgreSQL, besides receiving notifications; default 250, or 50 with DATABASE_POOLER=transaction.",
    read: optional(integer(10, hourMs)),
  },
  streamsMax: {
    name: "STREAMS_MAX",
    default: "10000",
    about: "Streams of events of one process; half of them for one application.",
    read: integer(0, 1_000_000),
  },
  streamHeartbeatMs: {
    name: "STREAM_HEARTBEAT_MS",
    default: "25000",
    about: "Interval of heartbeats on a stream (25 seconds).",
    read: integer(100, hourMs),
  },
  streamLifetimeMs: {
    name: "STREAM_LIFETIME_MS",
    default: "3600000",
    about: "Lifetime of a stream, varied by a tenth, after which its client reconnects (1 hour).",
    read: integer(100, 24 * hourMs),
  },
  batchItemsMax: {
    name: "BATCH_ITEMS_MAX",
    default: "200",
    about: "Largest number of calls in a batch.",
    read: integer(1, 10_000),
  },
  batchReplyBytesMax: {
    name: "BATCH_REPLY_BYTES_MAX",
    default: "8388608",
    about: "Total bytes of the responses in one batch, beyond which its other items are refused (8 MiB).",
    read: integer(1_024, 1_073_741_824),
  },
  idempotencyBytesPerCaller: {
    name: "IDEMPOTENCY_BYTES_PER_CALLER",
    default: "16777216",
    about: "Stored responses of one user's idempotency keys, or of one device's without a user (16 MiB).",
    read: integer(1, trillion),
  },
  idempotencyKeysPerCaller: {
    name: "IDEMPOTENCY_KEYS_PER_CALLER",
    default: "20000",
    about: "Idempotency keys of one user, or of one device without a user, in a day.",
    read: integer(1, trillion),
  },
  idempotencyBytesPerApplication: {
    name: "IDEMPOTENCY_BYTES_PER_APPLICATION",
    default: "1073741824",
    about: "Stored responses of all idempotency keys of one application (1 GiB).",
    read: integer(1, trillion),
  },
  idempotencyKeysPerApplication: {
    name: "IDEMPOTENCY_KEYS_PER_APPLICATION",
    default: "1000000",
    about: "Idempotency keys of one application in a day.",
    read: integer(1, trillion),
  },
  requestTimeoutMs: {
    name: "REQUEST_TIMEOUT_MS",
    default: "30000",
    about: "Time for a request to arrive completely.",
    read: integer(100, hourMs),
  },
  keepAliveTimeoutMs: {
    name: "KEEP_ALIVE_TIMEOUT_MS",
    default: "72000",
    about: "Time that an idle connection stays open.",
    read: integer(100, hourMs),
  },
  connectionsMax: {
    name: "CONNECTIONS_MAX",
    default: "",
    about:
      "Open connections of each process, beyond which new ones are closed; empty for three quarters of its limit of open files.",
    read: optional(integer(1, 10_000_000)),
  },
  connectionsPerAddressMax: {
    name: "CONNECTIONS_PER_ADDRESS_MAX",
    default: "",
    about:
      "Open connections of one address (IPv6: /64) in each process; empty for a quarter of CONNECTIONS_MAX. TRUST_PROXY and this machine are exempt.",
    read: optional(integer(1, 10_000_000)),
  },
  shutdownGraceMs: {
    name: "SHUTDOWN_GRACE_MS",
    default: "10000",
    about: "Time for requests in flight to finish at SIGTERM.",
    read: integer(0, hourMs),
  },
} satisfies Record<string, Setting<unknown>>;
