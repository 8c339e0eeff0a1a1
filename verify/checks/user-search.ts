import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { idsOf } from "../listing.ts";
import { changeUser, otherUser, shared, signUp, signUpWith, type TestUser, uniqueName, type World } from "../world.ts";

/** Users who share a unique last name, in order of creation. */
const family = shared(async (world) => {
  const lastName = uniqueName("Lovelace");
  const email = `${lastName}@example.com`;
  const users: TestUser[] = [];
  for (const fields of [
    { firstName: "cherry", gender: "Female", email },
    { firstName: "apple", gender: "Male" },
    { firstName: "banana" },
    { firstName: "apple", gender: "Unknown" },
  ]) {
    users.push(await signUpWith(world, { lastName, ...fields }));
  }
  const { token } = await otherUser(world);
  return { lastName, email, users, ids: users.map(({ id }) => id), token };
});

async function find(world: World, token: string, query: Readonly<Record<string, string>>): Promise<Answer> {
  return world.call("GET /users", { token, query });
}

/** Searching users (spec/users#search-users). */
export const userSearch = group("user-search", (it) => {
  it("spec/users#search-users · GET /users: returns others with public fields, the caller with all fields", async (world) => {
    const { lastName, users, ids, token } = await family(world);
    const answer = await find(world, token, { lastName });
    expectEqual(answer, "users, newest first", idsOf(answer), ids.toReversed());
    const expected: Answer["body"][] = [];
    for (const id of ids.toReversed()) expected.push(expectResult(await world.call(`GET /users/${id}`, { token })));
    expectEqual(answer, "users", expectResult(answer).pageResults, expected);
    const [own] = users;
    if (own === undefined) return;
    const byOne = await find(world, own.token, { lastName, userName: own.userName });
    const me = expectResult(await world.call("GET /users/me", { token: own.token }));
    expectEqual(byOne, "the caller", expectResult(byOne).pageResults, [me]);
  });
  for (const how of ["as it is", "in another case"])
    it(`spec/users#search-users · GET /users: by userName ${how}`, async (world) => {
      const { users, token } = await family(world);
      for (const { id, userName } of users.slice(0, 2)) {
        const answer = await find(world, token, { userName: how === "as it is" ? userName : userName.toUpperCase() });
        expectEqual(answer, "users", idsOf(answer), [id]);
      }
      const { currentToken: _, ...page } = expectResult(await find(world, token, { userName: uniqueName() }));
      expectEqual(await find(world, token, {}), "empty page", page, { pageResults: [] });
    });
  for (const [query, expected] of [
    [{ firstName: "apple" }, [3, 1]],
    [{ firstName: "appl" }, []],
    [{ firstName: "%" }, []],
    [{ gender: "Male" }, [1]],
    [{ gender: "2" }, [0]],
    [{ gender: "female" }, [0]],
    [{ gender: "male", firstName: "cherry" }, []],
    [{ gender: "Male", firstName: "apple" }, [1]],
  ] as const)
    it(`spec/users#search-users · GET /users: by ${JSON.stringify(query)}`, async (world) => {
      const { lastName, ids, token } = await family(world);
      const answer = await find(world, token, { lastName, ...query });
      const found = idsOf(answer).map((id) => ids.indexOf(id));
      expectEqual(answer, "users", found, expected);
    });
  it("spec/users#search-users · GET /users: an email matches as a whole only", async (world) => {
    const { email, ids, token } = await family(world);
    const answer = await find(world, token, { email });
    expectEqual(answer, "users", idsOf(answer), ids.slice(0, 1));
    for (const part of [email.slice(0, -1), `%${email}`, "%@example.com"]) {
      const none = await find(world, token, { email: part });
      expectEqual(none, `users with the email ${part}`, idsOf(none), []);
    }
  });
  it("spec/search#filters · GET /users: created and lastModified are ranges", async (world) => {
    const { lastName, token, users, ids } = await family(world);
    const answer = await find(world, token, { lastName });
    const [last] = expectResult(answer).pageResults;
    const at = expectDate(answer, "created", last.created);
    for (const [range, isFound] of [
      [`${at}-${at}`, true],
      [`${at + 1}-`, false],
    ] as const) {
      const found = await find(world, token, { lastName, created: range });
      expectEqual(found, `the last user by ${range}`, idsOf(found).includes(last.id), isFound);
    }
    const [user] = users;
    if (user === undefined) return;
    const { lastModified } = await changeUser(world, user, { tag: "changed" });
    const changed = await find(world, token, { lastName, lastModified: `${lastModified}-${lastModified}` });
    expectThat(changed, idsOf(changed).includes(ids[0] ?? ""), "the user who was changed");
  });
  for (const sortOrder of ["created", "-created", "firstName", "-firstName", "userName", "-userName"])
    it(`spec/search#sort-order · GET /users: sortOrder ${sortOrder}; tokens restore filters and order`, async (world) => {
      const { lastName, token, ids } = await family(world);
      const name = sortOrder.replace("-", "");
      const answer = await find(world, token, { lastName, sortOrder });
      const keys = expectResult(answer).pageResults.map((user: Record<string, string>) => user[name]);
      const sorted = sortOrder === name ? keys.toSorted() : keys.toSorted().toReversed();
      expectEqual(answer, name, keys, sorted);
      expectEqual(answer, "users", idsOf(answer).toSorted(), ids.toSorted());
      const seen: string[] = [];
      let page = await find(world, token, { lastName, sortOrder, pageSize: "3" });
      seen.push(...idsOf(page));
      page = await find(world, token, { pagingToken: expectResult(page).nextToken });
      expectEqual(page, "users of both pages", [...seen, ...idsOf(page)], idsOf(answer));
      expectThat(page, !("nextToken" in expectResult(page)), "no nextToken");
    });
  it("spec/users#celebmode · GET /users: a user in celebMode is hidden from others, and visible again afterwards", async (world) => {
    const user = await signUp(world);
    const { token } = await otherUser(world);
    const { userName } = user;
    for (const celebMode of [true, false]) {
      await changeUser(world, user, { celebMode });
      const answer = await find(world, token, { userName });
      expectEqual(answer, "users", idsOf(answer), celebMode ? [] : [user.id]);
      const own = await find(world, user.token, { userName });
      expectEqual(own, "the caller", idsOf(own), [user.id]);
    }
  });
  for (const query of [
    { gender: "X" },
    { gender: "3" },
    { sortOrder: "password" },
    { sortOrder: "distance" },
    { created: "yesterday" },
    { locationRange: "here" },
    { pageSize: "many" },
    { pagingToken: "nothing" },
  ])
    it(`spec/users#search-users · GET /users: 400 ParameterIncorrectFormat for ${JSON.stringify(query)}`, async (world) => {
      const { token } = await family(world);
      const message = new RegExp(String(Object.keys(query)[0]));
      expectError(await find(world, token, query), { ...further.incorrectFormat, message });
    });
  it("hostile.md 14 · GET /users: 400 ParameterIncorrectFormat for another user's token, and for one of check-ins", async (world) => {
    const { users, token } = await family(world);
    const { currentToken } = expectResult(await find(world, token, { pageSize: "1" }));
    expectError(await find(world, users[0]?.token ?? "", { pagingToken: currentToken }), further.incorrectFormat);
    const listed = await world.call("GET /checkins", { token, query: { userID: "me" } });
    expectError(await find(world, token, { pagingToken: expectResult(listed).currentToken }), further.incorrectFormat);
  });
});
