import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { adopt, end } from "./children.ts";

/** A script in a process of its own that answers requests, one at a time. */
export interface Worker<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  end(): Promise<void>;
}

type Reply = { readonly answer: unknown } | { readonly problem: string };

/**
 * Starts a worker.
 *
 * @param script its URL, from `import.meta.resolve`
 * @param setting its configuration, in JSON on its command line
 */
export function startWorker<Question extends object, Answer>(
  script: string,
  setting: object,
): Worker<Question, Answer> {
  const file = fileURLToPath(script);
  const child = adopt(fork(file, [JSON.stringify(setting)], { stdio: ["ignore", "ignore", "inherit", "ipc"] }));
  const gone = once(child, "exit").then(([code, signal]) => {
    throw new Error(`${path.basename(file)} ended early (${code ?? signal})`);
  });
  gone.catch(() => {}); // unhandled while no request waits
  return {
    async ask(question) {
      child.send(question);
      const [reply]: [Reply] = await Promise.race([once(child, "message") as Promise<[Reply]>, gone]); // see answerRequests
      if ("problem" in reply) throw new Error(reply.problem);
      return reply.answer as Answer; // the caller declares the script's response type
    },
    end: () => end(child),
  };
}

/** The worker's side: answers until its parent is gone. */
export function answerRequests<Question, Answer>(answer: (question: Question) => Promise<Answer>): void {
  process.on("message", async (question: Question) => {
    process.send?.(
      await answer(question).then(
        (value): Reply => ({ answer: value }),
        (error): Reply => ({ problem: error instanceof Error ? error.message : String(error) }),
      ),
    );
  });
  process.on("disconnect", () => process.exit());
  process.on("SIGINT", () => {}); // the parent handles a terminal's Ctrl-C
}

/** The worker's setting. The caller names its type: it comes from our own `startWorker`. */
export function readSetting<Setting>(): Setting {
  return JSON.parse(process.argv[2] ?? "");
}
