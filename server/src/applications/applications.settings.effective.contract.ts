import type { KeyTest } from "../auth/oidc.ts";
import { applicationPathParameters } from "../auth/operated-application.ts";
import { enumeration, named, Type } from "../contract/schema.ts";
import { Text, WireDate } from "../contract/wire.ts";
import type { MailProblem } from "../mail/mailer.ts";
import { Settings } from "./applications.settings.operator.contract.ts";

const SettingsChange = named(
  "SettingsChange",
  "The last change of a setting.",
  Type.Object({
    at: { ...WireDate, description: "The time of the change." },
    by: Type.String({ description: "The id of the operator, or cli." }),
    name: Type.Optional(Type.String({ description: "The name of the operator at that time." })),
  }),
);

export const EffectiveSettings = named(
  "EffectiveSettings",
  "The effective settings of an application.",
  Type.Object({
    values: { ...Settings, description: "The settings, with defaults for unset ones." },
    defaults: { ...Settings, description: "The defaults, without settings that have none." },
    changed: {
      ...Type.Record(SettingsChange),
      description: "By setting, or signingSecret; absent for settings that were never changed.",
    },
    hasSigningSecret: Type.Boolean({ description: "Whether there is a shared secret for signed requests." }),
  }),
);

export const SendTestMail = Type.Object({ to: Text({ maxLength: 320, description: "The address of the mail." }) });

const MailTestProblem = enumeration<MailProblem | "sealed" | "noServer">("MailTestProblem", "Why no mail was sent.", {
  unreachable: "The server does not answer, or its address is not allowed.",
  encryption: "The server does not offer TLS, or its certificate is wrong.",
  signIn: "The server refuses the name or the password.",
  refused: "The server refuses the sender, the recipient or the text.",
  sealed: "mail.smtpUrl is sealed under another secret; set it again.",
  noServer: "There is no server: the mail is a file in DATA_DIR.",
});

export const MailTestResult = named(
  "MailTestResult",
  "The outcome of a test mail: without a problem, the mail server has accepted it.",
  Type.Object({
    problem: Type.Optional(MailTestProblem),
    smtpCode: Type.Optional(Type.Integer({ description: "The status code of the mail server." })),
  }),
);

export const ProviderPath = Type.Object({
  ...applicationPathParameters,
  provider: Text({ maxLength: 256, description: "The identityProviderName." }),
});

const ProviderTestProblem = enumeration<NonNullable<KeyTest["problem"]>>(
  "ProviderTestProblem",
  "The reason why the keys could not be fetched.",
  {
    unreachable: "No complete answer of status 200, or a forbidden address.",
    noKeys: "The answer has no public keys.",
  },
);

export const ProviderTestResult = named(
  "ProviderTestResult",
  "The keys of an identity provider.",
  Type.Object({
    keys: Type.Integer({ description: "The number of public keys." }),
    problem: Type.Optional(ProviderTestProblem),
  }),
);
