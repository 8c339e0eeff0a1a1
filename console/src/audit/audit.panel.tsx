import type { AuditEntry } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import { actorName, partsOf, refusalOf, wordsOf } from "../shell/audit-words.ts";
import { addressOfId } from "../shell/ids.ts";
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
          ...(actor.id === undefined ? [] : [["Kind of actor", actor.kind] as const]),
          ["Actor's id", actor.id && <Subject key="actor" id={actor.id} href={addressOfId(actor.id, appid)} />],
          ["Target", target && <Subject key="target" id={target} href={addressOfId(target, appid)} />],
          ["Application", appid && <Subject key="appid" id={appid} href={addressOfId(appid, appid)} />],
          ["Address", address],
          ["Request", requestId && <Subject key="request" id={requestId} href={addressOfCall(requestId, appid)} />],
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

/** An id, and a link to its page. An object that was deleted since has a page that says so. */
function Subject({ id, href }: { readonly id: string; readonly href: string | undefined }) {
  return (
    <span className={styles.subject}>
      <IdChip id={id} />
      {href !== undefined && <a href={`#${href}`}>Open</a>}
    </span>
  );
}

/** The logged call of the entry, if the server still stores it. */
function addressOfCall(requestId: string, appid: string | undefined): string | undefined {
  return appid === undefined ? undefined : `/apps/${appid}/requests?requestId=${encodeURIComponent(requestId)}`;
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

/** JSON line by line, with visible escapes for invisible characters. */
function showLines(value: object): string {
  return JSON.stringify(value, undefined, 2).split("\n").map(showInvisible).join("\n");
}
