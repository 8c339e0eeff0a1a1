import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { updateApplicationDeleted } from "./applications.store.ts";

let test: TestApp;
let token: string;
before(async () => {
  test = await startTestApp();
  token = (await test.createOperator()).token;
});
after(() => test.close());

interface Item {
  readonly id: string;
  readonly name: string;
}

function list(query = "", by = token) {
  return test.call(`GET /_/api/applications${query}`, { token: by });
}

describe("GET /_/api/applications", () => {
  it("200 the live applications, oldest first, whole, without anything secret; deleted ones are gone", async () => {
    const times = [test.now()];
    test.advance(1_000);
    const gone = await test.createApplication("Gone");
    test.advance(1_000);
    const second = await test.createApplication("<b>Sécond</b>");
    times.push(test.now());
    await test.app.database.write(({ queries }) => updateApplicationDeleted(gone.appid, test.now(), queries));

    const answer = await list();
    const { currentToken } = answer.body.result;
    const pageResults = [
      { id: test.application.appid, name: "Test", created: `/Date(${times[0]})/` },
      { id: second.appid, name: "<b>Sécond</b>", created: `/Date(${times[1]})/` },
    ];
    assertResult(answer, 200, { pageResults, currentToken });
  });

  it("is paged in both directions, also among applications of one moment", async () => {
    for (let n = 0; n < 5; n += 1) await test.createApplication(`of one moment ${n}`);
    const all: Item[] = (await list("?pageSize=100")).body.result.pageResults;
    const walked: Item[] = [];
    let answer = await list("?pageSize=2");
    for (;;) {
      const { pageResults, nextToken } = answer.body.result;
      walked.push(...pageResults);
      if (nextToken === undefined) break;
      answer = await list(`?pagingToken=${nextToken}`);
    }
    assert.deepEqual(walked, all);
    const back = await list(`?pagingToken=${answer.body.result.previousToken}`);
    const lastPage = all.length % 2 === 0 ? 2 : 1;
    assert.deepEqual(back.body.result.pageResults, all.slice(-lastPage - 2, -lastPage));
    assert.deepEqual((await list("?pagingToken=3;1")).body.result.pageResults, all.slice(1, 4));
  });

  it("a page token is for the operator who got it", async () => {
    const { nextToken } = (await list("?pageSize=1")).body.result;
    const other = await test.createOperator();
    const refused = await list(`?pagingToken=${nextToken}`, other.token);
    assertError(refused, 400, "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing.");
    assert.equal((await list(`?pagingToken=${nextToken}`)).status, 200);
  });
});
