import { workerNumber } from "../config/worker-number.ts";
import { onSupervisorMessage, sendToSupervisor } from "./worker.ts";

/**
 * The worker processes of this machine (`WORKERS`), which share no memory. A worker asks all of them a named question;
 * the supervisor forwards questions and answers as JSON.
 *
 * ```
 * worker 1 ── ask ──▶ supervisor ── question ──▶ worker 1, worker 2 …
 *          ◀─ answers ─           ◀── answer ───
 * ```
 */
export interface Peers {
  /**
   * Asks all workers, including this one. A process without a supervisor answers itself.
   *
   * @param argument a string for the answerers
   * @returns the answers that arrive within `timeoutMs`, in any order, from processes with an answerer
   */
  ask(question: string, timeoutMs: number, argument?: string): Promise<readonly unknown[]>;
  /**
   * Registers the function that answers a question in this process, with a JSON value. If it throws, there is no
   * answer.
   */
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
        // The supervisor enforces the time-out; this one is for a supervisor that does not answer.
        const timer = setTimeout(end, timeoutMs * 2, []);
        asked.set(id, end);
        sendToSupervisor({ kind: "ask", id, question, timeoutMs });
      });
    },
    answer: (question, answerer) => void answerers.set(question, answerer),
  };
}
