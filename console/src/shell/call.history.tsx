import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTail } from "../api/requests.ts";
import Radio from "../lib/icons/radio.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { CallList } from "./call.list.tsx";
import styles from "./calls.module.css";

const everyMs = 5_000;

interface CallHistoryProps {
  readonly appid: string;
  readonly of: "user" | "device";
  readonly id: string;
  /** The open call. */
  readonly panel: string | undefined;
  readonly onPanel: (id: string | undefined) => void;
}

/** The last calls of a user or a device, as far as the server remembers them. */
export function CallHistory({ appid, of, id, panel, onPanel }: CallHistoryProps) {
  const filters = of === "user" ? { userID: id } : { deviceID: id };
  const [isPaused, setPaused] = useState(panel !== undefined);
  const tail = useTail(appid, filters, !isPaused, everyMs);
  const since = tail.data?.since;
  return (
    <>
      <div className={styles.bar}>
        <Link to="/apps/$appid/requests" params={{ appid }} search={filters}>
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
        isWithout={of}
        panel={panel}
        onPanel={(id) => {
          if (id !== undefined) setPaused(true);
          onPanel(id);
        }}
        onReading={() => setPaused(true)}
        empty={
          <EmptyState icon={Radio} title={`No calls of this ${of}`}>
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
