// Runs on one engine: the snippets of the console are texts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { compilePrograms } from "./compile-programs.ts";
import { importSources } from "./source-imports.ts";

/** The snippets that the console shows for the client library are compiled, and run against a server. */

const root = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

/** The modules of the console, which is compiled for browsers with separate settings. */
interface Snippets {
  readOperations(document: object): { readonly id: string }[];
  sdkOf(operation: object, filled: { readonly values: object; readonly json: string | undefined }): string;
  programs: { readonly id: string; text(appid: string, appkey: string): string }[];
}

/** The input of an operator for each operation; `json` replaces the fields of the body. */
const calls: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  createUser: { username: "Grace", password: "correct horse", location: "48.2, 16.37", dateOfBirth: "1906-12-09" },
  loginUser: { username: "Grace", password: "correct horse" },
  getOwnUser: {},
  changeUser: { userId: "me", dateOfBirth: "Dec 9, 1906 7:07:21 AM", celebMode: "false" },
  createCheckin: { location: "48.2,16.37", comment: 'a "quoted" \\ text', "Idempotency-Key": "once" },
  searchCheckins: {
    locationRange: "48.2,16.37,1000",
    created: "2015-01-01-/Date(4102444800000)/",
    lastModified: "-2100-01-01T00:00-0100",
    pageSize: "10",
  },
  searchUsers: { dobRange: "1906/12/9-1906-12-10T00:00:00", locationRange: "-1.5,-2-89,17", userName: "Grace" },
  putMetadata: {
    id: "me",
    key: "of day",
    json: '{"value": {"location": "1,2", "a-b": [1, null]}, "location": "-1,2.5"}',
  },
  createMetricEvent: {
    event: "opened",
    values: '{"tiles": 12, "username": "x"}',
    timestamp: "2026-01-02T03:04:05.678",
  },
  createMetricEvents: {
    json: '{"events": [{"key": "closed", "timestamp": "/Date(1767323045678)/"}], "sentAt": 1767323045678}',
  },
  createEventStream: { subscriptions: '[{"types": "checkin.*", "locationRange": "48,16,5"}]', expiresInSeconds: "60" },
  createBlob: { friendlyName: "Greeting", location: "0,0" },
  runBatch: {
    json: '{"mode": "atomic", "requests": [{"method": "POST", "path": "/checkins", "parameters": {"location": "1,2"}}]}',
  },
  getMetadata: { id: "me", key: "of day" },
  changeDevice: { tag: "" },
  addIdentity: { identityProviderName: "c/r m", identityId: "7" },
  findUserOfIdentity: { identityProviderName: "c/r m", identityId: "7" },
  ping: {},
};

let test: TestApp;
let folder: string;
let snippets: Snippets;
let application: TestApp["application"];
before(async () => {
  test = await startTestApp();
  application = await test.createApplication();
  folder = mkdtempSync(path.join(tmpdir(), "rollcall-console-snippets-"));
  Object.assign(globalThis, { document: { baseURI: `${test.url}/_/console/` } }); // the address of the console
  const modules = ["explorer/explorer.operations.ts", "explorer/explorer.sdk.ts", "start/start.programs.ts"];
  snippets = Object.assign(
    {},
    ...(await Promise.all(modules.map((module) => import(path.join(root, "console/src", module))))),
  );
});
after(async () => {
  Reflect.deleteProperty(globalThis, "document");
  rmSync(folder, { recursive: true, force: true });
  await test.close();
});

/** Each call of the explorer, with the client of Start. */
function explorerProgram(): string {
  const operations = snippets.readOperations(JSON.parse(readFileSync(path.join(root, "docs/openapi.json"), "utf8")));
  const written = Object.entries(calls).map(([id, { json, ...values }]) => {
    const operation = operations.find((each) => each.id === id);
    assert.ok(operation !== undefined, id);
    return snippets.sdkOf(operation, { values, json });
  });
  const imported = /^import .*$/gm;
  return [
    ...clientOf("explorer"),
    ...written.flatMap((snippet) => snippet.match(imported) ?? []),
    `const file = new Blob(["hello"]);`,
    "const results: unknown[] = [];",
    ...written.map((snippet) => snippet.replace(imported, "").replace(/await (.*);/s, "results.push(await $1);")),
    "console.log(JSON.stringify(results.map((result) => result ?? null)));",
    "await rollcall.close();",
  ].join("\n");
}

function clientOf(platform: string): string[] {
  const { appid, appkey } = application;
  const options = JSON.stringify({ url: test.url, appid, appkey, device: { platform } });
  return [
    `import { createRollcall, memoryStore } from "@rollcall/sdk";`,
    `const rollcall = createRollcall({ ...${options}, store: memoryStore() });`,
  ];
}

async function runProgram(name: string): Promise<string> {
  const { stdout } = await run(process.execPath, [path.join(folder, name)], { timeout: 300_000 });
  return stdout;
}

describe("the console's snippets for the client library", () => {
  it("compile in an app", async () => {
    const start = snippets.programs.find(({ id }) => id === "client");
    assert.ok(start !== undefined);
    const files = {
      "explorer.ts": explorerProgram(),
      "start.ts": `${start.text(application.appid, application.appkey)}\nawait rollcall.close();`,
    };
    for (const [name, program] of Object.entries(files)) writeFileSync(path.join(folder, name), importSources(program));
    assert.equal(await compilePrograms(folder, Object.keys(files)), "");
  });

  it("make the calls of the explorer", async () => {
    const results = JSON.parse(await runProgram("explorer.ts"));
    const by = (id: string) => results[Object.keys(calls).indexOf(id)];
    assert.equal(by("getOwnUser").userName, "Grace");
    assert.equal(by("changeUser").dateOfBirth, "1906-12-09T07:07:21.000Z");
    const { id, location, comment } = by("createCheckin");
    assert.deepEqual([location, comment], [{ lat: 48.2, lng: 16.37 }, calls["createCheckin"]?.["comment"]]);
    assert.deepEqual(
      by("searchCheckins").pageResults.map((checkin: { readonly id: string }) => checkin.id),
      [id],
    );
    assert.equal(by("createBlob").friendlyName, "Greeting");
    assert.equal(by("getMetadata").value["a-b"][0], 1);
    assert.deepEqual(
      by("runBatch").responses.map(({ status }: { readonly status: number }) => status),
      [201],
    );
    assert.equal(by("findUserOfIdentity"), by("getOwnUser").id);
  });

  it("run the program of Start", async () => {
    await runProgram("start.ts");
    const { token } = await test.createOperator();
    const made = async (noun: string) => {
      const { body } = await test.call(`GET /_/api/applications/${application.appid}/${noun}`, { token });
      return body.result.pageResults;
    };
    const ada = (await made("users")).find(({ userName }: { readonly userName: string }) => userName === "ada");
    const owners = [...(await made("checkins")), ...(await made("blobs"))].map(({ userID }) => userID);
    assert.equal(owners.filter((id) => id === ada.id).length, 3);
  });
});
