/** The ceiling of sign-up and login: argon2 alone, with the server's cost and concurrency. A worker. */
import { hash, verify } from "@node-rs/argon2";
import { loadConfig } from "../server/src/config/config.ts";
import { answerRequests, readSetting } from "../testkit/worker.ts";

const { work, password } = readSetting<{ work: "hash" | "verify"; password: string }>();

const { passwordHashMemoryKib, passwordHashPasses, passwordHashThreads } = loadConfig({});
const options = { memoryCost: passwordHashMemoryKib, timeCost: passwordHashPasses, parallelism: 1 };
const stored = await hash(password, options);

answerRequests(async ({ seconds }: { seconds: number }) => {
  const startedAt = performance.now();
  let done = 0;
  async function workUntilEnd(): Promise<void> {
    while (performance.now() - startedAt < seconds * 1000) {
      await (work === "hash" ? hash(password, options) : verify(stored, password));
      done += 1;
    }
  }
  await Promise.all(Array.from({ length: passwordHashThreads }, workUntilEnd));
  return done / ((performance.now() - startedAt) / 1000);
});
