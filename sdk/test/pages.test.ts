import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connect } from "../src/nouns/connect.ts";
import type { Pages } from "../src/pages/pages.ts";
import { refusal, success } from "./answers.ts";

const client = connect({
  url: "https://service.example",
  token: "token",
  fetch: async () => refusal(403, "AuthUserAccountDisabled"),
});

async function stackOf(read: (pages: Pages<unknown>) => Promise<unknown>): Promise<string> {
  const error = await read(searchOfTheApp()).catch((error: unknown) => error);
  assert.ok(error instanceof Error && error.name === "AuthUserAccountDisabled", `${error}`);
  return error.stack ?? "";
}

function searchOfTheApp(): Pages<unknown> {
  return client.checkins.search();
}

async function loop(pages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pages) assert.fail();
}

describe("a page that cannot be read", () => {
  const ways: Readonly<Record<string, (pages: Pages<unknown>) => Promise<unknown>>> = {
    "by await": async (pages) => await pages,
    "by catch": (pages) => pages.catch((error) => Promise.reject(error)),
    "in a loop over items": loop,
    "in a loop over pages": (pages) => loop(pages.pages()),
    "with all others": (pages) => pages.all(),
  };
  for (const [way, read] of Object.entries(ways)) {
    it(`${way} has the frame of the search in the stack of its error`, async () => {
      assert.match(await stackOf(read), /^AuthUserAccountDisabled: searchCheckins: [^\n]*\n(.*\n)*.*searchOfTheApp/);
    });
  }

  it("by next() has the frame of that call", async () => {
    const answers = [success({ pageResults: [], currentToken: "1", nextToken: "2" })];
    const fetch = async () => answers.shift() ?? refusal(403, "AuthUserAccountDisabled");
    const page = await connect({ url: "https://service.example", token: "token", fetch }).checkins.search();
    const nextOfTheApp = () => page.next();
    const error = await nextOfTheApp().catch((error: unknown) => error);
    assert.match((error as Error).stack ?? "", /nextOfTheApp/);
  });
});
