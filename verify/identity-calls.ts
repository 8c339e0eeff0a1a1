import type { TestUser, World } from "./world.ts";

/** Adds an identity to the user. */
export async function addIdentity(world: World, user: TestUser, provider: string, identityId: unknown) {
  const operation = `POST /users/me/identities/${encodeURIComponent(provider)}`;
  return world.call(operation, { token: user.token, body: { identityId } });
}

/** Finds the user of an identity. */
export async function findIdentity(world: World, user: TestUser, provider: string, identityId: string) {
  const path = `/users/identities/${encodeURIComponent(provider)}/${encodeURIComponent(identityId)}`;
  return world.call(`GET ${path}`, { token: user.token });
}

/** Lists the user's identities, optionally those of one provider. */
export async function listIdentities(world: World, user: TestUser, provider?: string) {
  const path = provider === undefined ? "" : `/${encodeURIComponent(provider)}`;
  return world.call(`GET /users/me/identities${path}`, { token: user.token });
}
