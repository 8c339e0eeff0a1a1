import { applicationPathParameters } from "../auth/operated-application.ts";
import type { RawParameters } from "../contract/call.ts";
import type { EmailSettings, PasswordSettings, SignInSettings } from "../contract/policy.ts";
import { enumeration, named, type Properties, type Static, Type } from "../contract/schema.ts";
import { Choice, Flag, List, Members, RawJson, Text } from "../contract/wire.ts";
import { signingSecretCharacters } from "../lib/secrets.ts";
import {
  type ApplicationLimits,
  type ApplicationSettings,
  callsMax,
  type EventSettings,
  type eventRecordingWords,
  eventRetentionDaysMax,
  type GivenLimit,
  type locationDataWords,
  passwordLength,
  perSecondMin,
  type Quotas,
  type Retention,
  readApplicationSettings,
  type rehearsalWords,
  retentionDaysMax,
  sessionMsDefault,
  sessionMsMin,
  textsMax,
  tokenLifetimeMsMax,
  tokenLifetimeMsMin,
  type WebhookSettings,
} from "../tenancy/application-settings.ts";
import type { OidcProvider } from "../tenancy/identity-provider.ts";
import type { GivenMailText, MailSettings, MailTextKind } from "../tenancy/mail-settings.ts";

/** An object schema whose members are all optional. */
function optional<Name extends string>(members: Readonly<Record<Name, Properties[string]>>) {
  return Type.Object(
    Object.fromEntries(
      Object.entries<Properties[string]>(members).map(([name, schema]) => [name, Type.Optional(schema)]),
    ),
  );
}

const Provider = named(
  "OidcProvider",
  "An OpenID Connect provider.",
  Type.Object({
    issuer: Type.String({ description: "The claim iss of its id_tokens." }),
    audience: Type.String({ description: "The client id of the application at the provider." }),
    jwksUrl: Type.String({ format: "uri", description: "The URL of its public keys." }),
  } satisfies Record<keyof OidcProvider, unknown>),
);

const days = Type.Integer({ minimum: 1, maximum: retentionDaysMax, default: 90, description: "Days." });
const RetentionMembers = named(
  "Retention",
  "The retention of data.",
  optional<keyof Retention>({ metricsDays: days, crashReportsDays: days }),
);

const quota = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const QuotaMembers = named(
  "Quotas",
  "The quotas; unlimited if a member is absent.",
  optional<keyof Quotas>({
    bytesPerApplication: quota("Bytes of all files."),
    filesPerApplication: quota("Number of all files."),
    bytesPerUser: quota("Bytes of the files of one user."),
    filesPerUser: quota("Number of files of one user."),
  }),
);

const lifetime = { minimum: tokenLifetimeMsMin, maximum: tokenLifetimeMsMax };
const TokenLifetimes = named(
  "TokenLifetimes",
  "The lifetimes of new tokens.",
  optional<keyof NonNullable<ApplicationSettings["tokenLifetimes"]>>({
    deviceMs: Type.Integer({ ...lifetime, description: "Device tokens, in milliseconds." }),
    userMs: Type.Integer({ ...lifetime, description: "User tokens, in milliseconds." }),
    sessionMs: Type.Integer({
      minimum: 0,
      maximum: tokenLifetimeMsMax,
      default: sessionMsDefault,
      description: `The time after the login in which a user token can be renewed, in milliseconds: ${sessionMsMin} or more; 0 disables renewal.`,
    }),
    endOnReuse: Type.Boolean({
      default: false,
      description: "Whether the reuse of a superseded user token revokes its session.",
    }),
  }),
);

const Limit = named(
  "RateLimit",
  "A rate limit.",
  Type.Object({
    perSecond: Type.Number({
      minimum: perSecondMin,
      maximum: callsMax,
      description: "Sustained calls per second.",
    }),
    burst: Type.Optional(
      Type.Integer({ minimum: 1, maximum: callsMax, description: "Simultaneous calls after a pause." }),
    ),
  } satisfies Record<keyof GivenLimit, unknown>),
);

const Limits = named(
  "RateLimits",
  "Rate limits of an application.",
  optional<keyof ApplicationLimits>({
    application: { ...Limit, description: "For all callers together." },
    caller: { ...Limit, description: "For each device." },
    streams: Type.Integer({
      minimum: 0,
      maximum: callsMax,
      description: "Concurrent streams of events in each process.",
    }),
    operations: {
      ...Type.Record(Limit),
      description: "For one operation, such as `POST /checkins`: per device, or per address for sign-ups and logins.",
    },
  }),
);

const MailText = named(
  "MailText",
  "The text of a mail.",
  Type.Object({
    subject: Type.String({ minLength: 1, maxLength: 256, description: "One line." }),
    body: Type.String({ minLength: 1, maxLength: 4_000, description: "Contains the placeholder of its kind." }),
  } satisfies Record<keyof GivenMailText, unknown>),
);

const MailTexts = named(
  "MailTexts",
  "Texts that replace the default ones.",
  optional<MailTextKind>({
    resetCode: { ...MailText, description: "@ResetCode is replaced by the password reset code." },
    verifyCode: { ...MailText, description: "@VerifyCode is replaced by a code that verifies an address." },
    notice: { ...MailText, description: "@Notice is replaced by a notice about the account." },
  }),
);

const MailTemplates = enumeration<NonNullable<MailSettings["templates"]>>("MailTemplates", "Whose texts are mailed.", {
  client: "Harmless texts of clients, too. The default.",
  fixed: "The application's own texts only.",
});

const Mail = named(
  "MailSettings",
  "The mail settings of an application.",
  optional<keyof MailSettings>({
    from: Type.String({ description: "The sender: an address, or a name and an address in angle brackets." }),
    smtpUrl: Type.String({ description: "The mail server, an smtp:// or smtps:// URL. Shown without its password." }),
    templates: MailTemplates,
    linkHosts: {
      ...Type.Array(Type.String()),
      maxItems: 20,
      description: "Hosts that texts of clients may link to, including their subdomains.",
    },
    texts: MailTexts,
    textsByLanguage: {
      ...Type.Record(MailTexts),
      description: "By language, such as `de` or `pt-BR`.",
    },
  }),
);

const Email = named(
  "EmailSettings",
  "Rules for the e-mail addresses of users.",
  optional<keyof EmailSettings>({
    requirePassword: Type.Boolean({ description: "Whether a change of the address requires currentPassword." }),
    changeByCode: Type.Boolean({ description: "Whether only a mailed code changes it." }),
  }),
);

const SignIn = named(
  "SignInSettings",
  "How users sign in.",
  optional<keyof SignInSettings>({
    byEmail: Type.Boolean({ description: "Whether a verified address signs in, too." }),
  }),
);

const Passwords = named(
  "PasswordSettings",
  "The rules of new passwords.",
  optional<keyof PasswordSettings>({
    minLength: Type.Integer({
      minimum: passwordLength.min,
      maximum: passwordLength.max,
      default: passwordLength.min,
      description: "In characters.",
    }),
    refuseBreached: Type.Boolean({
      description: "Whether breached passwords are refused. Needs BREACHED_PASSWORDS_URL.",
    }),
  }),
);

const SignedRequests = enumeration<NonNullable<ApplicationSettings["signedRequests"]>>(
  "SignedRequests",
  "The treatment of unsigned requests to an application with a shared secret.",
  { optional: "They are answered. The default.", required: "They are refused." },
);

const LocationData = enumeration<(typeof locationDataWords)[number]>(
  "LocationData",
  "The version of videos and blobs that others get from users with locationFuzzing.",
  { strip: "The bytes without location data. The default.", refuse: "Nothing.", keep: "The bytes as they are." },
);

const Rehearsal = enumeration<(typeof rehearsalWords)[number]>(
  "Rehearsal",
  "Whether clients may rehearse failures with the header Rollcall-Rehearse, for tests of apps.",
  { off: "Such calls are refused. The default.", on: "They get the requested failure." },
);

const EventRecording = enumeration<(typeof eventRecordingWords)[number]>(
  "EventRecording",
  "When events are recorded.",
  {
    wanted: "While there are readers. The default.",
    always: "Also without readers.",
    never: "Not at all; calls that read events are refused.",
  },
);

const Events = named(
  "EventSettings",
  "The settings of the event log.",
  optional<keyof EventSettings>({
    record: EventRecording,
    retentionDays: Type.Integer({
      minimum: 1,
      maximum: eventRetentionDaysMax,
      default: 7,
      description: "The retention of events.",
    }),
    types: {
      ...Type.Array(Type.String()),
      maxItems: textsMax,
      description: "Types such as checkin.created or checkin.*; all by default.",
    },
  }),
);

const Webhooks = named(
  "WebhookSettings",
  "Settings for all webhooks of an application.",
  optional<keyof WebhookSettings>({
    mail: Type.String({ description: "The address to which mails about disabled webhooks are sent." }),
  }),
);

const texts = Type.String();

/** The settings of an application, in the order of the documentation. */
const settingsMembers = {
  oidc: Type.Optional(Members(Type.Record(Provider), { description: "Providers by identityProviderName." })),
  retention: Type.Optional(Members(RetentionMembers)),
  quotas: Type.Optional(Members(QuotaMembers)),
  tokenLifetimes: Type.Optional(Members(TokenLifetimes)),
  disabledOperations: Type.Optional(
    List(texts, { maxItems: textsMax, description: "Disabled operations, such as `POST /users`." }),
  ),
  origins: Type.Optional(
    List(texts, {
      maxItems: textsMax,
      description:
        "Origins of pages and app shells that may call; any by default. `https://*.example.org`: subdomains.",
    }),
  ),
  signedRequests: Type.Optional(Choice(SignedRequests)),
  limits: Type.Optional(Members(Limits)),
  mail: Type.Optional(Members(Mail)),
  locationData: Type.Optional(Choice(LocationData)),
  debug: Type.Optional(Flag({ description: "Refused social logins name the failed check; false by default." })),
  email: Type.Optional(Members(Email)),
  signIn: Type.Optional(Members(SignIn)),
  passwords: Type.Optional(Members(Passwords)),
  events: Type.Optional(Members(Events)),
  rehearsal: Type.Optional(Choice(Rehearsal)),
  webhooks: Type.Optional(Members(Webhooks)),
} satisfies Record<keyof ApplicationSettings, unknown>;

export const SettingsPath = Type.Object(applicationPathParameters);

/** The settings in a request body. With PATCH, absent members stay, and null unsets a member. */
export const SettingsBody = named(
  "ApplicationSettings",
  "The settings of an application.",
  Type.Object(settingsMembers),
);
/** The same members without secrets, as JSON. */
export const Settings = RawJson(SettingsBody);

export const PutSigningSecret = Type.Object({
  secret: Type.Optional(
    Text({
      minLength: signingSecretCharacters.min,
      maxLength: signingSecretCharacters.max,
      description: "Generated by the server if absent.",
    }),
  ),
});
export const SigningSecret = named(
  "SigningSecret",
  "A shared secret for signed requests.",
  Type.Object({ secret: Type.String({ description: "Shown only once." }) }),
);

/** Reads the settings of a PUT. @throws ApplicationSettingsError naming every problem, including unknown members */
export function readSettings(parameters: Static<typeof SettingsBody>, raw: RawParameters): ApplicationSettings {
  return readApplicationSettings({ ...unknownMembers(raw), ...parameters });
}

/** Returns the settings after a PATCH. @throws ApplicationSettingsError */
export function readChangedSettings(
  current: ApplicationSettings,
  parameters: Static<typeof SettingsBody>,
  raw: RawParameters,
): ApplicationSettings {
  const unchanged = Object.entries(current).filter(([name]) => !isUnset(name, raw));
  return readApplicationSettings({ ...unknownMembers(raw), ...Object.fromEntries(unchanged), ...parameters });
}

/** Returns unknown members, which other operations ignore, so that a misspelled setting is reported. */
function unknownMembers(raw: RawParameters): Record<string, unknown> {
  const names = new Set(Object.keys(settingsMembers).map((name) => name.toLowerCase()));
  return Object.fromEntries([...raw].filter(([name]) => !names.has(name.toLowerCase())));
}

function isUnset(name: string, raw: RawParameters): boolean {
  return [...raw].some(([sent, value]) => value === null && sent.toLowerCase() === name.toLowerCase());
}
