import { writeFileSync } from "node:fs";
import path from "node:path";
import { newFolder } from "../testkit/children.ts";
import { startWorker, type Worker } from "../testkit/worker.ts";
import type { StartCeiling } from "./ceilings.ts";
import { randomFile } from "./file-transfer.ts";
import { runLoad } from "./load.ts";

/** A bare `node:http` server that streams a file of this size, and accepts uploads. */
export async function startFileCeiling(length: number): Promise<{ readonly port: number; end(): Promise<void> }> {
  const folder = newFolder("ceiling");
  const file = path.join(folder, "file");
  for (const chunk of randomFile(length)) writeFileSync(file, chunk, { flag: "a" });
  const worker: Worker<object, number> = startWorker(import.meta.resolve("./ceiling-files.ts"), { file, folder });
  return { port: await worker.ask({}), end: worker.end };
}

/** The same under load, with files of this size. */
export function bareFiles(length: number, status: number): StartCeiling {
  return async (_fixture, request, connections) => {
    const { port, end } = await startFileCeiling(length);
    return {
      name: "node:http file",
      measure: (seconds) => runLoad({ port, request, status, connections, seconds }),
      end,
    };
  };
}
