// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it, type TestContext } from "node:test";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { createLog } from "../config/log.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { isPlainAddress } from "../lib/mail-addresses.ts";
import { createMailer, type Mail, MailFailure } from "./mailer.ts";

const mail = {
  to: "jane@example.com",
  subject: "Hello",
  text: "First line\nSecond line\n",
  messageId: "<1@example.org>",
  from: { name: "Rollcall, Inc.", address: "no-reply@example.org" },
};

let dataDir: string;
let logText: string[] = [];
before(() => {
  dataDir = mkdtempSync(join(tmpdir(), "rollcall-mail-"));
});
after(() => rmSync(dataDir, { recursive: true, force: true }));

function newMailer(smtpUrl?: string) {
  logText = [];
  const log = createLog("trace", { write: (line) => void logText.push(line) });
  const outgoing = createOutgoing({ outgoingNetworks: [] }, { lookUp: async () => [] });
  const mailer = createMailer({ dataDir }, { outgoing, clock: { now: () => 1_800_000_000_000 }, log });
  return { send: (each: Mail) => mailer.send(each, smtpUrl) };
}

function files(): string[] {
  const folder = join(dataDir, "mail");
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** Returns the one mail that `send` has written. */
async function written(send: () => Promise<void>): Promise<{ name: string; head: string; body: string }> {
  const before = new Set(files());
  await send();
  const [name = "", ...more] = files().filter((each) => !before.has(each));
  assert.equal(more.length, 0);
  const [head = "", body = ""] = readFileSync(join(dataDir, "mail", name), "utf8").split(/\r\n\r\n(.*)/s);
  return { name, head, body };
}

/** Starts a real SMTP server that records its mails. */
async function startSmtp(t: TestContext, options: SMTPServerOptions = {}) {
  const arrived: { to: string[]; text: string }[] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS", "AUTH"],
    onData: (stream, { envelope }, done) =>
      void text(stream).then((bytes) => {
        arrived.push({ to: envelope.rcptTo.map(({ address }) => address), text: bytes });
        done();
      }),
    ...options,
  });
  const listener = server.listen(0, "0.0.0.0");
  await once(listener, "listening");
  t.after(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = listener.address() as { port: number }; // it listens on TCP
  return { url: `smtp://127.0.0.1:${port}`, arrived };
}

describe("mails without SMTP_URL", () => {
  it("are written as files to DATA_DIR/mail, readable by this account only, with names that sort by time", async () => {
    const mailer = newMailer();
    for (let n = 0; n < 20; n++) await mailer.send({ ...mail, subject: `Mail ${n}` });
    const folder = join(dataDir, "mail");
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const subjects = files().map((name) => {
      assert.match(name, /^2027-01-15T08-00-00\.\d{3}Z-[0-9a-f]{12}\.eml$/);
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
      return /^Subject: (.*)\r$/m.exec(readFileSync(join(folder, name), "utf8"))?.[1];
    });
    assert.deepEqual(
      subjects,
      Array.from({ length: 20 }, (_, n) => `Mail ${n}`),
    );
  });

  it("are plain text with a sender, a recipient, a date and a header that marks them as automatic", async () => {
    const { head, body } = await written(() => newMailer().send(mail));
    for (const line of [
      'From: "Rollcall, Inc." <no-reply@example.org>',
      "To: jane@example.com",
      "Subject: Hello",
      "Date: Fri, 15 Jan 2027 08:00:00 +0000",
      "Message-ID: <1@example.org>",
      "Auto-Submitted: auto-generated",
      "Content-Type: text/plain; charset=utf-8",
    ]) {
      assert.ok(head.split("\r\n").includes(line), `${line} in ${head}`);
    }
    assert.equal(body, "First line\r\nSecond line\r\n");
  });

  it("appear in the log only by their file name", async () => {
    const { name } = await written(() => newMailer().send({ ...mail, text: "the secret text" }));
    assert.equal(logText.length, 1);
    const { level, file } = JSON.parse(logText[0] ?? "");
    assert.deepEqual({ level, file }, { level: 30, file: name });
    assert.doesNotMatch(logText.join(""), /jane|Hello|secret/);
  });
});

describe("header injection (hostile.md 23)", () => {
  it("is prevented: any subject becomes one header line", async () => {
    const rest = "Bcc: victim@example.com";
    for (const lineBreak of ["\r\n", "\n", "\r", "\r\n\r\n", "\u0085", "\u2028", "\v", "\f", "\0"]) {
      const { head, body } = await written(() => newMailer().send({ ...mail, subject: `Hello${lineBreak}${rest}` }));
      assert.ok(head.split("\r\n").includes(`Subject: Hello ${rest}`), head);
      assert.doesNotMatch(head, /^bcc/im);
      assert.equal(body, "First line\r\nSecond line\r\n");
    }
  });

  it("is prevented for a subject of any script or length: it is encoded within its header", async () => {
    const { head } = await written(() =>
      newMailer().send({ ...mail, subject: `${"Grüße 👋 ".repeat(30)}\r\nBcc: x@y` }),
    );
    assert.match(head, /^Subject: =\?UTF-8\?/m);
    assert.doesNotMatch(head, /^bcc/im);
    for (const line of head.split("\r\n")) assert.ok(line.length <= 78, line);
  });

  it("is prevented in the text, which cannot end the message early either", async () => {
    const { head, body } = await written(() => newMailer().send({ ...mail, text: "Bcc: x@y\r\n\r\n.\r\nQUIT\r\n" }));
    assert.doesNotMatch(head, /^bcc/im);
    assert.equal(body, "Bcc: x@y\r\n\r\n.\r\nQUIT\r\n");
  });
});

// spec/users#request-a-reset-code
describe("the recipient of a mail", () => {
  it("is a single plain address", () => {
    for (const right of ["jane@example.com", "j.a+n'e@localhost", "jäne@bücher.example", "a/b=c@d"]) {
      assert.ok(isPlainAddress(right), right);
    }
    for (const wrong of [
      "",
      "jane",
      "@example.com",
      "jane@",
      "a@b@c",
      "a@b,c@d",
      "a@b;c@d",
      "a@b c@d",
      "Jane <a@b>",
      "<a@b>",
      "a@b\r\nBcc: c@d",
      "a@b\n",
      "a@b\u0000",
      "a@b\u200B",
      "a(comment)@b",
      '"a b"@c',
      "group:a@b",
      "a\\@b",
      " a@b",
      `${"a".repeat(319)}@b`,
    ]) {
      assert.ok(!isPlainAddress(wrong), wrong);
    }
  });
});

describe("mails with SMTP_URL", () => {
  it("go to that server, to the single recipient, and are not written to a file", async (t) => {
    const { url, arrived } = await startSmtp(t);
    const before = files();
    await newMailer(url).send({ ...mail, text: "Dear Jane,\n.\nyours\n" });
    assert.equal(arrived.length, 1);
    assert.deepEqual(arrived[0]?.to, ["jane@example.com"]);
    assert.match(arrived[0]?.text ?? "", /\r\n\r\nDear Jane,\r\n\.\r\nyours\r\n$/);
    assert.deepEqual(files(), before);
    assert.deepEqual(logText, []);
  });

  it("are rejected with codes only when the server refuses them, because its answer contains the address", async (t) => {
    const { url } = await startSmtp(t, {
      onRcptTo: ({ address }, _session, done) =>
        done(Object.assign(new Error(`no such mailbox ${address}`), { responseCode: 550 })),
    });
    await assert.rejects(newMailer(url).send(mail), (error: MailFailure) => {
      assert.ok(error instanceof MailFailure);
      assert.ok(!JSON.stringify({ ...error, message: error.message, cause: error.cause }).includes("jane"));
      assert.equal(error.message, "a mail was not sent: EENVELOPE, 550, RCPT TO");
      assert.deepEqual([error.smtpCode, error.isDead, error.isOfServer], [550, true, false]);
      return true;
    });
  });

  it("are rejected when the server does not answer a connection", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as { port: number }; // it listens on TCP
    closed.close();
    await assert.rejects(
      newMailer(`smtp://127.0.0.1:${port}`).send(mail),
      /^MailFailure: a mail was not sent: ESOCKET/,
    );
  });

  // spec/mail#mail-fairness
  it("require STARTTLS if they use credentials, unless the server is on this machine", async (t) => {
    const seen: string[] = [];
    const { url } = await startSmtp(t, {
      disabledCommands: ["STARTTLS"],
      authOptional: true,
      onAuth: ({ username = "" }, _session, done) => {
        seen.push(username);
        done(null, { user: username });
      },
    });
    const { port } = new URL(url);
    // This address also leads to this machine, but is not a loopback address.
    for (const more of ["", "?requireTLS=false", "?ignoreTLS=true"]) {
      const mailer = newMailer(`smtp://user:secret@0.0.0.0:${port}/${more}`);
      await assert.rejects(mailer.send(mail), /^MailFailure: a mail was not sent: ETLS/, more);
    }
    assert.deepEqual(seen, []);
    await newMailer(`smtp://user:secret@127.0.0.1:${port}`).send(mail);
    assert.deepEqual(seen, ["user"]);
    await newMailer(`smtp://0.0.0.0:${port}`).send(mail); // without credentials
  });
});
