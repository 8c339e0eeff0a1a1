// Runs on one engine: the mail server is checked without the database.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, afterEach, describe, it, type TestContext } from "node:test";
import { createTestDeployment } from "./deployments.ts";
import { startSmtp, waitUntil } from "./mails.ts";
import { killRunningServers, startProgram } from "./running-server.ts";

/** A start with SMTP_URL checks the mail server in the background. */

afterEach(killRunningServers);

async function startWith(smtpUrl = "") {
  const { settings, remove } = await createTestDeployment();
  after(remove);
  return startProgram({ ...settings, SMTP_URL: smtpUrl });
}

/** Returns the warning of a start; it is logged after `listening`, and the server serves. */
async function warningOf(smtpUrl: string): Promise<string> {
  const server = await startWith(smtpUrl);
  const warning = /"problem":"([^"]*)","msg":"mails cannot be sent for now"/;
  await waitUntil(() => warning.test(server.output()), "the warning");
  const output = server.output();
  assert.ok(output.indexOf('"msg":"listening"') < output.search(warning));
  assert.doesNotMatch(output, /pa55word/);
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/_/health/ready`)).status, 200);
  assert.equal(await server.end("SIGTERM"), 0);
  return warning.exec(output)?.[1] ?? "";
}

describe("a start with a mail server", () => {
  it("that is not running logs a warning with the setting, the target and the cause", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as { port: number };
    closed.close();
    const warning = await warningOf(`smtp://user:pa55word@127.0.0.1:${port}`);
    assert.match(warning, new RegExp(`^SMTP_URL: 127\\.0\\.0\\.1:${port} does not take mails from us \\(ESOCKET`));
  });

  it("that refuses the credentials logs a warning, too", async (t) => {
    const { url } = await startSmtp(t, {
      disabledCommands: ["STARTTLS"],
      onAuth: (_auth, _session, done) => done(new Error("no")),
    });
    const target = new URL(url).host;
    const warning = await warningOf(`smtp://user:pa55word@${target}`);
    assert.match(warning, new RegExp(`^SMTP_URL: ${target} does not take mails from us \\(EAUTH, 535`));
  });

  it("that works logs no warning, and sends no mail", async (t: TestContext) => {
    let checked = 0;
    const { url, arrived } = await startSmtp(t, {
      onClose() {
        checked += 1;
      },
    });
    const server = await startWith(url);
    await waitUntil(() => checked === 1, "the check");
    assert.equal(await server.end("SIGTERM"), 0);
    assert.doesNotMatch(server.output(), /mails cannot be sent/);
    assert.equal(arrived.length, 0);
  });

  it("that accepts connections and stays silent delays neither the start nor the shutdown", async (t) => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    t.after(() => silent.close());
    const { port } = silent.address() as { port: number };
    const stopMs = async (smtpUrl?: string) => {
      const server = await startWith(smtpUrl);
      const begun = performance.now();
      assert.equal(await server.end("SIGTERM"), 0);
      return performance.now() - begun;
    };
    const [withCheck, without] = [await stopMs(`smtp://127.0.0.1:${port}`), await stopMs()];
    assert.ok(withCheck < without + 3_500, `${withCheck} ms, ${without} ms without the check, which takes 5 s`);
  });
});
