import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { data, postForm } from "../uploads.ts";
import { otherUser, signUp, type TestUser, type World } from "../world.ts";

/** A PNG of 4 by 2 pixels. */
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAIAAADwyuo0AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEElEQVQImWMQMgmDIwZkDgA9WgThJ4jHFQAAAABJRU5ErkJggg==",
  "base64",
);

const path = "/users/me/profilepicture";

function set(world: World, { token }: TestUser, at = path): Promise<Answer> {
  const caption = { name: "caption", value: "Me" };
  return postForm(world, at, token, [caption, data(picture, "image/png")]);
}

/** The path of an address of the deployment. */
function pathOf(url: unknown): string {
  const { pathname, search } = new URL(String(url));
  return pathname + search;
}

/** The profile picture of a user (spec/users#profile-pictures). */
export const profilePictures = group("profile-pictures", (it) => {
  it("spec/users#set-a-profile-picture · POST /users/me/profilepicture: 201 with the picture; the profile refers to it, for others too", async (world) => {
    const user = await signUp(world);
    const answer = await set(world, user);
    const { id, caption, size, contentType } = expectResult(answer, 201);
    const expected = { caption: "Me", size: { w: 4, h: 2 }, contentType: "image/png" };
    expectEqual(answer, "result", { caption, size, contentType }, expected);
    for (const { token } of [user, await otherUser(world)]) {
      const profile = await world.call(`GET /users/${user.id}`, { token });
      const { profilePictureID, profilePictureUrl } = expectResult(profile);
      expectEqual(profile, "profilePictureID", profilePictureID, id);
      expectThat(profile, pathOf(profilePictureUrl).startsWith(`/pictures/${id}/file?`), "the picture's address");
      const bytes = await world.call(`GET ${pathOf(profilePictureUrl)}`);
      expectEqual(bytes, "the bytes", [bytes.status, bytes.headers["content-type"]], [200, "image/png"]);
    }
  });
  it("spec/users#read-a-profile-picture · GET /users/me/profilepicture: the description, with the scaled size", async (world) => {
    const user = await signUp(world);
    const { id } = expectResult(await set(world, user), 201);
    for (const [query, w, h] of [
      ["", 4, 2],
      ["?size=2", 2, 1],
      ["?size=100,1", 2, 1],
      ["?size=100", 4, 2],
    ] as const) {
      const answer = await world.call(`GET ${path}${query}`, { token: user.token });
      const found = expectResult(answer);
      expectEqual(answer, "result", { id: found.id, size: found.size }, { id, size: { w, h } });
    }
    expectError(await world.call(`GET ${path}?size=big`, { token: user.token }), further.incorrectFormat);
  });
  it("spec/users#set-a-profile-picture · A new profile picture replaces the old one, which is deleted", async (world) => {
    const user = await signUp(world);
    const { id } = expectResult(await set(world, user), 201);
    expectResult(await set(world, user), 201);
    expectError(await world.call(`GET /pictures/${id}`, { token: user.token }), further.itemDoesNotExist);
  });
  it("spec/users#delete-a-profile-picture · DELETE /users/me/profilepicture: true; without one ItemDoesNotExist", async (world) => {
    const user = await signUp(world);
    const { token } = user;
    for (const verb of ["GET", "DELETE"]) {
      expectError(await world.call(`${verb} ${path}`, { token }), further.itemDoesNotExist);
    }
    expectResult(await set(world, user), 201);
    expectExactly(await world.call(`DELETE ${path}`, { token }), true);
    const profile = await world.call("GET /users/me", { token });
    expectEqual(profile, "profilePictureID", expectResult(profile).profilePictureID, undefined);
  });
  it("hostile.md 9 · profilePictureID and profilePictureUrl cannot be set, nor another user's profile picture", async (world) => {
    const [user, victim] = [await signUp(world), await otherUser(world)];
    const body = { profilePictureID: {}, profilePictureUrl: "https://example.com/a.png" };
    const answer = await world.call("PATCH /users/me", { token: user.token, body });
    const { profilePictureID, profilePictureUrl } = expectResult(answer);
    expectEqual(answer, "result", [profilePictureID, profilePictureUrl], [undefined, undefined]);
    expectError(await set(world, user, `/users/${victim.id}/profilepicture`), further.permissionDenied);
  });
});
