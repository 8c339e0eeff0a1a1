import { workerNumber } from "../config/worker-number.ts";
import { onSupervisorMessage, sendToSupervisor } from "./worker.ts";

/**
 * The processes that serve together on this machine (`WORKERS`), each with its own memory. A process asks all of them a
 * named question; questions and answers travel as JSON through the supervisor.
 *
 * ```
 * worker 1 ── ask ──▶ supervisor ── question ──▶ worker 1, worker 2 …
 *          ◀─ answers ─           ◀── answer ───
 * ```
 */
export interface Peers {
  /**
   * Queries all processes, including this one. A single process answers itself.
   *
   * @param argument a text that the answerers receive
   * @returns the answers that arrive within `timeoutMs`, in no order; only of processes that know the question
   */
  ask(question: string, timeoutMs: number, argument?: string): Promise<readonly unknown[]>;
  /** Registers the answer of this process to a question, as a JSON value. A failing answerer gives no answer. */
  answer(question: string, answerer: (argument: string) => unknown): void;
}

export function createPeers(): Peers {
  const answerers = new Map<string, (argument: string) => unknown>();
  const asked = new Map<number, (answers: readonly unknown[]) => void>();
  let questions = 0;

  /**
   * @param question with its argument in a second line
   * @returns zero or one answer
   */
  async function answersOf(question: string): Promise<unknown[]> {
    try {
      const [name = "", argument = ""] = question.split("\n");
      const answer = await answerers.get(name)?.(argument);
      return answer === undefined ? [] : [answer];
    } catch {
      return [];
    }
  }

  onSupervisorMessage("question", async ({ id, question }) => {
    const [answer = null] = await answersOf(question);
    sendToSupervisor({ kind: "answer", id, answer });
  });
  onSupervisorMessage("answers", ({ id, answers }) => asked.get(id)?.(answers));

  return {
    ask(name, timeoutMs, argument) {
      const question = argument === undefined ? name : `${name}\n${argument}`;
      if (workerNumber === undefined) return answersOf(question);
      questions += 1;
      const id = questions;
      return new Promise((resolve) => {
        const end = (answers: readonly unknown[]) => {
          clearTimeout(timer);
          asked.delete(id);
          resolve(answers);
        };
        // The supervisor enforces the timeout; this one is for a supervisor that does not answer at all.
        const timer = setTimeout(end, timeoutMs * 2, []);
        asked.set(id, end);
        sendToSupervisor({ kind: "ask", id, question, timeoutMs });
      });
    },
    answer: (question, answerer) => void answerers.set(question, answerer),
  };
}
