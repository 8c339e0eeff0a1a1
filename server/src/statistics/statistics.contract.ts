import { applicationPathParameters } from "../auth/operated-application.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import { Choice, DateInput, Flag, Text, WireDate } from "../contract/wire.ts";
import type { Interval as IntervalWord } from "../lib/spans.ts";

export const StatisticsPath = Type.Object(applicationPathParameters);

const Interval = enumeration<IntervalWord>("StatisticsInterval", "The length of an interval, in UTC.", {
  minute: "A minute; kept for 48 hours.",
  hour: "An hour; kept for 90 days.",
  day: "A day; kept for three years.",
});

export const ReadStatistics = Type.Object({
  from: Type.Optional(
    DateInput({ description: "The first moment of the range: by default an hour, a day or 30 days before `to`." }),
  ),
  to: Type.Optional(DateInput({ description: "The exclusive end of the range; now by default." })),
  interval: Type.Optional(Choice(Interval, { default: "minute", description: "The length of the intervals, in UTC." })),
  series: Type.Optional(
    Text({ maxLength: 500, description: "The names of the series, separated by commas; all of them by default." }),
  ),
});

const Point = named(
  "StatisticsPoint",
  "A number in one interval.",
  Type.Object({
    time: { ...WireDate, description: "The first moment of the interval." },
    value: Type.Number({ description: "A count, or milliseconds." }),
  }),
);

const Series = named(
  "StatisticsSeries",
  "A number over time.",
  Type.Object({
    name: Type.String({ description: "The series; calls and latency are several, such as `calls.4xx`." }),
    points: {
      ...Type.Array(Point),
      description: "One for each interval; latency has none for intervals without calls.",
    },
  }),
);
export type Series = Static<typeof Series>;

const OperationStatistics = named(
  "OperationStatistics",
  "The calls of one operation in the range.",
  Type.Object({
    operation: Type.String({ description: "The id of the operation in the OpenAPI document." }),
    calls: Type.Integer({ format: "int64", description: "The number of calls." }),
    errors: Type.Integer({ format: "int64", description: "The number of refused or failed calls." }),
    p95: Type.Optional(Type.Number({ description: "95 % of the calls took at most this many milliseconds." })),
  }),
);

const ErrorStatistics = named(
  "ErrorStatistics",
  "Equal failures in the range.",
  Type.Object({
    operation: Type.Optional(Type.String({ description: "The id of the operation; absent if `isOther`." })),
    error: Type.Optional(Type.String({ description: "The condition, as in the log; absent if `isOther`." })),
    message: Type.Optional(Type.String({ description: "The first 200 characters of the message." })),
    count: Type.Integer({ format: "int64", description: "Their number." }),
    isOther: Type.Optional(Type.Boolean({ description: "True for all that are not among the most frequent ones." })),
  }),
);

const KeyStatistics = named(
  "KeyStatistics",
  "The calls with one application key in the range.",
  Type.Object({
    keyId: Type.String({ description: "The id of the key." }),
    calls: Type.Integer({ format: "int64", description: "Requests with a token of the key; a batch is one." }),
    signedCalls: Type.Integer({ format: "int64", description: "The number of signed ones." }),
    registrations: Type.Integer({ format: "int64", description: "Successful registrations with the key." }),
    points: Type.Optional({
      ...Type.Array(Point),
      description: "The registrations in each interval, of the 20 keys with most of them.",
    }),
  }),
);

const OriginStatistics = named(
  "OriginStatistics",
  "The calls of web pages of one origin in the range.",
  Type.Object({
    origin: Type.String({ description: "The origin, as browsers send it." }),
    calls: Type.Integer({ format: "int64", description: "Requests with a token; a batch is one." }),
  }),
);

const LimitPeak = named(
  "LimitPeak",
  "How much of a limit was used.",
  Type.Object({
    limit: Type.String({ description: "`caller`, or such as `POST /checkins`." }),
    calls: Type.Integer({
      format: "int64",
      description: "The most calls of one device, or address, within a minute.",
    }),
  }),
);

const members = {
  interval: Interval,
  from: { ...WireDate, description: "The first moment of the first interval." },
  to: { ...WireDate, description: "The first moment after the last interval." },
  series: Type.Array(Series),
  operations: Type.Optional({ ...Type.Array(OperationStatistics), description: "The 100 busiest operations." }),
  errors: Type.Optional({ ...Type.Array(ErrorStatistics), description: "The 50 most frequent failures." }),
  keys: Type.Optional({ ...Type.Array(KeyStatistics), description: "The keys that were used, at most 100." }),
  origins: Type.Optional({
    ...Type.Array(OriginStatistics),
    description: "The origins of web pages with most calls, at most 100.",
  }),
  peaks: Type.Optional({ ...Type.Array(LimitPeak), description: "How much of limits was used." }),
};

export const ApplicationStatistics = named(
  "ApplicationStatistics",
  "The activity of an application's clients.",
  Type.Object(members),
);

const int64 = (description: string) => Type.Integer({ format: "int64", description });

export const DaySums = named(
  "StatisticsOfDay",
  "The activity of an application's clients on a day until an hour.",
  Type.Object({
    calls: int64("The number of calls."),
    errors: int64("The number of refused or failed calls."),
    registrations: int64("Successful registrations, also of devices that were known."),
    activeDevices: int64("Distinct devices that made calls."),
    newDevices: int64("Devices that were not known before."),
    newUsers: int64("Users that were created."),
    signUps: int64("Users that were created with a password."),
    checkins: int64("Check-ins that were created."),
    files: int64("Files that were stored."),
    bytes: int64("The bytes of these files."),
  }),
);

const KeptCount = named(
  "KeptCount",
  "A number of objects.",
  Type.Object({
    count: int64("Their number."),
    isExact: Type.Boolean({ description: "Otherwise it is the count of last night, with those created since." }),
  }),
);

const ApplicationTotals = named(
  "ApplicationTotals",
  "The totals of an application.",
  Type.Object({
    devices: { ...KeptCount, description: "Devices that have registered." },
    users: { ...KeptCount, description: "Users that are not deleted." },
    checkins: { ...KeptCount, description: "Check-ins." },
    files: int64("Files."),
    bytes: int64("The bytes of the files."),
  }),
);

const StatisticsMarker = named(
  "StatisticsMarker",
  "A change of the application by an operator or a command.",
  Type.Object({
    at: { ...WireDate, description: "When it was made." },
    action: Type.String({ description: "The name of the operation, as in the audit log." }),
    by: Type.Optional(Type.String({ description: "The name of the operator." })),
  }),
);

const NewAppVersion = named(
  "NewAppVersion",
  "A version of the app that devices reported for the first time.",
  Type.Object({
    appVersion: Type.String({ description: "The version, as devices report it." }),
    firstSeen: { ...WireDate, description: "When the first report came." },
    reports: int64("How often devices reported it since then."),
    platforms: { ...Type.Array(Type.String()), description: "The platforms of these devices, at most 10." },
  }),
);

const NewCrash = named(
  "NewCrash",
  "A crash that was reported for the first time.",
  Type.Object({
    fingerprint: Type.String({ description: "The id of the group." }),
    title: Type.String({ description: "The first line of the stack trace." }),
    reports: int64("The current number of reports."),
    firstSeen: { ...WireDate, description: "When the first report came." },
  }),
);

export const ApplicationOverview = named(
  "ApplicationOverview",
  "The totals of an application, and the activity of its clients.",
  Type.Object({
    totals: ApplicationTotals,
    today: { ...DaySums, description: "Since midnight, UTC." },
    weekBefore: { ...DaySums, description: "On the same weekday before, until the end of the same hour." },
    statistics: { ...ApplicationStatistics, description: "All series of the range." },
    before: Type.Optional({ ...Type.Array(Series), description: "The series of the range before; with compare." }),
    markers: {
      ...Type.Array(StatisticsMarker),
      description: "Changes of settings and keys in the range, newest first.",
    },
    newVersions: {
      ...Type.Array(NewAppVersion),
      description:
        "The 10 most reported versions of those that appeared in the range, newest first; never an application's first.",
    },
    newCrashes: { ...Type.Array(NewCrash), description: "The latest 5 crashes that appeared in the range." },
  }),
);

export const ReadOverview = Type.Object({
  from: ReadStatistics.properties.from,
  to: ReadStatistics.properties.to,
  interval: ReadStatistics.properties.interval,
  compare: Type.Optional(Flag({ description: "Also the series of the range of the same length before." })),
});

const BusyApplication = named(
  "BusyApplication",
  "The calls of one application in the last 15 minutes.",
  Type.Object({
    appid: Type.String({ description: "The id of the application." }),
    calls: Type.Integer({ format: "int64", description: "The number of calls." }),
    errors: Type.Integer({ format: "int64", description: "The number of refused or failed calls." }),
  }),
);

export const DeploymentStatistics = extended(
  "DeploymentStatistics",
  "The activity of all clients and operators, and the busiest applications.",
  ApplicationStatistics,
  { busiest: { ...Type.Array(BusyApplication), description: "The 100 applications with the most calls." } },
);
