import { useQuery } from "@tanstack/react-query";
import { listAudit, type Operator } from "../api/admin.ts";
import { known, send } from "../api/send.ts";
import { listOperatorSessions } from "../api/sessions.ts";
import { showInvisible } from "../lib/format.ts";
import { wordsOf } from "../shell/audit-words.ts";
import { roleTexts } from "../shell/roles.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { PanelActions } from "../ui/panel-actions.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./operators.module.css";

interface OperatorPanelProps {
  readonly operator: Operator;
  readonly isMe: boolean;
  /** Only owners read the sessions of others. */
  readonly showsSessions: boolean;
  readonly actions: readonly MenuAction[];
  readonly onClose: () => void;
}

const entriesShown = 8;
const sessionsShown = 20;

export function OperatorPanel({ operator, isMe, showsSessions, actions, onClose }: OperatorPanelProps) {
  const { id, name, role, created, lastLogin, mustChangePassword, isLastOwner } = operator;
  const sessions = useQuery({
    queryKey: ["sessions", id],
    enabled: showsSessions,
    queryFn: ({ signal }) => send(listOperatorSessions({ operatorId: id, pageSize: sessionsShown }), { signal }),
  }).data;
  const audit = useQuery({
    queryKey: ["audit", "operator", id],
    queryFn: ({ signal }) => send(listAudit({ actor: id, pageSize: entriesShown }), { signal }),
  }).data;
  return (
    <Panel title={showInvisible(name)} onClose={onClose}>
      <DetailList
        items={[
          ["Id", <IdChip key="id" id={id} />],
          ["Role", `${roleTexts[known(role)]}${isMe ? " (you)" : ""}`],
          ["Created", <Time key="created" value={created} isExact />],
          ["Last sign-in", lastLogin && <Time key="last" value={lastLogin} isExact />],
          ...(mustChangePassword ? [["Password", "Must be changed at the next sign-in"] as const] : []),
        ]}
      />
      {isLastOwner && (
        <p className={styles.hint}>
          This is the last owner, which cannot be deleted or given another role: invite another owner first.
        </p>
      )}
      <PanelActions actions={actions} />
      {sessions !== undefined && (
        <section className={styles.part}>
          <h3>Sessions</h3>
          {sessions.pageResults.length === 0 && <p>Not signed in.</p>}
          <ul>
            {sessions.pageResults.map((session) => (
              <li key={session.id}>
                <span>
                  {showInvisible(session.browser) || "Unknown program"} <small>{session.address}</small>
                </span>
                <Time value={session.lastUsed} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {audit !== undefined && audit.pageResults.length > 0 && (
        <section className={styles.part}>
          <h3>Latest acts</h3>
          <ul>
            {audit.pageResults.map((entry) => (
              <li key={entry.id}>
                <span>{wordsOf(entry.action)}</span>
                <Time value={entry.at} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </Panel>
  );
}
