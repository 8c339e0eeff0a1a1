import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { findFreePort } from "../../testkit/free-port.ts";
import { everyAnswer } from "../../verify/checks/every-answer.ts";
import { createClient } from "../../verify/client.ts";
import { formatResult } from "../../verify/report.ts";
import { verify } from "../../verify/run.ts";
import type { World } from "../../verify/world.ts";
import { tablesInErasureOrder } from "../src/db/table-catalogue.ts";
import { findComparedApplications } from "./compared-applications.ts";
import { newDevicesByDefault, startTestApp } from "./harness.ts";
import { startOtlpCollector } from "./otlp-collector.ts";

/** Enough for thousands of sequential calls on a busy machine. */
const suiteMsMax = 600_000;

describe("the conformance suite", { timeout: suiteMsMax }, () => {
  let results: Awaited<ReturnType<typeof verify>>;
  /** The statements that the suite caused. */
  const statements = new Set<string>();
  before(
    async () => {
      const collector = await startOtlpCollector(({ attributes }) => {
        statements.add(String(attributes["db.query.text"] ?? ""));
      });
      const receiverPort = await findFreePort();
      const app = await startTestApp({
        ...newDevicesByDefault,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        STREAM_HEARTBEAT_MS: "1000",
        WEBHOOK_NETWORKS: "127.0.0.1/32",
      });
      app.app.webhookRunner.start(app.app);
      const options = {
        url: new URL(app.url),
        application: app.application,
        otherApplication: await app.createApplication("Other"),
        operatorToken: (await app.createOperator()).token,
      };
      const receiver = { url: new URL(`http://127.0.0.1:${receiverPort}/hook`), port: receiverPort };
      results = await verify({ ...options, receiver });
      await app.close(); // sends the last spans
      await collector.close();
    },
    { timeout: suiteMsMax },
  );

  it("passes", () => {
    const failed = results.filter(({ outcome }) => outcome === "failed");
    assert.ok(results.length > 500, `only ${results.length} checks ran`);
    assert.equal(failed.length, 0, `${failed.length} promises are broken:\n${failed.map(formatResult).join("\n")}`);
  });

  it("fails when an item of a batch has an answer that the document does not describe", async () => {
    const app = await startTestApp();
    const client = createClient(new URL(app.url), []);
    const { token } = await app.signUp();
    const requests = ["/users/me", "/events/stream"].map((path) => ({ method: "GET", path })); // a batch refuses the second
    const documents = {
      "GET /_/openapi.json": await client.call("GET /_/openapi.json"),
      "GET /_/openapi.operators.json": await client.call("GET /_/openapi.operators.json"),
    };
    const answer = await client.call("POST /batch", { token, body: { requests } });
    await app.close();
    const [check] = Object.entries(everyAnswer.checks).flatMap(([title, check]) =>
      title.includes("item of a batch") ? check : [],
    );
    const { responses } = answer.body.result;
    const compare = (result: object) => {
      const body = { ...answer.body, result: { responses: [{ ...responses[0], result }, responses[1]] } };
      // The check reads nothing else of the world.
      return check?.({
        answers: [{ ...answer, body }],
        call: async (path: keyof typeof documents) => documents[path],
      } as unknown as World);
    };
    await compare(responses[0].result);
    await assert.rejects(async () => compare({ ...responses[0].result, undescribed: 1 }), /getOwnUser as item 0/);
  });

  it("passes where no internal network is open to webhooks", async () => {
    const app = await startTestApp(newDevicesByDefault);
    const { token: operatorToken } = await app.createOperator();
    const { application } = app;
    const checks = await verify({ url: new URL(app.url), application, operatorToken, only: ["webhooks"] });
    await app.close();
    const failed = checks.filter(({ outcome }) => outcome === "failed");
    assert.deepEqual(failed.map(formatResult), []);
    const refused = checks.filter(({ promise, outcome }) => promise.includes("internal") && outcome === "passed");
    assert.ok(refused.length > 20, `only ${refused.length} internal urls were refused`);
  });

  it("sends no statement that a distributed database would send to every node", () => {
    assert.ok(statements.size > 100, `only ${statements.size} statements were seen`);
    const ofApplications = [...statements].filter((text) => tablesInErasureOrder.some((table) => text.includes(table)));
    assert.deepEqual(
      ofApplications.filter((text) => !/"?application_id"? (=|in)|into|\("application_id"/.test(text)),
      [],
    );
  });

  // Citus finds the node by the parameter; `compared-applications.test.ts` reads the sources of all other statements.
  it("names the application by a parameter in every subquery", () => {
    assert.deepEqual(
      [...statements].filter((text) => findComparedApplications(text).length > 0),
      [],
    );
  });
});
