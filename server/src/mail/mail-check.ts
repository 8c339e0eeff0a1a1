import { fieldsOf } from "../lib/fields.ts";
import { openTransport } from "./transport.ts";

const stepTimeoutMs = 5_000;
/** The limit of the whole check; each step of the conversation has a timeout of its own. */
const timeoutMs = 15_000;

/**
 * Connects to a mail server and signs in, without sending a mail.
 *
 * @returns why the server cannot be used, without any password; undefined when it can
 */
export async function findMailProblem(smtpUrl: string): Promise<string | undefined> {
  const transport = await openTransport(smtpUrl, { timeoutMs: stepTimeoutMs });
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject({ code: "ETIMEDOUT" }), timeoutMs);
  try {
    await Promise.race([transport.verify(), expired]);
    return undefined;
  } catch (error) {
    const { code, responseCode, command } = fieldsOf(error);
    const cause = [code, responseCode, command].filter((each) => each !== undefined).join(", ");
    return `SMTP_URL: ${targetOf(smtpUrl)} does not take mails from us (${cause}).`;
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** The host and port that a mail is sent to. */
export function targetOf(smtpUrl: string): string {
  const { protocol, hostname, port } = new URL(smtpUrl);
  return `${hostname}:${port || (protocol === "smtps:" ? "465" : "587")}`;
}
