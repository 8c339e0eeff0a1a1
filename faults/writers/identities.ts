import { Register } from "../ledger.ts";
import type { Writer } from "../writer.ts";

/** Adds an identity, and removes every other one. */
export const writeIdentities: Writer = ({ ledger, newName }, { token }) => {
  let count = 0;
  return async (api) => {
    const identityId = newName();
    const register = new Register(ledger, `identity ${identityId}`, "absent", async (api) => {
      const { status } = await api.call(`GET /users/identities/faults/${identityId}`, { token, expected: [404] });
      return status === 404 ? "absent" : "there";
    });
    const path = "/users/me/identities/faults";
    await register.write("there", () => api.call(`POST ${path}`, { token, body: { identityId } }));
    count += 1;
    if (count % 2 === 0) await register.write("absent", () => api.call(`DELETE ${path}/${identityId}`, { token }));
  };
};
