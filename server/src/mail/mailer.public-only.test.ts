// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { describe, it, type TestContext } from "node:test";
import { SMTPServer } from "smtp-server";
import { createLog } from "../config/log.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { createMailer } from "./mailer.ts";

const log = createLog("silent");
const mail = {
  to: "jane@example.com",
  subject: "Hello",
  text: "Text",
  messageId: "<1@example.org>",
  from: { name: "", address: "no-reply@example.org" },
};

/** Starts a real SMTP server on loopback that counts connections, and a mailer whose lookups return these addresses. */
async function start(t: TestContext, settings: { addresses: readonly string[]; outgoingNetworks: readonly string[] }) {
  let connections = 0;
  let mails = 0;
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS", "AUTH"],
    onConnect(_session, accept) {
      connections += 1;
      accept();
    },
    onData(stream, _session, done) {
      stream.resume().on("end", () => {
        mails += 1;
        done();
      });
    },
  });
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = listener.address() as AddressInfo;
  const lookedUp: string[] = [];
  const lookUp = async (name: string) => {
    lookedUp.push(name);
    return settings.addresses;
  };
  const outgoing = createOutgoing(settings, { lookUp });
  const mailer = createMailer({ dataDir: tmpdir() }, { outgoing, clock: { now: Date.now }, log });
  const send = (host: string) => mailer.send(mail, `smtp://${host}:${port}`, true);
  return { send, lookedUp, connections: () => connections, mails: () => mails };
}

// spec/operators#outgoing-urls
describe("mail through a server that an editor has set (hostile.md 44)", () => {
  it("is not sent to a name or an IP literal, in any notation, that leads to an internal address", async (t) => {
    const { send, connections } = await start(t, { addresses: ["127.0.0.1"], outgoingNetworks: [] });
    for (const host of ["mail.example", "localhost", "127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::1]"]) {
      await assert.rejects(send(host), /^MailFailure: a mail was not sent: /, host);
    }
    assert.equal(connections(), 0);
  });

  it("is not sent when one of several addresses is internal", async (t) => {
    const { send, connections } = await start(t, {
      addresses: ["127.0.0.1", "10.0.0.1"],
      outgoingNetworks: ["127.0.0.0/8"],
    });
    await assert.rejects(send("mail.example"));
    assert.equal(connections(), 0);
  });

  it("goes to the checked address, after one lookup per mail", async (t) => {
    const { send, lookedUp, mails } = await start(t, { addresses: ["127.0.0.1"], outgoingNetworks: ["127.0.0.0/8"] });
    await send("mail.example");
    await send("mail.example");
    assert.deepEqual(lookedUp, ["mail.example", "mail.example"]);
    assert.equal(mails(), 2);
  });
});
