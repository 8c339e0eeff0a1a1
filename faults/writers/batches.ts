import type { Person } from "../../testkit/people.ts";
import { type Api, Unanswered, WrongAnswer } from "../api.ts";
import { HalfWritten, Register } from "../ledger.ts";
import { filler, type Writer } from "../writer.ts";
import { readComment } from "./checkins.ts";
import { readValue } from "./metadata.ts";

const keyCount = 3;

/** Atomic batches over several kinds of objects: all effects of a batch, or none. */
export const writeAtomicBatches: Writer = ({ ledger, newName }, person) => {
  return async (api) => {
    const name = newName();
    let sent = 0;
    const register = new Register(ledger, `atomic batch ${name}`, "0", (api) => readBatch(api, name, sent, person));
    while (sent < 3) {
      sent += 1;
      const [tag, value] = [`${name}-${sent}`, `${sent}`];
      const keys = Array.from({ length: keyCount }, (_, n) => `/metadata/me/${name}-${n}`);
      const requests = [
        { method: "POST", path: "/checkins", parameters: { location: "1,2", comment: filler, tag } },
        ...keys.map((path) => ({ method: "PUT", path, parameters: { value } })),
      ];
      await register.write(value, () => runBatch(api, person, "atomic", requests));
    }
  };
};

/** Sequential batches: each item is stored on its own when the batch has been answered. */
export const writeSequentialBatches: Writer = ({ ledger, newName }, person) => {
  return async (api) => {
    const name = newName();
    const paths = Array.from({ length: keyCount }, (_, n) => `/metadata/me/${name}-${n}`);
    const registers = paths.map(
      (path) => new Register(ledger, `item ${path}`, "absent", (api) => readValue(api, path, person.token)),
    );
    for (let round = 0; round < 3; round += 1) {
      const requests = paths.map((path) => ({ method: "PUT", path, parameters: { value: `${round}` } }));
      const run = () => runBatch(api, person, "sequential", requests);
      await registers.reduce((call, register) => () => register.write(`${round}`, call), run)();
    }
  };
};

async function runBatch(api: Api, { token }: Person, mode: string, requests: readonly object[]) {
  const answer = await api.call("POST /batch", { token, body: { mode, requests } });
  const responses: { success: boolean; status: number }[] = answer.body.result.responses;
  const unavailable = responses.find(({ status }) => status === 503 || status === 424);
  if (unavailable !== undefined) throw new Unanswered("an item was not run");
  if (!responses.every(({ success }) => success)) throw new WrongAnswer(`an item failed: ${JSON.stringify(responses)}`);
  return answer;
}

/** The number of the last batch whose effects are complete. */
async function readBatch(api: Api, name: string, sent: number, { token }: Person): Promise<string> {
  const paths = Array.from({ length: keyCount }, (_, n) => `/metadata/me/${name}-${n}`);
  const values = await Promise.all(paths.map((path) => readValue(api, path, token)));
  const [value = ""] = values;
  if (values.some((each) => each !== value)) throw new HalfWritten(`keys hold ${values}`);
  const present = value === "absent" ? "0" : value;
  for (let n = 1; n <= sent; n += 1) {
    const isThere = (await readComment(api, token, `${name}-${n}`)) === filler;
    if (isThere !== n <= Number(present))
      throw new HalfWritten(`the keys are of batch ${present}, check-in ${n} does not match`);
  }
  return present;
}
