import { OriginList } from "../../../server/src/lib/origins.ts";
import type { ApplicationSettings } from "../api/admin.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import type { SeenOrigin } from "./settings.origins.tsx";

/** How a value is entered: `list` one to a line, `ms` and `bytes` with a unit, `json` as an object. */
type FieldKind =
  | ("text" | "number" | "ms" | "bytes" | "rate" | "list" | "flag")
  | ("operations" | "operationLimits" | "eventTypes" | "mailTexts" | "providers" | "json");

export interface Field {
  /** The member, and the member inside of it: "tokenLifetimes.deviceMs". */
  readonly path: string;
  readonly label: string;
  readonly hint: string;
  /** Of choices, the first is the default, which is not stored. */
  readonly kind: FieldKind | readonly { readonly value: string; readonly label: string }[];
}

export interface Part {
  readonly id: string;
  readonly title: string;
  readonly lead: string;
  readonly fields: readonly Field[];
}

/** Every setting of an application, in the parts of the page. */
export const parts: readonly Part[] = [
  {
    id: "access",
    title: "Access",
    lead: "Who may call, and what.",
    fields: [
      {
        path: "origins",
        label: "Origins",
        kind: "list",
        hint: "Of the web pages that may call, one to a line: https://app.example. Empty: any page.",
      },
      {
        path: "disabledOperations",
        label: "Disabled operations",
        kind: "operations",
        hint: "Their calls get AuthAPICallDisabledByDeveloper.",
      },
      {
        path: "signedRequests",
        label: "Unsigned requests",
        kind: [
          { value: "optional", label: "Are answered (default)" },
          { value: "required", label: "Are refused" },
        ],
        hint: "Takes effect once the application has a shared secret.",
      },
    ],
  },
  {
    id: "tokens",
    title: "Tokens",
    lead: "How long new tokens are valid. Tokens that were issued before keep their lifetime.",
    fields: [
      {
        path: "tokenLifetimes.deviceMs",
        label: "Device tokens",
        kind: "ms",
        hint: "",
      },
      {
        path: "tokenLifetimes.userMs",
        label: "User tokens",
        kind: "ms",
        hint: "",
      },
      {
        path: "tokenLifetimes.sessionMs",
        label: "Renewal of user tokens",
        kind: "ms",
        hint: "How long after the sign-in a token can be renewed. 0 switches renewal off.",
      },
      {
        path: "tokenLifetimes.endOnReuse",
        label: "A replaced token that comes back ends its session",
        kind: "flag",
        hint: "One of the two who have the session may have stolen it.",
      },
    ],
  },
  {
    id: "limits",
    title: "Limits",
    lead: "Calls beyond a limit get RateLimitExceeded with the time to wait.",
    fields: [
      {
        path: "limits.application",
        label: "All callers together",
        kind: "rate",
        hint: "",
      },
      {
        path: "limits.caller",
        label: "Each device",
        kind: "rate",
        hint: "",
      },
      {
        path: "limits.streams",
        label: "Streams of events in each process",
        kind: "number",
        hint: "Empty: half of those that a process serves.",
      },
      {
        path: "limits.operations",
        label: "Single operations",
        kind: "operationLimits",
        hint: "For each device; for sign-ups and logins, for each address.",
      },
    ],
  },
  {
    id: "sign-in",
    title: "Sign-in",
    lead: "How users prove who they are.",
    fields: [
      {
        path: "oidc",
        label: "OpenID Connect providers",
        kind: "providers",
        hint: "Whose id_tokens users sign in with, each under a name that apps send.",
      },
      {
        path: "debug",
        label: "Refused social logins name the check that failed",
        kind: "flag",
        hint: "For development.",
      },
      {
        path: "email.requirePassword",
        label: "A change of the e-mail address needs the current password",
        kind: "flag",
        hint: "So that a stolen token cannot take the account.",
      },
      {
        path: "passwords.minLength",
        label: "Characters of a new password, at least",
        kind: "number",
        hint: "From 4 to 64. Existing passwords stay valid.",
      },
      {
        path: "passwords.refuseBreached",
        label: "New passwords that are known from breaches are refused",
        kind: "flag",
        hint: "Needs BREACHED_PASSWORDS_URL on the server.",
      },
      {
        path: "signIn.byEmail",
        label: "A verified e-mail address signs in like the user name",
        kind: "flag",
        hint: "The address has to be verified by a mailed code first.",
      },
      {
        path: "email.changeByCode",
        label: "Only a mailed code changes the e-mail address",
        kind: "flag",
        hint: "Apps that send another address with the profile are ignored.",
      },
    ],
  },
  {
    id: "mail",
    title: "Mail",
    lead: "How mails to the users of this application are sent.",
    fields: [
      { path: "mail.from", label: "Sender", kind: "text", hint: "An address, or Name <address>." },
      {
        path: "mail.smtpUrl",
        label: "Mail server",
        kind: "text",
        hint: "smtp:// or smtps://, with name and password. The password is not shown again, and stays if the rest is unchanged.",
      },
      {
        path: "mail.templates",
        label: "Texts of clients",
        kind: [
          { value: "client", label: "Harmless ones are mailed (default)" },
          { value: "fixed", label: "Are not mailed: the application’s own texts only" },
        ],
        hint: "Clients may send the text of a mail with a reset code.",
      },
      {
        path: "mail.linkHosts",
        label: "Hosts of links",
        kind: "list",
        hint: "Which texts of clients may link to, one to a line, with all hosts below them.",
      },
      {
        path: "mail.texts",
        label: "Own texts",
        kind: "mailTexts",
        hint: "In place of the service’s own. Empty: those of the service.",
      },
      {
        path: "mail.textsByLanguage",
        label: "Own texts by language",
        kind: "json",
        hint: 'For users of a language, as JSON: {"de": {"resetCode": {"subject": "…", "body": "… @ResetCode"}}}.',
      },
    ],
  },
  {
    id: "storage",
    title: "Storage",
    lead: "How much may be stored, and for how long. Quotas that are empty do not limit.",
    fields: [
      { path: "quotas.bytesPerApplication", label: "Size of all files", kind: "bytes", hint: "" },
      { path: "quotas.filesPerApplication", label: "Number of all files", kind: "number", hint: "" },
      { path: "quotas.bytesPerUser", label: "Size of the files of one user", kind: "bytes", hint: "" },
      { path: "quotas.filesPerUser", label: "Number of files of one user", kind: "number", hint: "" },
      { path: "retention.metricsDays", label: "Days that metrics are kept", kind: "number", hint: "" },
      {
        path: "retention.crashReportsDays",
        label: "Days that crash reports are kept",
        kind: "number",
        hint: "",
      },
      {
        path: "locationData",
        label: "Location data inside of videos and blobs of users with locationFuzzing",
        kind: [
          { value: "strip", label: "Is removed for others (default)" },
          { value: "refuse", label: "Others do not get the file" },
          { value: "keep", label: "Stays" },
        ],
        hint: "",
      },
    ],
  },
  {
    id: "events",
    title: "Events",
    lead: "What is written to the log of changes, which apps, streams and webhooks read.",
    fields: [
      {
        path: "events.record",
        label: "Record changes",
        kind: [
          { value: "wanted", label: "While a client or a webhook reads them (default)" },
          { value: "always", label: "Always" },
          { value: "never", label: "Never: apps cannot read events" },
        ],
        hint: "",
      },
      { path: "events.retentionDays", label: "Days that events are kept", kind: "number", hint: "1 to 30." },
      {
        path: "events.types",
        label: "Types that are recorded",
        kind: "eventTypes",
        hint: "Apps, streams and webhooks receive no others.",
      },
      {
        path: "webhooks.mail",
        label: "Mail about disabled webhooks",
        kind: "text",
        hint: "An address. A webhook is disabled when its receiver has failed for five days.",
      },
    ],
  },
  {
    id: "rehearsals",
    title: "Rehearsals",
    lead: "What does the app do when the service fails? Clients ask for a failure with the header Rollcall-Rehearse.",
    fields: [
      {
        path: "rehearsal",
        label: "Calls that ask for a failure",
        kind: [
          { value: "off", label: "Are refused (default)" },
          { value: "on", label: "Are answered as asked for" },
        ],
        hint: "For tests: any client can ask while this is on.",
      },
    ],
  },
];

/**
 * Describes the clients that the change excludes, as sentences; empty if it excludes none.
 *
 * @param seen the origins whose pages have called today; undefined if not loaded
 */
export function shutOutBy(
  before: ApplicationSettings,
  after: ApplicationSettings,
  seen: readonly SeenOrigin[] | undefined,
): string[] {
  const isNewlyDisabled = (operation: string) =>
    (after.disabledOperations ?? []).includes(operation) && !(before.disabledOperations ?? []).includes(operation);
  return [
    ...(isNewlyDisabled("POST /devices") ? ["No device can register."] : []),
    ...(after.signedRequests === "required" && before.signedRequests !== "required"
      ? ["Every request without a signature is refused."]
      : []),
    ...shutOutPages(before.origins, after.origins, seen),
  ];
}

const namedMax = 10;

function shutOutPages(
  before: ApplicationSettings["origins"],
  after: ApplicationSettings["origins"],
  seen: readonly SeenOrigin[] | undefined,
): string[] {
  if (!Array.isArray(after)) return []; // not set, or text of the document that the server refuses
  const [old, next] = [before && listOf(before), listOf(after)];
  if (seen === undefined) {
    const isNoneLost = before?.every((entry) => after.includes(entry) || next.has(String(entry))) ?? false;
    return isNoneLost ? [] : ["Web pages of origins that are not in the list cannot call."];
  }
  const lost = seen.filter(({ origin }) => !next.has(origin) && (old?.has(origin) ?? true));
  const rest = lost.length - namedMax;
  return [
    ...lost
      .slice(0, namedMax)
      .map(
        ({ origin, calls }) =>
          `Pages of ${showInvisible(origin)} cannot call any more. In the last 24 hours they did ${formatNumber(calls)} times.`,
      ),
    ...(rest > 0 ? [`Nor can pages of ${formatNumber(rest)} more origins that called in the last 24 hours.`] : []),
  ];
}

function listOf(origins: readonly unknown[]): OriginList {
  return new OriginList(origins.filter((origin) => typeof origin === "string"));
}
