import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestOperator } from "./harness.ts";

/**
 * The examples in docs/spec are correct: each request is sent, and its response is compared with the documented one.
 */

const folder = join(import.meta.dirname, "../../docs/spec");

interface Example {
  readonly request: string;
  readonly response: unknown;
}

/** Returns the examples of a page: an `http` block and the `json` block that follows it. */
function readExamples(page: string): Example[] {
  const text = readFileSync(join(folder, page), "utf8");
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, block = ""]) => ({
    language,
    block,
  }));
  assert.deepEqual(
    [...new Set(blocks.map(({ language }, n) => (n % 2 === 0 ? language === "http" : language === "json")))],
    [...(blocks.length > 0 ? [true] : [])],
  );
  return blocks.flatMap(({ language, block }, n) =>
    language === "http" ? [{ request: block, response: JSON.parse(blocks[n + 1]?.block ?? "") }] : [],
  );
}

/** Compares with wildcards: `…` in a string stands for any text, `<number>` for any number. */
function assertMatches(actual: unknown, expected: unknown, path: string): void {
  if (expected === "<number>") {
    assert.equal(typeof actual, "number", path);
  } else if (typeof expected === "string" && expected.includes("…")) {
    const pattern = expected.split("…").map((part) => part.replaceAll(/[.*+?^$()|[\]{}\\]/g, "\\$&"));
    assert.match(String(actual), new RegExp(`^${pattern.join(".*")}$`), path);
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(typeof actual === "object" && actual !== null, path);
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), path);
    for (const [name, value] of Object.entries(expected)) {
      assertMatches(Object.entries(actual).find(([key]) => key === name)?.[1], value, `${path}.${name}`);
    }
  } else {
    assert.equal(actual, expected, path);
  }
}

describe("docs/spec: examples", () => {
  let test: TestApp;
  let operator: TestOperator;
  before(async () => {
    test = await startTestApp({ STREAM_LIFETIME_MS: "100" });
    operator = await test.createOperator();
  });
  after(() => test.close());

  /** Finds the fingerprint of a crash that the examples of a page have reported. */
  async function findFingerprint(): Promise<string> {
    const path = `/_/api/applications/${test.application.appid}/crashes`;
    const { body } = await test.call(`GET ${path}`, { token: operator.token });
    return body.result.pageResults[0].fingerprint;
  }

  for (const page of readdirSync(folder)) {
    const examples = readExamples(page);
    if (examples.length === 0) continue;

    it(`${page}: ${examples.length} responses are as documented`, async () => {
      let user = await test.signUp();
      let { deviceToken } = user;
      const ids = new Map<string, string>();
      const { appid, appkey } = test.application;
      const settings = { rehearsal: page === "rehearsal.md" ? "on" : null };
      await test.call(`PATCH /_/api/applications/${appid}/settings`, { token: operator.token, body: settings });

      for (const { request, response } of examples) {
        const text = request
          .replaceAll("app_…", appid)
          .replaceAll("rk_…", appkey)
          .replaceAll("<fingerprint>", request.includes("<fingerprint>") ? await findFingerprint() : "")
          .replaceAll("<user token>", user.token)
          .replaceAll("<device token>", deviceToken)
          .replaceAll("<operator token>", operator.token)
          .replaceAll("<operator name>", operator.name)
          .replaceAll("<operator password>", operator.password)
          .replaceAll(/\b([a-z]{3})_…/g, (written, kind) => ids.get(kind) ?? written);
        const [head = "", body = ""] = text.split(/\n\n(.*)/s);
        const [operation = "", ...lines] = head.trimEnd().split("\n");
        const headers = Object.fromEntries(lines.map((line) => /^(.*?): (.*)$/.exec(line)?.slice(1) ?? []));
        const isForm = head.includes("multipart");
        const answer = await test.call(operation, {
          headers: { "Content-Type": "application/json", ...headers },
          ...(body !== "" && { body: isForm ? body.replaceAll("\n", "\r\n") : body }),
        });
        assertMatches(answer.body, response, operation);

        for (const [, id = "", kind = ""] of answer.text.matchAll(/"(([a-z]{3})_[0-9a-z]+)"/g)) ids.set(kind, id);
        if (operation === "POST /devices") deviceToken = answer.body.result.accessToken;
        if (operation === "POST /users/me/logout") user = await test.signUp();
      }
    });
  }
});
