import type { AuditEntry } from "../api/audit.ts";
import { showInvisible } from "../lib/format.ts";
import { actorName, partsOf, refusalOf, wordsOf } from "../shell/audit-words.ts";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import type { FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./audit.module.css";

interface AuditPanelProps {
  readonly entry: AuditEntry;
  readonly onFilter: (values: FilterValues) => void;
  readonly onClose: () => void;
}

export function AuditPanel({ entry, onFilter, onClose }: AuditPanelProps) {
  const { at, actor, action, appid, target, address, requestId, details, count, lastSeen } = entry;
  const { changes, others } = partsOf(details);
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
      {changes.length > 0 && <Changes changes={changes} />}
      {Object.keys(others).length > 0 && <pre className={styles.details}>{showLines(others)}</pre>}
      <div className={styles.actions}>
        <Button onPress={() => onFilter({ actor: actor.id ?? actor.kind })}>All by this actor</Button>
        {target !== undefined && <Button onPress={() => onFilter({ target })}>All on this target</Button>}
        <Button onPress={() => onFilter({ action })}>All of this kind</Button>
      </div>
    </Panel>
  );
}

/** The values that a change has replaced, by member. */
function Changes({ changes }: { readonly changes: ReturnType<typeof partsOf>["changes"] }) {
  return (
    <table className={styles.changes}>
      <thead>
        <tr>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      {changes.map(({ member, from, to }) => (
        <tbody key={member}>
          <tr>
            <th scope="rowgroup" colSpan={2}>
              {showInvisible(member)}
            </th>
          </tr>
          <tr>
            <td>{shown(from)}</td>
            <td>{shown(to)}</td>
          </tr>
        </tbody>
      ))}
    </table>
  );
}

function shown(value: unknown) {
  return value === undefined ? <i>not set</i> : showInvisible(String(value));
}

/** JSON line by line, with the invisible characters of its texts shown. */
function showLines(value: object): string {
  return JSON.stringify(value, undefined, 2).split("\n").map(showInvisible).join("\n");
}
