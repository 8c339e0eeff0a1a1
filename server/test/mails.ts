import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { NewApplication } from "../src/applications/applications.store.ts";
import type { TestApp, TestUser } from "./harness.ts";

export interface MailedUser extends TestUser {
  readonly email: string;
}

/** Creates a user with an email address. */
export async function signUpWithMail(
  test: TestApp,
  email?: string,
  application?: NewApplication,
  userName?: string,
): Promise<MailedUser> {
  const user = await test.signUp(userName, application);
  const address = email ?? `${user.id}@example.com`;
  await test.call("PATCH /users/me", { token: user.token, body: { email: address } });
  return { ...user, email: address };
}

const mails = new Map<string, string>();

/** A mail is read once, because it never changes. */
function readMail(file: string): string {
  return mails.getOrInsertComputed(file, () => readFileSync(file, "utf8"));
}

/** Returns the mails that this process has sent to an address, oldest first. */
export function mailsTo(test: TestApp, email: string): string[] {
  return allMails(test).filter((mail) => mail.includes(`\r\nTo: ${email}\r\n`));
}

/** Returns all mails that this process has sent, oldest first. */
export function allMails(test: TestApp): string[] {
  const folder = join(test.config.dataDir, "mail");
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".eml")) : [];
  return names.sort().map((name) => readMail(join(folder, name)));
}

export function requestCode(test: TestApp, user: TestUser, text: { subject?: string; body?: string } = {}) {
  const body = { userName: user.userName, subject: "Your code", body: "It is @ResetCode", ...text };
  return test.call("POST /users/password", { token: user.deviceToken, body });
}

/** Returns the code in a mail. */
export function codeIn(mail: string | undefined): string {
  return /\b[2-9A-HJ-NP-Z]{12}\b/.exec(mail ?? "")?.[0] ?? "";
}

export async function waitUntil(isSo: () => boolean | Promise<boolean>, what = "it"): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen in time`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Starts a real SMTP server that records the mails it receives. */
export async function startSmtp(t: TestContext, options: SMTPServerOptions = {}) {
  const arrived: { to: string; text: string }[] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS", "AUTH"],
    onData: (stream, { envelope }, done) =>
      void text(stream).then((mail) => {
        arrived.push({ to: envelope.rcptTo[0]?.address ?? "", text: mail });
        done();
      }),
    ...options,
  });
  server.on("error", () => {}); // clients may close their connections
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = listener.address() as { port: number }; // a TCP listener has an address object
  return { host: `127.0.0.1:${port}`, url: `smtp://127.0.0.1:${port}`, arrived };
}

export function failWith(code: number): Error {
  return Object.assign(new Error("refused"), { responseCode: code });
}
