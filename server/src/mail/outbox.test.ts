import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { codeIn, failWith, mailsTo, requestCode, signUpWithMail, startSmtp, waitUntil } from "../../test/mails.ts";
import { maintain } from "../app/maintenance.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { updateApplicationSettings } from "../tenancy/application-settings.ts";
import type { MailSettings } from "../tenancy/mail-settings.ts";
import { createSettingsSealer } from "../tenancy/sealed-settings.ts";
import { createOutbox } from "./outbox.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

const minuteMs = 60_000;
const hourMs = 3_600_000;
const refused = /wrong, used or expired/;

/** Advances the clocks of both processes. */
function advance(ms: number): void {
  for (const each of [test, other]) each.advance(ms);
}

async function configure({ appid }: NewApplication, mail: MailSettings): Promise<void> {
  await test.app.database.write(async ({ queries }) => {
    const { settings, sealed } = test.app.settingsSealer.seal(appid, { oidc: {}, mail }, null);
    await updateApplicationSettings(appid, settings, queries, { sealed });
  });
}

function reset(user: TestUser, resetCode: string, newPassword = "new password") {
  const body = { userName: user.userName, resetCode, newPassword };
  return test.call("PATCH /users/password", { token: user.deviceToken, body });
}

/** The waiting mails of an application. */
function waitingMails({ appid }: NewApplication) {
  return test.app.database.reads.selectFrom("mail_outbox").selectAll().where("application_id", "=", appid).execute();
}

/** Requests a code, and waits for all background work that follows. */
async function askAndWait(app: TestApp, user: TestUser, text = {}): Promise<void> {
  assertResult(await requestCode(app, user, text), 200, true);
  await waitUntil(() => app.app.background.runningCount === 0, "the end of the work");
}

describe("how many codes are mailed: spec/mail#mail-limits", () => {
  it("one user gets five codes an hour from all processes together, and the newest mailed code stays valid", async () => {
    const user = await signUpWithMail(test);
    const sent = () => mailsTo(test, user.email).length + mailsTo(other, user.email).length;
    for (let n = 0; n < 8; n += 1) {
      await askAndWait(n % 2 === 0 ? test : other, user);
      assert.equal(sent(), Math.min(n + 1, 5));
      advance(2 * minuteMs); // the two clocks differ by some seconds
    }
    const warned = [...test.logLines, ...other.logLines].filter(
      (line) => line["user"] === user.id && line["reason"] !== undefined,
    );
    assert.deepEqual(
      warned.map(({ level, reason }) => [level, reason]),
      Array(3).fill([40, "user"]),
    );
    const [last] = mailsTo(test, user.email).slice(-1); // the fifth
    assertResult(await reset(user, codeIn(last)), 200, true);
    advance(hourMs - 16 * minuteMs - 1);
    await askAndWait(test, user);
    assert.equal(sent(), 5, "the first of the five is younger than an hour");
    advance(1);
    await askAndWait(test, user);
    assert.equal(sent(), 6);
  });

  it("one address gets five codes an hour from concurrent requests, in any spelling and for any user", async () => {
    const spellings = ["Victim@example.com", "victim@example.com", "VICTIM@example.com"];
    const users = await Promise.all(
      Array.from({ length: 12 }, (_, n) => signUpWithMail(test, spellings[n % spellings.length])),
    );
    await Promise.all(users.map((user, n) => askAndWait(n % 2 === 0 ? test : other, user)));
    const sent = [test, other].flatMap((each) => spellings.flatMap((email) => mailsTo(each, email)));
    assert.equal(sent.length, 5);
    const stranger = await test.createApplication();
    const elsewhere = await signUpWithMail(test, "victim@example.com", stranger);
    await askAndWait(test, elsewhere);
    assert.ok(mailsTo(test, "victim@example.com").length > 0, "another application has limits of its own");
    const codes = await test.app.database.reads
      .selectFrom("password_resets")
      .select("user_id")
      .where("application_id", "=", test.application.appid)
      .execute();
    const ids = new Set(users.map(({ id }) => id));
    assert.equal(codes.filter(({ user_id }) => ids.has(user_id)).length, 5, "no code without a mail");
  });

  it("a user gets no code while a valid one is younger than a minute, and that one stays valid", async () => {
    const user = await signUpWithMail(test);
    await askAndWait(test, user);
    advance(minuteMs - 20_000);
    await askAndWait(other, user);
    assert.deepEqual(mailsTo(other, user.email), []);
    const [mail] = mailsTo(test, user.email);
    assertResult(await reset(user, codeIn(mail)), 200, true);
    await askAndWait(test, user); // after its use a new code may be mailed immediately
    assert.equal(mailsTo(test, user.email).length, 2);
    await Promise.all(Array.from({ length: 5 }, () => reset(user, "222222222222")));
    await askAndWait(test, user); // after the expiry of the code a new one may be mailed immediately
    assert.equal(mailsTo(test, user.email).length, 3);
    assertResult(await reset(user, codeIn(mailsTo(test, user.email).at(-1))), 200, true);
  });

  it("after a minute a new code replaces the old one", async () => {
    const user = await signUpWithMail(test);
    await askAndWait(test, user);
    advance(minuteMs);
    await askAndWait(test, user);
    const [first, second] = mailsTo(test, user.email);
    assert.match((await reset(user, codeIn(first))).body.message, refused);
    assertResult(await reset(user, codeIn(second)), 200, true);
  });

  it("the users and addresses of limits are stored as digests, and deleted once expired", async () => {
    const user = await signUpWithMail(test);
    await askAndWait(test, user);
    const stored = await test.app.database.reads.selectFrom("mail_limits").selectAll().execute();
    assert.ok(stored.length > 0);
    assert.ok(!JSON.stringify(stored).includes("usr_") && !JSON.stringify(stored).includes("@"));
    advance(hourMs + 1);
    await maintain(test.app);
    const left = await test.app.database.reads.selectFrom("mail_limits").selectAll().execute();
    assert.equal(left.length, 0);
  });
});

describe("the body of a mail: spec/mail#mail-texts", () => {
  const hostile = [
    "https://evil.example/@ResetCode",
    "evil.example",
    "evil․example",
    "evil。example",
    "ｅｖｉｌ．ｅｘａｍｐｌｅ",
    "www.ev\u200Bil.exa\u00ADmple",
    "www.evil.\u2060example",
    "tel:+123456",
    "mailto:evil@host",
    "evil@localhost",
    "http://127.0.0.1/",
    "call 10.0.0.1 now",
    "http://[::1]/",
    "see ::1",
    "evil.@ResetCodeexample",
    "<a href='//evil.example'>x</a>",
    "https://good.example@evil.example",
    "https://good.example:80@evil",
    "https://good.example.evil.com",
    "https://notgood.example",
    "good.example?u=evil.com",
    "good.example://evil",
    "javascript://good.example/%0aalert(1)",
    "=?utf-8?B?aHR0cHM6Ly9ldmlsLmV4YW1wbGU=?=",
    "x".repeat(2_001),
  ];

  it("a client's text that could be abused is replaced by the application's own, with the code", async () => {
    const application = await test.createApplication("Größe & Co");
    await configure(application, { linkHosts: ["good.example"] });
    // Each answer is delayed, so the users ask concurrently.
    const askAs = async (text: string, n: number) => {
      const user = await signUpWithMail(test, undefined, application, `hostile ${n}`);
      const given = n % 2 === 0 || text.length > 256 ? { body: `@ResetCode ${text}` } : { subject: text };
      await askAndWait(test, user, given);
      const [mail = "", ...more] = mailsTo(test, user.email);
      assert.equal(more.length, 0);
      assert.ok(!mail.includes(text.slice(0, 60)) && !/evil/i.test(mail), `${text}: ${mail}`);
      assert.match(mail, /^Subject: =\?UTF-8\?.*your_code/m, text);
      assertResult(await reset(user, codeIn(mail)), 200, true);
    };
    await Promise.all(hostile.map(askAs));
    const replaced = test.logLines.filter(({ application: id, reason }) => id === application.appid && reason);
    assert.equal(replaced.length, hostile.length);
  });

  it("a client's harmless text is sent, with links to the application's own hosts", async () => {
    const application = await test.createApplication();
    await configure(application, { linkHosts: ["Good.example"] });
    const harmless = [
      "Ihr Code lautet @ResetCode. z.B. um 10:30:45 Uhr, 3.5 mal",
      "https://good.example/reset.html, help@app.good.example. @ResetCode",
      "mailto:help@good.example @ResetCode",
      "good.example:8080/a.b/c @ResetCode",
      "Code:@ResetCode.",
    ];
    const askAs = async (body: string, n: number) => {
      const user = await signUpWithMail(test, undefined, application, `harmless ${n}`);
      await askAndWait(test, user, { body });
      const [mail = ""] = mailsTo(test, user.email);
      assert.ok(mail.includes(body.replace("@ResetCode", codeIn(mail))), `${body}: ${mail}`);
      assert.match(mail, /\r\n--\r\nTest\r\nYou get this mail because a code was requested/);
    };
    await Promise.all(harmless.map(askAs));
  });

  it("a subject of 101 characters is not sent, one of 100 is", async () => {
    const [long, short] = [await signUpWithMail(test), await signUpWithMail(test)];
    await askAndWait(test, long, { subject: `${"y".repeat(101)}` });
    await askAndWait(test, short, { subject: `${"y".repeat(100)}` });
    assert.doesNotMatch(mailsTo(test, long.email)[0] ?? "", /yyy/);
    assert.match(mailsTo(test, short.email)[0] ?? "", /y{50}/);
  });

  it("a hundred mails an hour have clients' texts; the 101st has the application's own", async () => {
    const application = await test.createApplication();
    const users: TestUser[] = [];
    for (let n = 0; n < 101; n += 1) {
      users.push(await signUpWithMail(test, undefined, application, `many ${n}`));
    }
    for (let from = 0; from < 100; from += 50) {
      await Promise.all(
        users.slice(from, from + 50).map((user) => askAndWait(test, user, { body: "ours @ResetCode" })),
      );
    }
    const [last] = users.slice(-1);
    assert.ok(last);
    const texts = () => users.map(({ id }) => mailsTo(test, `${id}@example.com`)[0] ?? "");
    await askAndWait(test, last, { body: "ours @ResetCode" });
    assert.equal(texts().filter((mail) => mail.includes("ours ")).length, 100);
    assert.doesNotMatch(texts().at(-1) ?? "", /ours /);
    assertResult(await reset(last, codeIn(texts().at(-1))), 200, true);
  });

  it("fixed templates always send the application's own text; a client's is validated and ignored", async () => {
    const application = await test.createApplication();
    const resetCode = { subject: "Neues Passwort", body: "Der Code: @ResetCode https://any.example" };
    await configure(application, { templates: "fixed", texts: { resetCode } });
    const user = await signUpWithMail(test, undefined, application);
    assertError(
      await requestCode(test, user, { body: "no place" }),
      400,
      "ParameterIncorrectFormat",
      515,
      "body must contain @ResetCode.",
    );
    await askAndWait(test, user);
    const [mail = ""] = mailsTo(test, user.email);
    assert.match(mail, /\r\nSubject: Neues Passwort\r\n/);
    assert.ok(mail.trimEnd().endsWith(`\r\n\r\nDer Code: ${codeIn(mail)} https://any.example`), mail);
  });
});

describe("the delivery of mails: spec/mail#mail-delivery", () => {
  it("a mail whose server is sealed under a lost secret waits, logs why, and is sent once the server is set again", async (t) => {
    const smtp = await startSmtp(t);
    const application = await test.createApplication();
    const calm = await test.createApplication();
    const lost = createSettingsSealer(["a secret that is lost, of another server"]);
    const { settings, sealed } = lost.seal(application.appid, { oidc: {}, mail: { smtpUrl: smtp.url } }, null);
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(application.appid, settings, queries, { sealed }),
    );
    const [user, other] = [
      await signUpWithMail(test, undefined, application),
      await signUpWithMail(test, undefined, calm),
    ];
    await askAndWait(test, user);
    const line = test.logLines.find(({ application: id, reason }) => id === application.appid && reason !== undefined);
    assert.match(String(line?.["reason"]), /mail\.smtpUrl is sealed under another secret, set it again/);
    assert.deepEqual([(await waitingMails(application)).length, mailsTo(test, user.email), smtp.arrived], [1, [], []]);
    await askAndWait(test, other);
    assert.equal(mailsTo(test, other.email).length, 1, "other applications send");

    await configure(application, { smtpUrl: smtp.url });
    advance(minuteMs);
    await test.app.delivery.addDue();
    await waitUntil(async () => (await waitingMails(application)).length === 0);
    assert.equal(smtp.arrived.length, 1);
  });

  it("a row is sealed, bound to its id, and deleted when the server has accepted the mail", async (t) => {
    const gate = Promise.withResolvers<void>();
    const smtp = await startSmtp(t, { onMailFrom: (_address, _session, done) => void gate.promise.then(() => done()) });
    const application = await test.createApplication();
    await configure(application, { smtpUrl: smtp.url });
    const user = await signUpWithMail(test, undefined, application);
    assertResult(await requestCode(test, user, { body: "sealed words @ResetCode" }), 200, true);
    await waitUntil(async () => (await waitingMails(application)).length === 1);
    const [row] = await waitingMails(application);
    assert.ok(!JSON.stringify(row).includes("sealed words") && !JSON.stringify(row).includes(user.email));
    gate.resolve();
    await waitUntil(async () => (await waitingMails(application)).length === 0);
    assert.deepEqual(
      smtp.arrived.map(({ to }) => to),
      [user.email],
    );
  });

  it("a mail whose process died after the commit is sent once, by another process", async () => {
    const application = await test.createApplication();
    const user = await signUpWithMail(test, undefined, application);
    const dead = createOutbox(test.config, {
      delivery: { send: async () => {} }, // simulates a process killed here
      secrets: test.config.secrets ?? [],
      clock: test.app.clock,
      ids: test.app.ids,
      log: test.app.log,
    });
    const { appid: applicationId } = application;
    const mail = {
      applicationId,
      userId: user.id,
      to: user.email,
      notice: "addressChanged",
      isEstablished: true,
    } as const;
    await test.app.database.write(({ queries }) => dead.putNotice(mail, queries));
    await Promise.all([test, other].map((each) => each.app.delivery.addDue()));
    assert.equal((await waitingMails(application)).length, 1, "the process that wrote it has a head start");
    advance(5_000);
    await Promise.all([test, other].map((each) => each.app.delivery.addDue()));
    await waitUntil(async () => (await waitingMails(application)).length === 0);
    assert.equal([test, other].flatMap((each) => mailsTo(each, user.email)).length, 1);
  });

  it("a mail that the server defers is retried with one Message-ID; a permanently refused one is not", async (t) => {
    const answers = [451, 421, 0];
    const ids: string[] = [];
    const smtp = await startSmtp(t, {
      onRcptTo: ({ address }, _session, done) => {
        if (address.startsWith("gone")) return done(failWith(550));
        const code = answers.shift();
        return done(code === 0 ? null : failWith(code ?? 451));
      },
    });
    const application = await test.createApplication();
    await configure(application, { smtpUrl: smtp.url });
    const user = await signUpWithMail(test, undefined, application);
    const gone = await signUpWithMail(test, "gone@example.com", application);
    await askAndWait(test, gone);
    assert.equal((await waitingMails(application)).length, 0);
    const line = test.logLines.find(({ user: id, smtp_code }) => id === gone.id && smtp_code === 550);
    assert.equal(line?.["level"], 40);
    assert.ok(!JSON.stringify(test.logLines).includes("gone@example.com"));

    await askAndWait(test, user);
    for (const ms of [7_000, 5_000, 47_000, 25_000]) {
      await test.app.delivery.addDue();
      await waitUntil(() => test.app.background.runningCount === 0);
      ids.push(String((await waitingMails(application)).map(({ attempts }) => attempts)));
      advance(ms);
    }
    assert.deepEqual(ids, ["1", "1", "2", "2"], "after 10 seconds, then after a minute, a fifth more or less");
    await test.app.delivery.addDue();
    await waitUntil(async () => (await waitingMails(application)).length === 0);
    assert.equal(smtp.arrived.length, 1);
    assert.match(smtp.arrived[0]?.text ?? "", /^Message-ID: <mal_[0-9a-z]+@localhost>\r$/m);
  });

  it("a mail whose code has expired is dropped", async (t) => {
    const smtp = await startSmtp(t, { onRcptTo: (_address, _session, done) => done(failWith(451)) });
    const application = await test.createApplication();
    await configure(application, { smtpUrl: smtp.url });
    const user = await signUpWithMail(test, undefined, application);
    await askAndWait(test, user);
    assert.equal((await waitingMails(application)).length, 1);
    advance(hourMs);
    await test.app.delivery.addDue();
    await waitUntil(async () => (await waitingMails(application)).length === 0);
  });

  // spec/mail#mail-fairness
  it("a server that fails five times in a row is not tried for ten seconds, then for twenty", async (t) => {
    let connections = 0;
    const smtp = await startSmtp(t, {
      onConnect: (_session, done) => {
        connections += 1;
        done(failWith(421));
      },
    });
    const application = await test.createApplication();
    await configure(application, { smtpUrl: smtp.url });
    for (let n = 0; n < 8; n += 1) {
      await askAndWait(test, await signUpWithMail(test, undefined, application, `left alone ${n}`));
    }
    assert.equal(connections, 5);
    const tryAgain = async (ms: number) => {
      advance(ms);
      await test.app.delivery.addDue();
      await waitUntil(() => test.app.background.runningCount === 0);
      return connections;
    };
    assert.equal(await tryAgain(9_999), 5);
    const afterTen = await tryAgain(1);
    assert.ok(afterTen > 5 && afterTen <= 9, `${afterTen} connections`);
    assert.equal(await tryAgain(19_999), afterTen);
    assert.ok((await tryAgain(1)) > afterTen);
  });

  // spec/mail#mail-fairness
  it("a slow server of one application delays no other: each has at most four concurrent mails (hostile.md 37)", async (t) => {
    const held: (() => void)[] = [];
    const tarpit = await startSmtp(t, { onMailFrom: (_address, _session, done) => void held.push(() => done()) });
    const quick = await startSmtp(t);
    const [slow, calm] = [await test.createApplication(), await test.createApplication()];
    await configure(slow, { smtpUrl: tarpit.url });
    await configure(calm, { smtpUrl: quick.url });
    const users: TestUser[] = [];
    for (let n = 0; n < 40; n += 1) users.push(await signUpWithMail(test, undefined, slow, `slow ${n}`));
    await Promise.all(users.map((user) => requestCode(test, user)));
    await waitUntil(() => held.length === 4);
    const user = await signUpWithMail(test, undefined, calm);
    assertResult(await requestCode(test, user), 200, true);
    await waitUntil(() => quick.arrived.length === 1);
    assert.equal(held.length, 4);
    let arrived = 0;
    while (tarpit.arrived.length < users.length) {
      for (const goOn of held.splice(0)) goOn();
      arrived = Math.max(arrived, held.length);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await waitUntil(async () => (await waitingMails(slow)).length === 0);
    assert.equal(new Set(tarpit.arrived.map(({ to }) => to)).size, users.length);
  });

  it("a server gets at most sixteen concurrent mails; no application waits for all mails of another", async (t) => {
    const held: (() => void)[] = [];
    const smtp = await startSmtp(t, { onMailFrom: (_address, _session, done) => void held.push(() => done()) });
    const applications: NewApplication[] = [];
    const users: TestUser[] = [];
    for (let n = 0; n < 5; n += 1) {
      const application = await test.createApplication();
      applications.push(application);
      await configure(application, { smtpUrl: smtp.url });
      for (let u = 0; u < 5; u += 1) users.push(await signUpWithMail(test, undefined, application, `shared ${u}`));
    }
    await Promise.all(users.map((user) => requestCode(test, user)));
    await waitUntil(() => held.length === 16);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(held.length, 16);
    while (smtp.arrived.length < users.length) {
      for (const goOn of held.splice(0)) goOn();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const application of applications) {
      await waitUntil(async () => (await waitingMails(application)).length === 0);
    }
  });
});
