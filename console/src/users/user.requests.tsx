import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import Radio from "lucide-react/icons/radio";
import { useState } from "react";
import { useTail } from "../api/requests.ts";
import type { OfUser } from "../api/users.ts";
import { CallList } from "../shell/call.list.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./users.module.css";

const everyMs = 5_000;

/** The last calls of a user, as far as the server remembers them. */
export function UserRequests({ appid, userId }: OfUser) {
  const { panel } = useSearch({ from: "/frame/apps/$appid/users/$userId" });
  const navigate = useNavigate({ from: "/apps/$appid/users/$userId" });
  const [isPaused, setPaused] = useState(panel !== undefined);
  const tail = useTail(appid, { userID: userId }, !isPaused, everyMs);
  const since = tail.data?.since;

  function show(id: string | undefined) {
    if (id !== undefined) setPaused(true);
    void navigate({ search: { tab: "requests", panel: id }, replace: panel !== undefined });
  }

  return (
    <>
      <div className={styles.bar}>
        <Link to="/apps/$appid/requests" params={{ appid }} search={{ userID: userId }}>
          Filter these calls
        </Link>
        {isPaused && (
          <Button size="small" onPress={() => setPaused(false)}>
            Show new calls
          </Button>
        )}
      </div>
      <CallList
        appid={appid}
        tail={tail}
        isOfOneUser
        panel={panel}
        onPanel={show}
        onReading={() => setPaused(true)}
        empty={
          <EmptyState icon={Radio} title="No calls of this user">
            {since !== undefined && (
              <>
                The server remembers calls since <Time value={since} />; a restart empties the list.{" "}
              </>
            )}
            A new call appears here within seconds.
          </EmptyState>
        }
      />
    </>
  );
}
