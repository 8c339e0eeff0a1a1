import type { AuditEntry } from "../api/audit.ts";
import { showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import type { FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./audit.module.css";
import { actorName, refusalOf, wordsOf } from "./audit.words.ts";

interface AuditPanelProps {
  readonly entry: AuditEntry;
  readonly onFilter: (values: FilterValues) => void;
  readonly onClose: () => void;
}

export function AuditPanel({ entry, onFilter, onClose }: AuditPanelProps) {
  const { at, actor, action, appid, target, address, requestId, details, count, lastSeen } = entry;
  const hasDetails = typeof details === "object" && details !== null && Object.keys(details).length > 0;
  return (
    <Panel title={wordsOf(action)} onClose={onClose}>
      <DetailList
        items={[
          ["Time", <Time key="at" value={at} isExact />],
          ...(lastSeen === undefined ? [] : [["Until", <Time key="last" value={lastSeen} isExact />] as const]),
          ...(count === undefined ? [] : [["Times", count] as const]),
          ["Operation", <code key="action">{action}</code>],
          ["Result", refusalOf(entry) ?? "Done"],
          ["Actor", showInvisible(actorName(entry))],
          ["Actor's id", actor.id && <IdChip key="actor" id={actor.id} />],
          ["Target", target && <IdChip key="target" id={target} />],
          ["Application", appid && <IdChip key="appid" id={appid} />],
          ["Address", address],
          ["Request", requestId && <IdChip key="request" id={requestId} />],
        ]}
      />
      {hasDetails && <pre className={styles.details}>{showLines(details)}</pre>}
      <div className={styles.actions}>
        <Button onPress={() => onFilter({ actor: actor.id ?? actor.kind })}>All by this actor</Button>
        {target !== undefined && <Button onPress={() => onFilter({ target })}>All on this target</Button>}
        <Button onPress={() => onFilter({ action })}>All of this kind</Button>
      </div>
    </Panel>
  );
}

/** JSON line by line, with the invisible characters of its texts shown. */
function showLines(value: object): string {
  return JSON.stringify(value, undefined, 2).split("\n").map(showInvisible).join("\n");
}
