import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestOperator,
} from "../../test/harness.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
let owner: TestOperator;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});
beforeEach(async () => {
  owner = await test.createOperator();
});

function call(operation: string, body?: object, { token } = owner, app = test): Promise<Answer> {
  return app.call(operation, { token, ...(body && { body }) });
}

function signIn(name: string, password: string): Promise<Answer> {
  return test.call("POST /_/api/sessions", { body: { name, password } });
}

/** Returns the representation of an operator that has not signed in yet. */
function shown({ id, name, role }: Pick<TestOperator, "id" | "name" | "role">) {
  return { id, name, role, isPasswordSet: true, created: `/Date(${test.now()})/` };
}

async function ownerIds(): Promise<string[]> {
  const { reads } = test.app.database;
  return (await reads.selectFrom("operators").select("id").where("role", "=", "owner").execute()).map(({ id }) => id);
}

/** Replaces all owners with these. */
async function makeOwners(count: number): Promise<TestOperator[]> {
  const owners = await Promise.all(Array.from({ length: count }, () => test.createOperator()));
  const ids = owners.map(({ id }) => id);
  await test.app.database.write(({ queries }) =>
    queries.updateTable("operators").set({ role: "viewer" }).where("id", "not in", ids).execute(),
  );
  return owners;
}

const lastOwner = "The last owner cannot be deleted or given another role.";

// spec/operators#operator-names-and-passwords
describe("POST /_/api/operators", () => {
  it("answers 201 with the operator and a generated password, shown only once, that signs in", async () => {
    const answer = await call("POST /_/api/operators", { name: "Grace", role: "EDITOR" });
    const { id, password } = answer.body.result;
    assertResult(answer, 201, { ...shown({ id, name: "Grace", role: "editor" }), password });
    assert.match(id, /^opr_[0-9a-z]{26}$/);
    assert.match(password, /^[\w-]{20}$/);
    assert.equal((await signIn("Grace", password)).body.result.operator.role, "editor");
    assertResult(await call(`GET /_/api/operators/${id}`), 200, {
      ...shown({ id, name: "Grace", role: "editor" }),
      lastLogin: `/Date(${test.now()})/`,
    });
  });

  it("returns no password when the request has one", async () => {
    const answer = await call("POST /_/api/operators", { name: "Joan", role: "viewer", password: "a good long one" });
    const { id } = answer.body.result;
    assertResult(answer, 201, shown({ id, name: "Joan", role: "viewer" }));
    assert.equal((await signIn("Joan", "a good long one")).status, 201);
  });

  it("ignores fields that only the server sets (hostile.md 9)", async () => {
    const forged = { id: owner.id, created: 0, lastLogin: 0, isPasswordSet: false, password_hash: "x", sessionId: "x" };
    const answer = await call("POST /_/api/operators", { name: "Forger", role: "viewer", ...forged });
    const { id, password } = answer.body.result;
    assert.notEqual(id, owner.id);
    assertResult(answer, 201, { ...shown({ id, name: "Forger", role: "viewer" }), password });
    const changed = await call(`PATCH /_/api/operators/${id}`, forged);
    assertResult(changed, 200, shown({ id, name: "Forger", role: "viewer" }));
    assert.equal((await signIn("Forger", password)).status, 201);
  });

  it("accepts names that are special in JavaScript as ordinary names (hostile.md 15)", async () => {
    for (const name of ["__proto__", "constructor", "toString", "me"]) {
      const { status, body } = await call("POST /_/api/operators", { name, role: "viewer" });
      assert.deepEqual([status, body.result.name], [201, name]);
      assert.equal((await signIn(name, body.result.password)).status, 201);
    }
  });

  it("answers 400 for an invalid name, role or password, and creates nothing", async () => {
    const count = async () => (await test.app.database.reads.selectFrom("operators").selectAll().execute()).length;
    const before = await count();
    const wrong: [body: object, error: string][] = [
      [{ role: "viewer" }, "ParameterMissingRequiredValue"],
      [{ name: "a" }, "ParameterMissingRequiredValue"],
      [{ name: " \t ", role: "viewer" }, "ParameterOutOfRange"],
      [{ name: "😀".repeat(257), role: "viewer" }, "ParameterOutOfRange"],
      [{ name: "a\nb", role: "viewer" }, "ParameterOutOfRange"],
      [{ name: "a\u2028b", role: "viewer" }, "ParameterOutOfRange"],
      [{ name: "a", role: "admin" }, "ParameterIncorrectFormat"],
      [{ name: "a", role: 2 }, "ParameterIncorrectFormat"],
      [{ name: "a", role: "viewer", password: "eleven char" }, "ParameterOutOfRange"],
      [{ name: "a", role: "viewer", password: "" }, "ParameterOutOfRange"],
      [{ name: "a", role: "viewer", password: "x".repeat(1_025) }, "ParameterOutOfRange"],
      [{ name: owner.name, role: "viewer" }, "ItemAlreadyExists"],
      [{ name: ` ${owner.name}`, role: "viewer" }, "ItemAlreadyExists"],
    ];
    for (const [body, error] of wrong) {
      const answer = await call("POST /_/api/operators", body);
      assert.deepEqual([answer.status, answer.body.error], [400, error], JSON.stringify(body));
    }
    assert.equal(await count(), before);
  });

  it("succeeds for only one of twenty concurrent requests with one name (hostile.md 4)", async () => {
    const body = { name: "Twin", role: "viewer", password: "a good long one" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => call("POST /_/api/operators", body, owner, n % 2 === 0 ? test : other)),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    for (const { status, body } of answers) if (status !== 201) assert.equal(body.error, "ItemAlreadyExists");
  });
});

describe("GET /_/api/operators", () => {
  it("pages through all of them, oldest first, without passwords", async () => {
    const names: string[] = [];
    for (let query = "?pageSize=3"; query !== ""; ) {
      const { text, body } = await call(`GET /_/api/operators${query}`);
      assert.doesNotMatch(text, /argon2|password"/);
      names.push(...body.result.pageResults.map(({ name }: { name: string }) => name));
      query = body.result.nextToken === undefined ? "" : `?pagingToken=${body.result.nextToken}`;
    }
    const rows = await test.app.database.reads.selectFrom("operators").select("name").orderBy("id").execute();
    assert.deepEqual(
      names,
      rows.map(({ name }) => name),
    );
  });

  it("accepts a page token only from the operator to whom it was issued", async () => {
    const { nextToken } = (await call("GET /_/api/operators?pageSize=1")).body.result;
    const path = `GET /_/api/operators?pagingToken=${nextToken}`;
    assert.equal((await call(path)).status, 200);
    const answer = await call(path, undefined, await test.createOperator());
    assertError(answer, 400, "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing.");
  });

  // spec/operators#operator-roles
  it("lists the operators for every role; only owners change them", async () => {
    const [viewer, known] = [await test.createOperator(undefined, "viewer"), await test.createOperator()];
    const page = await call("GET /_/api/operators?pageSize=1000", undefined, viewer);
    assert.ok(page.body.result.pageResults.some(({ id }: { id: string }) => id === known.id));
    assertResult(await call(`GET /_/api/operators/${known.id}`, undefined, viewer), 200, shown(known));
    for (const operation of [`PATCH /_/api/operators/${known.id}`, `DELETE /_/api/operators/${known.id}`]) {
      assert.equal((await call(operation, { name: "Taken over" }, viewer)).status, 403);
    }
  });

  // spec/operators#access-of-operators
  it("counts the valid sessions with include=access: all of them for an owner, the own ones for others", async () => {
    const [grace, vera] = [await test.createOperator(), await test.createOperator(undefined, "viewer")];
    const sessionsOf = async (caller: TestOperator) => {
      const { body } = await call("GET /_/api/operators?include=access&pageSize=1000", undefined, caller);
      const listed: { id: string; sessions?: number }[] = body.result.pageResults;
      return [grace, vera].map(({ id }) => listed.find((each) => each.id === id)?.sessions);
    };
    assert.deepEqual(await sessionsOf(owner), [1, 1]);
    await signIn(grace.name, grace.password);
    assert.deepEqual(await sessionsOf(owner), [2, 1]);
    assert.deepEqual(await sessionsOf(vera), [undefined, 1]);
    await call("DELETE /_/api/sessions", undefined, grace);
    assert.deepEqual(await sessionsOf(owner), [1, 1]);
    test.advance(test.config.operatorIdleMs);
    assert.deepEqual(await sessionsOf(await test.createOperator()), [0, 0]);
    const { body } = await call("GET /_/api/operators", undefined, await test.createOperator());
    for (const listed of body.result.pageResults) assert.ok(!("sessions" in listed) && !("isLastOwner" in listed));
  });

  // spec/operators#access-of-operators
  it("marks the last owner with include=access, and no owner while there are two", async () => {
    const [first, second] = await makeOwners(2);
    const marked = async () => {
      const { body } = await call("GET /_/api/operators?include=access&pageSize=1000", undefined, first);
      const listed: { id: string; isLastOwner?: true }[] = body.result.pageResults;
      return listed.filter(({ isLastOwner }) => isLastOwner).map(({ id }) => id);
    };
    assert.deepEqual(await marked(), []);
    await call(`DELETE /_/api/operators/${second?.id}`, undefined, first);
    assert.deepEqual(await marked(), [first?.id]);
  });

  it("returns the caller as me, for every role", async () => {
    for (const role of ["viewer", "editor", "owner"] as const) {
      const operator = await test.createOperator(undefined, role);
      assertResult(await call("GET /_/api/operators/me", undefined, operator), 200, shown(operator));
    }
  });
});

describe("PATCH /_/api/operators/{operatorId}", () => {
  it("changes name and role, which apply from the next request in every process", async () => {
    const operator = await test.createOperator(undefined, "viewer");
    const create = (app: TestApp) =>
      call("POST /_/api/operators", { name: `by ${app.port}`, role: "viewer" }, operator, app);
    for (const app of [test, other]) assert.equal((await create(app)).status, 403);
    const answer = await call(`PATCH /_/api/operators/${operator.id}`, { name: "Renamed", role: "owner" });
    assertResult(answer, 200, shown({ id: operator.id, name: "Renamed", role: "owner" }));
    for (const app of [test, other]) assert.equal((await create(app)).status, 201);
    await call(`PATCH /_/api/operators/${operator.id}`, { role: "viewer" });
    for (const app of [other, test]) assert.equal((await create(app)).status, 403);
    assert.equal((await signIn("Renamed", operator.password)).status, 201);
    assert.equal((await signIn(operator.name, operator.password)).status, 401);
  });

  it("revokes the operator's sessions with a new password, except the caller's own", async () => {
    const operator = await test.createOperator();
    const password = "an entirely new one";
    assert.equal((await call(`PATCH /_/api/operators/${operator.id}`, { password })).status, 200);
    for (const app of [test, other]) {
      const answer = await call("GET /_/api/operators/me", undefined, operator, app);
      assertError(answer, 401, "AuthFailed", 256, "An operator token is required.");
    }
    assert.equal((await signIn(operator.name, password)).status, 201);
    assert.equal((await call(`PATCH /_/api/operators/${owner.id}`, { password })).status, 200);
    assert.equal((await call("GET /_/api/operators/me")).status, 200);
  });

  it("answers 400 ItemAlreadyExists for the name of another operator, and accepts the own name without a change", async () => {
    const operator = await test.createOperator();
    const taken = await call(`PATCH /_/api/operators/${operator.id}`, { name: owner.name });
    const message = "The value is already in use. Choose a unique one.";
    assertError(taken, 400, "ItemAlreadyExists", 770, message);
    assert.equal((await call(`PATCH /_/api/operators/${operator.id}`, { name: operator.name })).status, 200);
  });

  it("succeeds for only one of a rename and a concurrent creation with one name", async () => {
    const operator = await test.createOperator();
    for (let round = 0; round < 20; round += 1) {
      const name = `wanted ${round}`;
      const body = { name, role: "viewer", password: "a good long one" };
      const answers = await Promise.all([
        call("POST /_/api/operators", body),
        ...[test, other].map((app) => call(`PATCH /_/api/operators/${operator.id}`, { name }, owner, app)),
      ]);
      const errors = answers.map(({ body }) => body.error).filter((error) => error !== undefined);
      assert.ok(errors.length >= 1 && errors.every((error) => error === "ItemAlreadyExists"), `${errors}`);
    }
  });
});

// spec/operators#operator-roles
describe("the last owner", () => {
  it("can be renamed, but neither deleted nor demoted, even by the same operator", async () => {
    const [last] = await makeOwners(1);
    assert.ok(last !== undefined);
    const refused = [
      await call(`DELETE /_/api/operators/${last.id}`, undefined, last),
      await call(`PATCH /_/api/operators/${last.id}`, { role: "editor" }, last),
      await call(`PATCH /_/api/operators/${last.id}`, { role: "viewer", name: "x" }, last),
    ];
    for (const answer of refused) assertError(answer, 403, "ObjectPermissionDenied", 771, lastOwner);
    assert.deepEqual(await ownerIds(), [last.id]);
    const renamed = await call(`PATCH /_/api/operators/${last.id}`, { role: "owner", name: "The last" }, last);
    assertResult(renamed, 200, shown({ ...last, name: "The last" }));
  });

  it("remains despite concurrent changes by several owners in two processes", async () => {
    for (let round = 0; round < 6; round += 1) {
      const owners = await makeOwners(4);
      const answers = await Promise.all(
        owners.map((each, n) => {
          const next = owners[(n + 1) % owners.length];
          const app = n % 2 === 0 ? test : other;
          if (round % 2 === 0) return call(`DELETE /_/api/operators/${next?.id}`, undefined, each, app);
          return call(`PATCH /_/api/operators/${next?.id}`, { role: "viewer" }, each, app);
        }),
      );
      const left = await ownerIds();
      assert.ok(left.length >= 1, "nobody is left");
      assert.equal(answers.filter(({ status }) => status === 200).length, owners.length - left.length);
      for (const { status } of answers) assert.ok([200, 401, 403, 404].includes(status), `${status}`);
    }
  });

  it("remains when two owners concurrently delete themselves", async () => {
    for (let round = 0; round < 6; round += 1) {
      const owners = await makeOwners(2);
      const answers = await Promise.all(
        owners.map((each, n) => call(`DELETE /_/api/operators/${each.id}`, undefined, each, n === 0 ? test : other)),
      );
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 403]);
      assert.equal((await ownerIds()).length, 1);
    }
  });
});

describe("DELETE /_/api/operators/{operatorId}", () => {
  it("answers 200 true; the operator's sessions are revoked in every process, and the name is free", async () => {
    const operator = await test.createOperator();
    assertResult(await call(`DELETE /_/api/operators/${operator.id}`), 200, true);
    for (const app of [other, test]) {
      const answer = await call("GET /_/api/operators/me", undefined, operator, app);
      assertError(answer, 401, "AuthFailed", 256, "An operator token is required.");
    }
    assert.equal((await signIn(operator.name, operator.password)).status, 401);
    await test.createOperator(operator.name);
  });

  it("allows no session of a concurrent sign-in, in any order", async (t) => {
    const unlimited = await startTestApp({ DATABASE_URL: test.config.databaseUrl, RATE_LIMITS: "off" });
    t.after(() => unlimited.close());
    for (let round = 0; round < 5; round += 1) {
      const { id, name, password } = await test.createOperator();
      const signIns = [0, 1, 2].map(async () => {
        const { status, body } = await unlimited.call("POST /_/api/sessions", { body: { name, password } });
        if (status === 201) return [body.result.token as string];
        assert.equal(status, 401);
        return [];
      });
      await new Promise((resolve) => setTimeout(resolve, round));
      assert.equal((await call(`DELETE /_/api/operators/${id}`, undefined, owner, other)).status, 200);
      for (const token of (await Promise.all(signIns)).flat()) {
        assert.equal((await test.call("GET /_/api/operators/me", { token })).status, 401);
      }
    }
  });
});
