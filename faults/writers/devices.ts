import { Register } from "../ledger.ts";
import type { Writer } from "../writer.ts";

/** Registers a device, changes it, and registers it again: it stays one device, and all of its tokens are valid. */
export const writeDevices: Writer = ({ application, ledger, newName }) => {
  return async (api) => {
    const uniqueId = newName();
    const body = { ...application, platform: "faults", uniqueId };
    const { result } = (await api.call("POST /devices", { body })).body;
    const token: string = result.accessToken;
    const { id } = (await api.call("GET /devices/current", { token })).body.result;
    const tokens = [token];
    const register = new Register(ledger, `device ${uniqueId}`, "1 tokens, version none", async (api) => {
      const seen = await Promise.all(tokens.map((each) => api.call("GET /devices/current", { token: each })));
      const same = seen.filter(({ body }) => body.result.id === id);
      return `${same.length} tokens, version ${seen[0]?.body.result.appVersion ?? "none"}`;
    });
    const change = { appVersion: "2.0" };
    await register.write("1 tokens, version 2.0", () => api.call("PATCH /devices/current", { token, body: change }));
    const again = await api.call("POST /devices", { body });
    await register.write("2 tokens, version 2.0", async () => {
      tokens.push(again.body.result.accessToken);
      return again;
    });
  };
};
