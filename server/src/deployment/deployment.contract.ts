import { BoundedCount } from "../contract/bounded-count.ts";
import { enumeration, named, Type } from "../contract/schema.ts";
import { WireDate } from "../contract/wire.ts";
import { warningCodes } from "./warning-codes.ts";

const count = (description: string) => Type.Integer({ description });
const int64 = (description: string) => Type.Integer({ format: "int64", description });

const State = enumeration("DeploymentState", "Whether a deployment is well.", {
  well: "There is no warning.",
  attention: "There are warnings.",
  broken: "A process could not reach the database, or a disk has less than 500 MB left.",
});

const Warning = named(
  "DeploymentWarning",
  "A reason to look at a deployment.",
  Type.Object({
    code: enumeration("DeploymentWarningCode", "The kind of a warning.", warningCodes),
    text: Type.String({ description: "A sentence with numbers." }),
    since: Type.Optional({ ...WireDate, description: "When it began; absent if no single process is the reason." }),
  }),
);

const Queues = named(
  "DeploymentQueues",
  "The work that waits.",
  Type.Object({
    passwords: count("Passwords that wait to be hashed."),
    pictures: count("Pictures that wait to be decoded."),
    transactions: count("Transactions that wait to begin."),
    background: count("Work that continues after its answer."),
    events: count("Metric events that wait for compaction."),
    audit: count("Entries of the audit log that wait to be written."),
  }),
);

const DatabaseConnections = named(
  "DatabaseConnections",
  "Connections of a process to the database.",
  Type.Object({ inUse: count("Reserved by a transaction."), max: count("The limit.") }),
);

const BackgroundJob = named(
  "BackgroundJob",
  "Work that a process repeats at an interval.",
  Type.Object({
    name: Type.String(),
    finished: Type.Optional({ ...WireDate, description: "When its last successful run ended." }),
    durationMs: Type.Optional(count("The duration of that run.")),
    failed: Type.Optional({ ...WireDate, description: "When its last failed run ended." }),
    failures: count("Failed runs since the process started."),
  }),
);

const ServerProcess = named(
  "ServerProcess",
  "A process, as it last reported itself.",
  Type.Object({
    machine: Type.String({ description: "The host name." }),
    worker: count("The number of the process on its machine."),
    version: Type.String({
      description: "The version of Rollcall, with the commit if it is known: 0.1.0+3f0d6b0a1b2c.",
    }),
    since: { ...WireDate, description: "When it started." },
    heard: { ...WireDate, description: "When it last reported itself." },
    isSilent: Type.Boolean({ description: "True if that was more than 30 seconds ago." }),
    cpu: Type.Number({ description: "The share of one processor." }),
    memoryBytes: int64("Memory that it holds."),
    loopDelayMs: Type.Number({ description: "99 % of its work began at most this late, over a minute." }),
    connections: count("Open connections of clients."),
    requests: count("Requests in progress."),
    databaseConnections: DatabaseConnections,
    queues: Queues,
    jobs: Type.Array(BackgroundJob),
  }),
);

const Storage = named(
  "DeploymentStorage",
  "The stored data of a deployment.",
  Type.Object({
    databaseBytes: int64("The size of the database."),
    files: int64("Files of all applications."),
    bytes: int64("Their bytes."),
    orphanedObjects: { ...BoundedCount, description: "Objects in the file store that are to be deleted." },
    freeBytes: Type.Optional(int64("The free space of the fullest disk that a process writes to.")),
    diskBytes: Type.Optional(int64("The size of that disk.")),
  }),
);

const ChangedSetting = named(
  "ChangedSetting",
  "A setting of the server that differs from its default.",
  Type.Object({
    name: Type.String({ description: "The environment variable." }),
    value: Type.String({ description: "`set` for a secret." }),
    about: Type.String({ description: "Its purpose." }),
  }),
);

const Backup = named(
  "DeploymentBackup",
  "The newest backup that `rollcall backup` has written.",
  Type.Object({
    created: { ...WireDate, description: "When it was finished." },
    bytes: int64("The size of its file."),
    isWithoutFiles: Type.Boolean({ description: "True if it has no bytes of files." }),
  }),
);

export const Deployment = named(
  "Deployment",
  "The state of a deployment.",
  Type.Object({
    state: State,
    warnings: Type.Array(Warning),
    version: Type.String({ description: "Of the process that answers." }),
    node: Type.String({ description: "The version of Node.js." }),
    engine: enumeration("DatabaseEngine", "The engine of the database.", {
      sqlite: "SQLite.",
      postgresql: "PostgreSQL.",
    }),
    schema: Type.String({ description: "The last migration." }),
    region: Type.String(),
    since: { ...WireDate, description: "When the oldest process started." },
    processes: { ...Type.Array(ServerProcess), description: "Those that reported within five minutes." },
    queues: { ...Queues, description: "Of all processes that are not silent." },
    storage: Storage,
    backup: Type.Optional(Backup),
    settings: { ...Type.Array(ChangedSetting), description: "Of the process that answers." },
  }),
);
