// Writes and reads through a byte store in a separate process, which tests measure and kill.
import { setTimeout } from "node:timers/promises";
import { openByteStore } from "../src/storage/open.ts";

const [config = "", task, key = ""] = process.argv.slice(2);
const store = await openByteStore(JSON.parse(config));

if (task === "write forever") {
  await store.write(key, endlessBytes());
} else {
  await copy(`${key}-warm-up`, 20);
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 5);
  const read = await copy(key, 120);
  clearInterval(timer);
  console.log(JSON.stringify({ read, grownMib: Math.round((most - before) / 1_048_576) }));
}

/** @returns the number of bytes that were read back */
async function copy(name: string, mib: number): Promise<number> {
  await store.write(name, bytesOf(mib));
  let count = 0;
  for await (const chunk of await store.read(name)) count += chunk.length;
  return count;
}

async function* bytesOf(mib: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < mib * 16; i++) yield Buffer.alloc(65_536, i);
}

async function* endlessBytes(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(1_048_576, 1);
    console.log("one more MiB");
    await setTimeout(1);
  }
}
