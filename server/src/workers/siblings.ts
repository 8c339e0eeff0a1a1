import { onSupervisor, tellSupervisor, workerNumber } from "./worker.ts";

/**
 * The processes that serve together on this machine (`WORKERS`), each with a memory of its own. What is to be known of all
 * of them is asked for by name; questions and answers travel as JSON, over the supervisor.
 *
 * ```
 * worker 1 ── ask ──▶ supervisor ── question ──▶ worker 1, worker 2 …
 *          ◀─ answers ─           ◀── answer ───
 * ```
 */
export interface Siblings {
  /**
   * Asks all of them, this process too. Where it serves alone it answers alone.
   *
   * @returns the answers that came within `timeoutMs`, in no order; of those that know the question
   */
  ask(question: string, timeoutMs: number): Promise<readonly unknown[]>;
  /** From now on this process answers the question, with what JSON can tell. An answer that fails is none. */
  answer(question: string, answerer: () => unknown): void;
}

export function createSiblings(): Siblings {
  const answerers = new Map<string, () => unknown>();
  const asked = new Map<number, (answers: readonly unknown[]) => void>();
  let questions = 0;

  /** @returns nothing or one answer */
  async function answersOf(question: string): Promise<unknown[]> {
    try {
      const answer = await answerers.get(question)?.();
      return answer === undefined ? [] : [answer];
    } catch {
      return [];
    }
  }

  onSupervisor("question", async ({ id, question }) => {
    const [answer = null] = await answersOf(question);
    tellSupervisor({ kind: "answer", id, answer });
  });
  onSupervisor("answers", ({ id, answers }) => asked.get(id)?.(answers));

  return {
    ask(question, timeoutMs) {
      if (workerNumber === undefined) return answersOf(question);
      questions += 1;
      const id = questions;
      return new Promise((resolve) => {
        const end = (answers: readonly unknown[]) => {
          clearTimeout(timer);
          asked.delete(id);
          resolve(answers);
        };
        // The supervisor keeps the time; twice of it is for one that does not answer at all.
        const timer = setTimeout(end, timeoutMs * 2, []);
        asked.set(id, end);
        tellSupervisor({ kind: "ask", id, question, timeoutMs });
      });
    },
    answer: (question, answerer) => void answerers.set(question, answerer),
  };
}
