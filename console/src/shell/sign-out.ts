import { send } from "../api/send.ts";
import { deleteOperatorSession } from "../api/sessions.ts";
import { showError } from "../ui/toast.tsx";
import { leaveEverywhere } from "./session.ts";

/** Signs the operator out, in all tabs of this browser. */
export async function leaveConsole(): Promise<void> {
  try {
    await send(deleteOperatorSession());
  } catch (error) {
    showError(error);
    return;
  }
  leaveEverywhere();
}
