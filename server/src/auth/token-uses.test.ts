import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { createTokenUses, type TokenUses } from "./token-uses.ts";

/** Needs several statements, the last of which repeats an item. */
const count = 1_203;
const secondMs = 1_000;

interface Session {
  readonly applicationId: string;
  readonly userId: string;
  readonly deviceId: string;
  readonly tokenId: string;
}

describe("the last uses of tokens and devices", () => {
  let test: TestApp;
  /** Another process on the same database. */
  let other: TestApp;
  const sessions: Session[] = [];
  let startedAt: number;

  before(async () => {
    test = await startTestApp();
    other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    startedAt = test.now();
    const small = await test.createApplication("Small");
    const [owner, visitor] = [await test.signUp(), await test.signUp("visitor", small)];
    for (let index = 0; index < count; index += 1) sessions.push(sessionOf(test.application.appid, owner));
    for (let index = 0; index < 3; index += 1) sessions.push(sessionOf(small.appid, visitor));
    await insertSessions();
  });
  after(async () => {
    await other.close();
    await test.close();
  });

  function sessionOf(applicationId: string, { id: userId }: TestUser): Session {
    const [deviceId, tokenId] = [test.app.ids.newId("Device"), test.app.ids.newId("Token")];
    return { applicationId, userId, deviceId, tokenId };
  }

  async function insertSessions(): Promise<void> {
    const times = { created_at: startedAt, last_used_at: startedAt, expires_at: startedAt + 86_400_000 };
    for (let from = 0; from < sessions.length; from += 400) {
      const some = sessions.slice(from, from + 400);
      const devices = some.map(({ applicationId: application_id, deviceId: id }) => ({
        ...{ application_id, id, unique_id: null, platform: "test", token_version: 0 },
        ...{ created_at: startedAt, modified_at: startedAt },
      }));
      const tokens = some.map(
        ({ applicationId: application_id, userId: user_id, deviceId: device_id, tokenId: id }) => ({
          ...{ application_id, user_id, id, device_id, user_version: 0, ...times },
        }),
      );
      await test.app.database.write(async ({ queries }) => {
        await queries.insertInto("devices").values(devices).execute();
        await queries.insertInto("user_tokens").values(tokens).execute();
      });
    }
  }

  function note(uses: TokenUses, session: Session, usedAt: number): void {
    uses.note({ ...session, usedAt });
    uses.noteDevice({ ...session, usedAt });
  }

  /** The stored times of the sessions, in order. */
  async function stored(): Promise<{ readonly device: number | null; readonly token: number }[]> {
    const { reads } = test.app.database;
    const devices = await reads.selectFrom("devices").select(["id", "last_seen_at"]).execute();
    const tokens = await reads.selectFrom("user_tokens").select(["id", "last_used_at"]).execute();
    const seen = new Map(devices.map((row) => [row.id, row.last_seen_at]));
    const used = new Map(tokens.map((row) => [row.id, row.last_used_at]));
    return sessions.map(({ deviceId, tokenId }) => ({
      device: seen.get(deviceId) ?? null,
      token: used.get(tokenId) ?? Number.NaN,
    }));
  }

  function statements(): number {
    return test.app.database.statistics().statements.counts.reduce((sum, each) => sum + each, 0);
  }

  it("are stored for each of thousands, in several applications, with few statements", async () => {
    const uses = createTokenUses(test.app.database);
    for (const [index, session] of sessions.entries()) note(uses, session, startedAt + index);
    const earlier = statements();
    await uses.save();
    assert.ok(statements() - earlier < 50, `${statements() - earlier} statements`);
    const expected = sessions.map((_, index) => ({ device: startedAt + index, token: startedAt + index }));
    assert.deepEqual(await stored(), expected);
  });

  it("do not replace later ones", async () => {
    const times = await stored();
    const uses = createTokenUses(test.app.database);
    for (const [index, session] of sessions.entries()) {
      note(uses, session, startedAt + (index % 2 === 0 ? 0 : 10 * secondMs));
    }
    await uses.save();
    const later = { device: startedAt + 10 * secondMs, token: startedAt + 10 * secondMs };
    assert.deepEqual(await stored(), times.map((each, index) => (index % 2 === 0 ? each : later))); // biome-ignore format: one line
  });

  it("are stored by several processes concurrently without conflicts, whatever the order of their calls", async () => {
    for (let round = 1; round <= 5; round += 1) {
      const at = startedAt + 20 * secondMs * round;
      const orders = [sessions, sessions.toReversed(), sessions.filter((_, index) => index % 3 > 0).toReversed()];
      const saves = orders.map(async (order, index) => {
        const uses = createTokenUses((index === 1 ? other : test).app.database);
        for (const session of order) note(uses, session, at);
        await uses.save();
      });
      await Promise.all(saves);
      assert.deepEqual(await stored(), sessions.map(() => ({ device: at, token: at }))); // biome-ignore format: one line
    }
    for (const { app } of [test, other]) assert.equal(app.database.statistics().reruns, 0);
  });
});
