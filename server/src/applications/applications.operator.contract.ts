import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { Choice, Text, WireDate } from "../contract/wire.ts";
import { formatDate } from "../lib/dates.ts";
import { fieldsOf } from "../lib/fields.ts";
import { nameCharactersMax, nameRule } from "./applications.names.ts";
import { isBeingImported, type LiveApplication } from "./applications.store.ts";

export const ApplicationPath = Type.Object(applicationPathParameters);

const ApplicationState = enumeration("ApplicationState", "Whether clients of an application are served.", {
  active: "They are served.",
  suspended: "An operator has suspended it.",
  moving: "It is on its way to another region.",
  importing: "It is being imported.",
});
export type ApplicationState = Static<typeof ApplicationState>;

const Include = enumeration("ApplicationInclude", "Additional members of the result.", {
  activity: "Each with its activity.",
});

const ApplicationSortOrder = enumeration("ApplicationSortOrder", "An order of applications.", {
  created: "The oldest first.",
  "-created": "The newest first.",
  name: "By name.",
  "-name": "By name, descending.",
  busiest: "The 100 with the most calls in the last 15 minutes, on one page.",
});

export const ListApplications = Type.Object({
  include: Type.Optional(Choice(Include, { description: "Additional members of the result." })),
  namePrefix: Type.Optional(
    Text({ maxLength: nameCharactersMax, description: "The beginning of the name, regardless of the case of A to Z." }),
  ),
  state: Type.Optional(Choice(ApplicationState, { description: "Only applications in this state." })),
  sortOrder: Type.Optional(
    Choice(ApplicationSortOrder, { description: "The order of the applications.", default: "created" }),
  ),
  ...pagingParameters,
});

const name = Text({ description: `It ${nameRule}.` });
export const CreateApplication = Type.Object({ name });
export const ChangeApplication = Type.Object({ name: Type.Optional(name) });
export const DeleteApplication = Type.Object({
  confirm: Text({ description: "The id of the application, as a confirmation." }),
});

const Count = named(
  "ActivityCount",
  "A number of devices or users.",
  Type.Object({
    count: Type.Integer({ format: "int64", description: "Their number." }),
    isExact: Type.Boolean({ description: "If false, the count is from last night, or a minimum." }),
  }),
);

const ApplicationActivity = named(
  "ApplicationActivity",
  "The current activity of an application's clients.",
  Type.Object({
    callsPerMinute: Type.Number({ description: "In the last 15 minutes." }),
    calls: Type.Integer({ format: "int64", description: "In the last 24 hours." }),
    errors: Type.Integer({ format: "int64", description: "Calls in the last 24 hours that were refused or failed." }),
    hours: {
      ...Type.Array(Type.Integer({ format: "int64" })),
      description: "The calls of each of the last 24 hours in UTC, oldest first; the last hour is incomplete.",
    },
    devices: Count,
    users: Count,
  }),
);

export const Application = named(
  "Application",
  "An application, whose clients call the service.",
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    created: WireDate,
    suspended: Type.Optional({
      ...WireDate,
      description: "The time of the suspension; absent if the application is not suspended.",
    }),
    movingTo: Type.Optional(Type.String({ description: "The region to which it is moving." })),
    isBeingImported: Type.Optional(Type.Boolean({ description: "True or absent." })),
    isRehearsalOn: Type.Optional(
      Type.Boolean({ description: "True while its clients may rehearse failures; otherwise absent." }),
    ),
    activity: Type.Optional(ApplicationActivity),
  }),
);

/** The credentials that devices of the application register with. */
export const CreatedApplication = named(
  "CreatedApplication",
  "A new application, with its first key.",
  Type.Object({
    appid: Type.String({ description: "The id of the application." }),
    appkey: Type.String({ description: "Shown only once." }),
    keyId: Type.String({ description: "The id of the key." }),
    name: Type.String(),
    created: WireDate,
  }),
);

export const ApplicationPage = PageOf(Application);

/** @param own this region; not needed for an application that is not moving */
export function presentApplication(
  application: LiveApplication,
  own = "",
  activity?: Static<typeof ApplicationActivity>,
): Static<typeof Application> {
  const { application_id, name, created_at, suspended_at, moving_to, settings } = application;
  return {
    id: application_id,
    name,
    created: formatDate(created_at),
    ...(suspended_at !== null && { suspended: formatDate(suspended_at) }),
    ...(moving_to !== null && { movingTo: moving_to }),
    ...(isBeingImported(application, own) && { isBeingImported: true }),
    ...(fieldsOf(JSON.parse(settings))["rehearsal"] === "on" && { isRehearsalOn: true }),
    ...(activity !== undefined && { activity }),
  };
}
