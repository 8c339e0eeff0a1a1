import { each, type Group } from "../check.ts";
import { further, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

const password = "correct horse";
const profile = { email: "ada@example.com", firstName: "Ada", lastName: "Lovelace" };

async function create(world: World, fields: Readonly<Record<string, unknown>>) {
  return world.call("POST /users", { token: await sharedDevice(world), body: fields });
}

/** Pairs of names that are one (surface.md section 5). */
const sameNames: readonly [what: string, first: (name: string) => string, second: (name: string) => string][] = [
  ["case", (name) => `${name}-ada`, (name) => `${name}-ADA`.toUpperCase()],
  ["case beyond ASCII", (name) => `${name}-\u00e4\u0431`, (name) => `${name}-\u00c4\u0411`],
  ["Unicode form", (name) => `${name}-\u00e9`, (name) => `${name}-e\u0301`],
  ["case and Unicode form", (name) => `${name}-\u00e9`, (name) => `${name}-E\u0301`],
];

/** Creation and one's own profile (service.md "POST /users", "User"). */
export const users: Group = {
  name: "users",
  checks: {
    "service.md · POST /users: 200 with the User and its token": async (world) => {
      const username = uniqueName();
      const answer = await create(world, { username, password, ...profile });
      const result = expectResult(answer, 200);
      const { id, accessToken, accessTokenExpires, lastLogin, created, lastModified, ...others } = result;
      const expected = { userName: username, ...profile, celebMode: false, locationFuzzing: false };
      expectEqual(answer, "the other fields", others, expected);
      for (const text of [id, accessToken]) expectThat(answer, typeof text === "string" && text !== "", "id and token");
      for (const time of [lastLogin, created, lastModified]) expectDate(answer, "times", time);
      const expires = expectDate(answer, "accessTokenExpires", accessTokenExpires);
      expectThat(answer, expires > Date.now(), "an expiry in the future");
    },
    "service.md · POST /users: the returned token is a user token": async (world) => {
      const created = await create(world, { username: uniqueName(), password });
      const { id, accessToken } = expectResult(created);
      const answer = await world.call("GET /users/me", { token: accessToken });
      expectEqual(answer, "result.id", expectResult(answer).id, id);
    },
    "surface.md 3 · POST /users: with username and password alone, fields not set are absent": async (world) => {
      const answer = await create(world, { username: uniqueName(), password });
      const result = expectResult(answer);
      const unset = ["email", "firstName", "lastName", "gender", "dateOfBirth", "tag", "location"];
      expectEqual(
        answer,
        "fields that were not set",
        unset.filter((name) => name in result),
        [],
      );
    },
    "service.md · User: celebMode and locationFuzzing are false at creation, also when sent as true": async (world) => {
      const modes = { celebMode: true, locationFuzzing: true };
      const answer = await create(world, { username: uniqueName(), password, ...modes });
      const { celebMode, locationFuzzing } = expectResult(answer);
      expectEqual(answer, "modes", { celebMode, locationFuzzing }, { celebMode: false, locationFuzzing: false });
    },
    "surface.md 5 · POST /users and GET /users/me: the password is nowhere in the answer": async (world) => {
      const secret = uniqueName("secret");
      const created = await create(world, { username: uniqueName(), password: secret });
      const me = await world.call("GET /users/me", { token: expectResult(created).accessToken });
      for (const answer of [created, me]) {
        expectThat(answer, !answer.text.includes(secret) && !/passw|hash/i.test(answer.text), "no trace of a password");
      }
    },
    "service.md · POST /users: 400 ItemAlreadyExists 770 for a duplicate username, also with only username and password":
      async (world) => {
        const { userName } = await sharedUser(world);
        const answer = await create(world, { username: userName, password, ...profile });
        expectError(answer, specified.userNameTaken);
        expectError(await create(world, { username: userName, password }), specified.userNameTaken);
      },
    "service.md · POST /users: 400 ItemAlreadyExists for a duplicate username, even with its right password": async (
      world,
    ) => {
      const user = await sharedUser(world);
      const answer = await create(world, { username: user.userName, password: user.password });
      expectError(answer, specified.userNameTaken);
    },
    ...each(
      sameNames,
      ([what]) => `surface.md 5 · POST /users: 400 ItemAlreadyExists for a username that differs in ${what}`,
      async (world, [, first, second]) => {
        const name = uniqueName();
        const answer = await create(world, { username: first(name), password });
        expectEqual(answer, "result.userName", expectResult(answer).userName, first(name));
        expectError(await create(world, { username: second(name), password }), specified.userNameTaken);
        const login = { username: second(name), password };
        const token = await sharedDevice(world);
        const loggedIn = await world.call("POST /users/login", { token, body: login });
        expectEqual(loggedIn, "result.userName", expectResult(loggedIn).userName, first(name));
      },
    ),
    ...each(
      ["", "a", "abc", "\u{1f642}\u{1f642}\u{1f642}"],
      (short) => `service.md · POST /users: 400 ParameterOutOfRange for the password "${short}", shorter than 4`,
      async (world, short) => {
        const answer = await create(world, { username: uniqueName(), password: short });
        expectError(answer, specified.passwordTooShort);
      },
    ),
    ...each(
      ["abcd", "1234", "    ", "p\u00e4\u00df\u{1f642}", "%'\"\\", "x".repeat(200)],
      (long) => `service.md · Limits: a password of 4 characters or more is taken: "${long.slice(0, 20)}"`,
      async (world, long) => {
        const username = uniqueName();
        expectResult(await create(world, { username, password: long }));
        const login = { token: await sharedDevice(world), body: { username, password: long } };
        expectResult(await world.call("POST /users/login", login));
      },
    ),
    "service.md · POST /users: a refused creation leaves the username free": async (world) => {
      const username = uniqueName();
      expectError(await create(world, { username, password: "abc" }), specified.passwordTooShort);
      expectResult(await create(world, { username, password }));
    },
    "hostile.md 4 · POST /users: of a hundred at once with one username one wins, the others get ItemAlreadyExists":
      async (world) => {
        const body = { username: uniqueName(), password };
        const answers = await Promise.all(Array.from({ length: 100 }, () => create(world, body)));
        const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status);
        if (winner !== undefined) expectResult(winner);
        for (const answer of others) expectError(answer, specified.userNameTaken);
      },
    "surface.md 5 · GET /users/me: the user without tokens": async (world) => {
      const username = uniqueName();
      const created = await create(world, { username, password, ...profile });
      const { accessToken, accessTokenExpires, ...user } = expectResult(created);
      const answer = await world.call("GET /users/me", { token: accessToken });
      expectEqual(answer, "result", expectResult(answer), user);
    },
    "surface.md 2 · POST /users: 400 ParameterIncorrectFormat for an object as any field, named in the message": async (
      world,
    ) => {
      for (const name of ["username", "password", "email", "firstName", "lastName"]) {
        const answer = await create(world, { username: uniqueName(), password, [name]: { a: 1 } });
        expectError(answer, { ...further.incorrectFormat, message: new RegExp(name) });
      }
    },
    "service.md · User: ids differ between users": async (world) => {
      const answer = await create(world, { username: uniqueName(), password });
      const { id } = await signUp(world);
      expectThat(answer, expectResult(answer).id !== id, "another id");
    },
  },
};
