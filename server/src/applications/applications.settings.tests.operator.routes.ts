import { requireApplication } from "../auth/operated-application.ts";
import { ApiError } from "../lib/errors.ts";
import { isPlainAddress } from "../lib/mail-addresses.ts";
import { findOutgoing } from "../mail/delivery.ts";
import { MailFailure } from "../mail/mailer.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  MailTestResult,
  ProviderPath,
  ProviderTestResult,
  SendTestMail,
} from "./applications.settings.effective.contract.ts";
import { SettingsPath } from "./applications.settings.operator.contract.ts";
import { findLiveApplication } from "./applications.store.ts";

const hourSeconds = 3_600;

const testMail = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/settings/mail/test",
  operation: "testMailSettings",
  summary: "Send a test mail with the stored settings",
  description: "An application can send five an hour. A failed attempt is not repeated.",
  tag: "Operators",
  caller: "operator",
  pathParameters: SettingsPath,
  parameters: SendTestMail,
  status: 200,
  result: MailTestResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters: { to }, call }, services) {
    const { database, mails } = services;
    await requireApplication(appid, database.reads);
    if (!isPlainAddress(to)) {
      throw new ApiError("ParameterOutOfRange", "to must be a single plain address.", { parameter: "to" });
    }
    const admitted = () => database.write(({ queries }) => mails.admitTest(appid, queries));
    // Outside of the transaction, which must neither stay open while the mail is sent nor roll back its count.
    const isAdmitted = await database.outsideTransaction("a test mail is admitted", admitted, { hasEffect: true });
    if (!isAdmitted) {
      const message = "An application can send five test mails an hour.";
      throw new ApiError("RateLimitExceeded", message, { retryAfterSeconds: hourSeconds });
    }
    return database.outsideTransaction(`a test mail to ${to}`, () => sendTest(appid, to, call.requestId, services), {
      hasEffect: true,
    });
  },
});

async function sendTest(appid: string, to: string, requestId: string, services: Services) {
  const { config, database, mailer } = services;
  const { smtpUrl, isLocked, isPublicOnly, from } = await findOutgoing(appid, config, services);
  if (isLocked) return { problem: "sealed" } as const;
  const { name } = (await findLiveApplication(appid, database.reads)) ?? { name: appid };
  const text = `An operator has sent this mail, to test the mail settings of ${name}.\n`;
  const messageId = `<test-${requestId}@${from.address.split("@").at(-1)}>`;
  try {
    await mailer.send({ to, subject: `${name}: a test mail`, text, messageId, from }, smtpUrl, isPublicOnly);
    return smtpUrl === undefined ? ({ problem: "noServer" } as const) : {};
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    const { problem, smtpCode } = error;
    return { problem, ...(smtpCode !== undefined && { smtpCode }) };
  }
}

const testProvider = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/settings/oidc/{provider}/test",
  operation: "testOidcProvider",
  summary: "Fetch the keys of a configured identity provider",
  description: "Fetches its jwksUrl within ten seconds, without following redirects.",
  tag: "Operators",
  caller: "operator",
  pathParameters: ProviderPath,
  status: 200,
  result: ProviderTestResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, provider: name } }, { database, findOidcProvider, idTokens }) {
    await requireApplication(appid, database.reads);
    const provider = await findOidcProvider(appid, name);
    if (provider === undefined) throw new ApiError("ItemDoesNotExist");
    return database.outsideTransaction(`keys of ${provider.jwksUrl}`, () => idTokens.testKeys(provider), {
      hasEffect: true,
    });
  },
});

/** Tests the servers that the settings of an application name (spec/operators#test-settings). */
export const applicationSettingsTestOperations = [testMail, testProvider];
