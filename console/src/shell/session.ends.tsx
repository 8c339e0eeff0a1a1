import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { lastUse } from "../api/send.ts";
import { formatRelative } from "../lib/format.ts";
import ClockAlert from "../lib/icons/clock-alert.ts";
import LockOpen from "../lib/icons/lock-open.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/states.tsx";
import { showError } from "../ui/toast.tsx";
import { getSession, sessionQuery, useSession } from "./session.ts";

const warningMs = 5 * 60_000;
const lookMs = 1000;

/** Warns five minutes before the session expires, through inactivity or age. */
export function SessionEndsSoon() {
  const { expires, idleMs } = useSession();
  const queries = useQueryClient();
  const now = useNow();
  const [byAge, byIdleness] = [expires.getTime(), lastUse() + idleMs];
  const end = Math.min(byAge, byIdleness);
  // A session with an idle time-out of a few minutes must not show the warning permanently.
  if (end <= now || end - now > Math.min(warningMs, idleMs / 2)) return null;

  async function stay() {
    try {
      queries.setQueryData(sessionQuery.queryKey, await getSession());
    } catch (error) {
      showError(error);
    }
  }

  const when = formatRelative(new Date(end), now);
  if (byAge <= byIdleness)
    return <Notice icon={ClockAlert}>Your session ends {when}. Then you sign in again, and nothing is lost.</Notice>;
  return (
    <Notice icon={ClockAlert} action={<Button onPress={() => void stay()}>Stay signed in</Button>}>
      Your session ends {when}, because nothing was done here for a while.
    </Notice>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), lookMs);
    return () => window.clearInterval(timer);
  }, []);
  return now;
}

/** Browsers treat only https and localhost as secure. */
export function Unencrypted() {
  if (window.isSecureContext) return null;
  return (
    <Notice icon={LockOpen} isWarning>
      This console was loaded without encryption: passwords and the session can be read on the way. Serve it by https.
    </Notice>
  );
}
