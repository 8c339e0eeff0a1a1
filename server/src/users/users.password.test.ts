import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { SMTPServer } from "smtp-server";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { digestResetCode, newCode } from "./users.codes.ts";
import { createResetDelays } from "./users.password.delays.ts";
import { userPasswordOperations } from "./users.password.routes.ts";

let test: TestApp;
let deviceToken: string;
before(async () => {
  test = await startTestApp();
  deviceToken = await test.registerDevice();
});
after(() => test.close());

const hourMs = 3_600_000;
const mailText = "Your code is @ResetCode, and once more: @ResetCode";
const wrongCode = "resetCode is wrong, used or expired.";
const invented = "222222222222";

function ask(userName: unknown, rest: Record<string, unknown> = {}, app = test, token = deviceToken): Promise<Answer> {
  const body = { userName, subject: "Your password", body: mailText, ...rest };
  return app.call("POST /users/password", { token, body });
}

function reset(userName: string, resetCode: unknown, newPassword: unknown = "new password"): Promise<Answer> {
  return test.call("PATCH /users/password", { token: deviceToken, body: { userName, resetCode, newPassword } });
}

async function logIn(userName: string, password: string): Promise<number> {
  const body = { username: userName, password };
  return (await test.call("POST /users/login", { token: deviceToken, body })).status;
}

async function signUpWithMail(): Promise<TestUser & { email: string }> {
  const user = await test.signUp();
  const email = `${user.id}@example.com`;
  await test.call("PATCH /users/me", { token: user.token, body: { email } });
  return { ...user, email };
}

/** Returns the mails to an address, oldest first. */
function mailsTo(email: string, app = test): string[] {
  const folder = join(app.config.dataDir, "mail");
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".eml")) : [];
  return names
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .filter((mail) => mail.includes(`\r\nTo: ${email}\r\n`));
}

function codeIn(mail = ""): string {
  const [, code = "", again] = /Your code is ([2-9A-Z]{12}), and once more: (\w+)/.exec(mail) ?? [];
  assert.equal(code, again, mail);
  return code;
}

/** Requests a code for this user and reads it from the mail. */
async function codeFor({ userName, email }: { userName: string; email: string }): Promise<string> {
  const before = mailsTo(email).length;
  assertResult(await ask(userName), 200, true);
  // The response comes after a fixed time, regardless of the mail.
  while (mailsTo(email).length === before) await new Promise((resolve) => setTimeout(resolve, 5));
  return codeIn(mailsTo(email).at(-1));
}

function assertWrong(answer: Answer): void {
  assertError(answer, 400, "ParameterOutOfRange", 514, wrongCode);
}

// Every response takes a fifth of a second, so these tests run concurrently.
const concurrently = { concurrency: true };

describe("POST /users/password: spec/users#request-a-reset-code", concurrently, () => {
  it("answers 200 true, and mails the code at every placeholder", async () => {
    const user = await signUpWithMail();
    const code = await codeFor(user);
    const [mail = "", ...more] = mailsTo(user.email);
    assert.equal(more.length, 0);
    assert.match(mail, /\r\nSubject: Your password\r\n/);
    const text = mail.split("\r\n\r\n").slice(1).join("\r\n\r\n");
    assert.equal(
      text,
      [
        `Your code is ${code}, and once more: ${code}`,
        "",
        "--",
        "Test",
        "You get this mail because a code was requested for an account with",
        "this address. If that was not you, ignore it.",
        "",
      ].join("\r\n"),
    );
  });

  it("answers 200 true without a mail for an unknown user, a user without an address and a user of another application", async () => {
    const without = await test.signUp();
    const stranger = await test.signUp("Stranger", await test.createApplication());
    await test.call("PATCH /users/me", { token: stranger.token, body: { email: "stranger@example.com" } });
    const names = ["Nobody", without.userName, "Stranger", "__proto__", "x".repeat(10_000), 4711];
    for (const answer of await Promise.all(names.map((name) => ask(name)))) assertResult(answer, 200, true);
    assert.deepEqual(mailsTo("stranger@example.com"), []);
    const rows = await test.app.database.reads.selectFrom("password_resets").select("user_id").execute();
    assert.ok(!rows.some(({ user_id }) => user_id === without.id || user_id === stranger.id));
  });

  it("finds the name regardless of case and Unicode form, with a device token or a user token", async () => {
    const user = await signUpWithMail();
    await codeFor({ ...user, userName: user.userName.toUpperCase() });
    assertResult(await ask(user.userName, {}, test, user.token), 200, true);
  });

  it("encodes any subject and address, so that neither can inject a header or a recipient (hostile.md 23)", async () => {
    const user = await signUpWithMail();
    const before = mailsTo(user.email).length;
    assertResult(await ask(user.userName, { subject: "Hi\r\nBcc: victim\r\n\r\nBuy!" }), 200, true);
    while (mailsTo(user.email).length === before) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.match(mailsTo(user.email).at(-1) ?? "", /\r\nSubject: Hi Bcc: victim Buy!\r\n/);
    for (const mail of mailsTo(user.email)) assert.doesNotMatch(mail, /^(bcc|buy)/im);

    const list = await test.signUp();
    const email = "a@example.com, b@example.com";
    await test.call("PATCH /users/me", { token: list.token, body: { email } });
    assertResult(await ask(list.userName), 200, true);
    const warned = () => test.logLines.some(({ level, user: id }) => level === 40 && id === list.id);
    while (!warned()) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(mailsTo(email), []);
  });

  it("answers 400 for a body without @ResetCode, and for missing, oversized or non-text parameters", async () => {
    const cases: [sent: Record<string, unknown>, error: string, number: number, message: string][] = [
      [{ body: "no place" }, "ParameterIncorrectFormat", 515, "body must contain @ResetCode."],
      [{ body: "@resetcode" }, "ParameterIncorrectFormat", 515, "body must contain @ResetCode."],
      [
        { body: `@ResetCode${"x".repeat(9_991)}` },
        "ParameterOutOfRange",
        514,
        "body must have at most 10000 characters.",
      ],
      [{ subject: "x".repeat(257) }, "ParameterOutOfRange", 514, "subject must have at most 256 characters."],
      [{ userName: null }, "ParameterMissingRequiredValue", 513, "userName is required."],
      [{ subject: "" }, "ParameterMissingRequiredValue", 513, "subject is required."],
      [{ body: undefined }, "ParameterMissingRequiredValue", 513, "body is required."],
      [{ userName: {} }, "ParameterIncorrectFormat", 515, "userName must be a text."],
      [{ subject: ["x"] }, "ParameterIncorrectFormat", 515, "subject must be a text."],
      [{ body: true }, "ParameterIncorrectFormat", 515, "body must be a text."],
    ];
    for (const [sent, error, number, message] of cases)
      assertError(await ask("Jane", sent), 400, error, number, message);
  });

  it("answers 503 ServiceUnavailable above 64 waiting requests of one application, and still serves other applications", async () => {
    const [declare] = userPasswordOperations;
    assert.ok(declare);
    const route = declare({
      ...({} as Services),
      background: { run() {}, runningCount: 0, async stop() {} }, // disables background work, which is not under test
      database: test.app.database,
      resetDelays: createResetDelays(),
    });
    const parameters = { userName: "Nobody", subject: "Hi", body: "@ResetCode" };
    const handle = (applicationId = "app_1") => {
      const caller = { applicationId } as Caller;
      return route.handle({
        caller: caller as never,
        path: {},
        parameters,
        call: {} as Call,
        file: undefined as never,
      });
    };
    const waiting = Array.from({ length: 64 }, () => handle());
    await assert.rejects(
      () => handle(),
      (error) => error instanceof ApiError && error.condition === "ServiceUnavailable",
    );
    assert.equal(await handle("app_2"), true);
    assert.deepEqual(await Promise.all(waiting), Array(64).fill(true));
    assert.equal(await handle(), true);
  });

  it("sends the mail through SMTP_URL, and a shutdown waits until it is sent", async (t) => {
    const arrived: { to: string | undefined; mail: string }[] = [];
    const isStopping = Promise.withResolvers<void>();
    const smtp = new SMTPServer({
      disabledCommands: ["STARTTLS", "AUTH"],
      onData: (stream, { envelope }, done) =>
        void text(stream).then(async (mail) => {
          await isStopping.promise;
          arrived.push({ to: envelope.rcptTo[0]?.address, mail });
          done();
        }),
    });
    const listener = smtp.listen(0, "127.0.0.1");
    await once(listener, "listening");
    t.after(() => new Promise<void>((resolve) => smtp.close(resolve)));
    const { port } = listener.address() as { port: number }; // a TCP listener has an address object
    const app = await startTestApp({
      DATABASE_URL: test.config.databaseUrl,
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: "Help <help@example.org>",
    });
    const user = await signUpWithMail();
    assertResult(await ask(user.userName, {}, app), 200, true);
    const closing = app.app.close(60_000);
    isStopping.resolve();
    await closing;
    await app.close();
    assert.deepEqual(
      arrived.map(({ to }) => to),
      [user.email],
    );
    assert.match(arrived[0]?.mail ?? "", /^From: Help <help@example.org>\r$/m);
    assertResult(await reset(user.userName, codeIn(arrived[0]?.mail)), 200, true);
  });

  it("answers 200 true even when the mail cannot be sent; the log reports the failure without the address", async (t) => {
    const app = await startTestApp({ DATABASE_URL: test.config.databaseUrl, SMTP_URL: "smtp://127.0.0.1:1" });
    t.after(() => app.close());
    const user = await signUpWithMail();
    assertResult(await ask(user.userName, {}, app), 200, true);
    const failed = () => app.logLines.find(({ msg }) => msg === "a mail was not sent; it is tried again");
    while (failed() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.match(JSON.stringify(failed()), /a mail was not sent: ESOCKET/);
    assert.ok(!JSON.stringify(app.logLines).includes(user.email));
  });
});

describe("PATCH /users/password: spec/users#use-a-reset-code", concurrently, () => {
  it("answers 200 true: the new password is right, the old one wrong, and every token of the user is refused", async () => {
    const user = await signUpWithMail();
    const other = await test.signUp();
    const again = { username: user.userName, password: user.password };
    const second = (await test.call("POST /users/login", { token: deviceToken, body: again })).body.result.accessToken;
    assertResult(await reset(user.userName, await codeFor(user), "brand new"), 200, true);
    assert.equal(await logIn(user.userName, user.password), 403);
    assert.equal(await logIn(user.userName, "brand new"), 200);
    for (const token of [user.token, second]) {
      const answer = await test.call("GET /users/me", { token });
      assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
    assert.equal((await test.call("GET /users/me", { token: other.token })).status, 200);
    assert.equal((await test.call("POST /users/login", { token: user.deviceToken, body: again })).status, 403);
  });

  it("accepts the code in any case, with blanks and dashes", async () => {
    const user = await signUpWithMail();
    const code = (await codeFor(user)).toLowerCase();
    const typed = ` ${code.slice(0, 4)}-${code.slice(4, 8)} \u2013 ${code.slice(8)}\n`;
    assertResult(await reset(user.userName.toUpperCase(), typed), 200, true);
  });

  it("accepts a code once: exactly one of many concurrent uses succeeds (hostile.md 8)", async () => {
    const user = await signUpWithMail();
    const code = await codeFor(user);
    const passwords = Array.from({ length: 10 }, (_, n) => `password ${n}`);
    const answers = await Promise.all(passwords.map((password) => reset(user.userName, code, password)));
    const won = answers.findIndex(({ status }) => status === 200);
    for (const [n, answer] of answers.entries()) {
      if (n === won) assertResult(answer, 200, true);
      else assertWrong(answer);
    }
    assert.equal(await logIn(user.userName, passwords[won] ?? ""), 200);
    assertWrong(await reset(user.userName, code));
  });

  it("accepts the code after four wrong attempts, and invalidates it at the fifth", async () => {
    const [patient, hasty] = [await signUpWithMail(), await signUpWithMail()];
    const codes = await Promise.all([codeFor(patient), codeFor(hasty)]);
    await Promise.all(Array.from({ length: 5 }, async () => assertWrong(await reset(hasty.userName, invented))));
    await Promise.all(Array.from({ length: 3 }, async () => assertWrong(await reset(patient.userName, invented))));
    assertWrong(await reset(patient.userName, invented));
    const answers = [await reset(patient.userName, codes[0]), await reset(hasty.userName, codes[1])] as const;
    assertResult(answers[0], 200, true);
    assertWrong(answers[1]);
    assert.equal(await logIn(hasty.userName, hasty.password), 200);
  });

  it("counts concurrent attempts exactly", async () => {
    const user = await signUpWithMail();
    const code = await codeFor(user);
    for (const answer of await Promise.all(Array.from({ length: 4 }, () => reset(user.userName, invented)))) {
      assertWrong(answer);
    }
    const { tries_left } = await test.app.database.reads
      .selectFrom("password_resets")
      .select("tries_left")
      .where("user_id", "=", user.id)
      .executeTakeFirstOrThrow();
    assert.equal(tries_left, 1);
    await Promise.all(Array.from({ length: 20 }, () => reset(user.userName, invented)));
    assertWrong(await reset(user.userName, code));
  });

  it("uses the configured lifetime of a code", async (t) => {
    const app = await startTestApp({ DATABASE_URL: test.config.databaseUrl, RESET_CODE_LIFETIME_MS: "2000" });
    t.after(() => app.close());
    const user = await signUpWithMail();
    assertResult(await ask(user.userName, {}, app), 200, true);
    while (mailsTo(user.email, app).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const { expires_at } = await test.app.database.reads
      .selectFrom("password_resets")
      .select("expires_at")
      .where("user_id", "=", user.id)
      .executeTakeFirstOrThrow();
    assert.equal(expires_at, app.now() + 2_000);
  });

  it("replaces the old code with a new one that has its own attempts", async () => {
    const user = await signUpWithMail();
    const old = await codeFor(user);
    await Promise.all(Array.from({ length: 5 }, () => reset(user.userName, invented)));
    const code = await codeFor(user);
    assertWrong(await reset(user.userName, old));
    assertResult(await reset(user.userName, code), 200, true);
  });

  it("answers a wrong code and a code of another, deleted or unknown user or another application identically", async () => {
    const [user, other, gone] = [await signUpWithMail(), await signUpWithMail(), await signUpWithMail()];
    const [code, goneCode] = await Promise.all([codeFor(other), codeFor(gone)]);
    await test.call("DELETE /users/me", { token: gone.token });
    const stranger = await test.registerDevice(await test.createApplication());
    const elsewhere = { userName: other.userName, resetCode: code, newPassword: "new password" };
    const answers = await Promise.all([
      reset(user.userName, invented),
      reset(user.userName, code),
      reset(gone.userName, goneCode),
      reset("Nobody", code),
      reset("__proto__", code),
      reset(other.userName, "x".repeat(100_000)),
      reset(other.userName, 4711),
      reset(other.userName, " - "),
      test.call("PATCH /users/password", { token: stranger, body: elsewhere }),
    ]);
    for (const answer of answers) assertWrong(answer);
    assertResult(await reset(other.userName, code), 200, true);
  });

  it("sets a first password for a user without one", async () => {
    const user = await signUpWithMail();
    await test.app.database.write(({ queries }) =>
      queries.updateTable("users").set({ password_hash: "" }).where("id", "=", user.id).execute(),
    );
    assert.equal(await logIn(user.userName, user.password), 403);
    assertResult(await reset(user.userName, await codeFor(user)), 200, true);
    assert.equal(await logIn(user.userName, "new password"), 200);
  });

  it("answers 400 for a new password of fewer than 4 characters and missing or non-text parameters; the code stays valid", async () => {
    const user = await signUpWithMail();
    const code = await codeFor(user);
    const short = "newPassword must have at least 4 characters.";
    for (const password of ["", "abc"]) {
      assertError(await reset(user.userName, code, password), 400, "ParameterOutOfRange", 514, short);
    }
    for (const missing of [null, ""]) {
      const answer = await reset(user.userName, missing);
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "resetCode is required.");
    }
    const answer = await reset(user.userName, code, null);
    assertError(answer, 400, "ParameterMissingRequiredValue", 513, "newPassword is required.");
    for (const wrong of [{}, ["x"], true]) {
      const answer = await reset(user.userName, wrong);
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "resetCode must be a text.");
    }
    assertResult(await reset(user.userName, code), 200, true);
  });
});

describe("PATCH /users/password after the code's lifetime", () => {
  it("refuses a code from the exact millisecond of its expiry", async () => {
    const [early, late] = [await signUpWithMail(), await signUpWithMail()];
    const codes = await Promise.all([codeFor(early), codeFor(late)]);
    test.advance(hourMs - 1);
    assertResult(await reset(early.userName, codes[0]), 200, true);
    test.advance(1);
    assertWrong(await reset(late.userName, codes[1]));
    assert.equal(await logIn(late.userName, late.password), 200);
  });
});

describe("secrets of a password reset", () => {
  it("are in no log line: no code, password, address or mail text, and the database holds no code", async (t) => {
    const quiet = test;
    test = await startTestApp({ LOG_LEVEL: "trace" });
    t.after(async () => {
      await test.close();
      test = quiet;
      deviceToken = previous;
    });
    const previous = deviceToken;
    deviceToken = await test.registerDevice();
    const user = await signUpWithMail();
    const code = await codeFor(user);
    assertWrong(await reset(user.userName, invented, "a password to look for"));
    const rows = await test.app.database.reads.selectFrom("password_resets").selectAll().execute();
    assert.equal(rows.length, 1);
    assertResult(await reset(user.userName, code, "a password to look for"), 200, true);
    const seen = JSON.stringify([test.logLines, rows]);
    for (const secret of [code, invented, "a password to look for", user.email, "Your code is"]) {
      assert.ok(!seen.includes(secret), secret);
    }
    assert.ok(test.logLines.some(({ file }) => typeof file === "string" && file.endsWith(".eml")));
  });

  it("are codes of 12 of 32 unambiguous characters, evenly distributed", () => {
    const count = new Map<string, number>();
    const codes = Array.from({ length: 4_000 }, newCode);
    for (const code of codes) {
      assert.match(code, /^[2-9A-HJ-NP-Z]{12}$/);
      for (const character of code) count.set(character, (count.get(character) ?? 0) + 1);
    }
    assert.equal(new Set(codes).size, codes.length);
    assert.equal(count.size, 32);
    for (const times of count.values()) assert.ok(times > 1_200 && times < 1_800, `${times} of about 1,500`);
  });

  it("are stored as digests only", () => {
    assert.match(digestResetCode("ABCDEFGHJKLM"), /^[0-9a-f]{64}$/);
    assert.equal(digestResetCode(" abcd-EFGH jklm"), digestResetCode("ABCDEFGHJKLM"));
    assert.notEqual(digestResetCode("ABCDEFGHJKLN"), digestResetCode("ABCDEFGHJKLM"));
  });
});
