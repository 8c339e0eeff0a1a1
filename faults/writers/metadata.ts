import type { Api } from "../api.ts";
import { Counter, HalfWritten, Register } from "../ledger.ts";
import { filler, type Writer } from "../writer.ts";

const keysMax = 8;
const setSize = 5;

/** Sets some keys repeatedly, and deletes them now and then. */
export const writeKeys: Writer = ({ ledger, newName }, { token }) => {
  const prefix = newName();
  let count = 0;
  return async (api) => {
    const path = `/metadata/me/${prefix}-${count}`; // new keys, because an unanswered write may still be running
    const register = new Register(ledger, path, "absent", (api) => readValue(api, path, token));
    for (let round = 0; round < keysMax; round += 1) {
      count += 1;
      const value = `${count} ${filler}`;
      await register.write(value, () => api.call(`PUT ${path}`, { token, body: { value } }));
      if (round % 3 === 2) await register.write("absent", () => api.call(`DELETE ${path}`, { token }));
    }
  };
};

/** Sets several keys by one call: all of them or none. */
export const writeSets: Writer = ({ ledger, newName }, { token }) => {
  return async (api) => {
    const prefix = newName();
    const register = new Register(ledger, `set ${prefix}`, "absent", (api) => readSet(api, prefix, token));
    for (let round = 0; round < keysMax; round += 1) {
      const value = `${round} ${filler}`;
      const values = Object.fromEntries(Array.from({ length: setSize }, (_, n) => [`${prefix}-${n}`, value]));
      await register.write(value, () => api.call("PUT /metadata/me", { token, body: { values } }));
    }
  };
};

/** Increments a number that other writers increment as well. */
export const increment: Writer = ({ ledger, newName }, { token }) => {
  const path = `/metadata/app/${newName()}/increment`;
  const body = { delta: 3, visibility: "App" };
  const counter = new Counter(ledger, `number ${path}`, 3, async (api) => {
    const { body } = await api.call(`POST ${path}`, { token, body: { delta: 0, visibility: "App" } });
    return body.result.value;
  });
  const sequence = async (api: Api) => void (await counter.add(() => api.call(`POST ${path}`, { token, body })));
  return async (api) => void (await Promise.all([sequence(api), sequence(api)]));
};

export async function readValue(api: Api, path: string, token: string): Promise<string> {
  const { status, body } = await api.call(`GET ${path}`, { token, expected: [404] });
  return status === 404 ? "absent" : body.result.value;
}

async function readSet(api: Api, prefix: string, token: string): Promise<string> {
  const { body } = await api.call(`GET /metadata/me?keyPrefix=${prefix}-`, { token });
  const values: string[] = body.result.pageResults.map(({ value }: { value: string }) => value);
  const [first = "absent"] = values;
  if (values.length !== 0 && values.length !== setSize)
    throw new HalfWritten(`has ${values.length} of ${setSize} keys`);
  if (values.some((value) => value !== first)) throw new HalfWritten(`holds ${values.map((each) => each.slice(0, 3))}`);
  return first;
}
