import { Link, useSearch } from "@tanstack/react-router";
import { type AuditEntry, listAudit } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import History from "../lib/icons/history.ts";
import { actorName, partsOf, refusalOf, wordsOf } from "../shell/audit-words.ts";
import { buttonClass } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import type { OfUser } from "./user.counts.tsx";
import styles from "./users.module.css";

const columns: readonly Column<AuditEntry>[] = [
  { name: "When", width: "230px", narrow: "line", render: ({ at }) => <Time value={at} isExact /> },
  { name: "Action", width: "minmax(190px, 1.5fr)", narrow: "title", render: ({ action }) => wordsOf(action) },
  {
    name: "By",
    width: "minmax(120px, 1fr)",
    narrow: "end",
    render: (entry) => showInvisible(actorName(entry)),
  },
  { name: "Details", width: "minmax(160px, 3fr)", render: (entry) => detailsOf(entry) },
  { name: "Address", width: "130px", render: ({ address }) => address },
  {
    name: "Request",
    width: "150px",
    render: ({ requestId }) => requestId !== undefined && <IdChip id={requestId} />,
  },
];

/** The entries of the audit log by this user, or about this user. */
export function UserHistory({ appid, userId }: OfUser) {
  const isBy = useSearch({ from: "/frame/apps/$appid/users/$userId" }).by === "user";
  const filter = isBy ? { actor: userId } : { target: userId };
  const pages = usePages(["audit", appid, filter], (page, options) =>
    send(listAudit({ appid, ...filter, ...page }), options),
  );
  return (
    <>
      <nav className={styles.switch} aria-label="Whose acts">
        <SwitchLink isCurrent={!isBy} by={undefined}>
          On this user
        </SwitchLink>
        <SwitchLink isCurrent={isBy} by="user">
          By this user
        </SwitchLink>
      </nav>
      <Split>
        <DataTable
          label={isBy ? "Acts by this user" : "Acts on this user"}
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          empty={
            <EmptyState icon={History} title={isBy ? "No acts by this user yet" : "No acts on this user yet"}>
              The audit log holds what operators do, and what users do about their own access.
            </EmptyState>
          }
        />
      </Split>
    </>
  );
}

interface SwitchLinkProps {
  readonly isCurrent: boolean;
  readonly by: "user" | undefined;
  readonly children: string;
}

function SwitchLink({ isCurrent, by, children }: SwitchLinkProps) {
  return (
    <Link
      from="/apps/$appid/users/$userId"
      search={{ tab: "history", by }}
      replace
      className={buttonClass(isCurrent ? "plain" : "quiet", "small")}
      activeOptions={{ explicitUndefined: true }}
    >
      {children}
    </Link>
  );
}

/** In one line: the condition of a refusal, the values before and after a change, and the remaining members. */
function detailsOf(entry: AuditEntry): string {
  const refusal = refusalOf(entry);
  const { changes, others } = partsOf(entry.details);
  const rest = Object.entries(others).filter(([name]) => name !== "error");
  const parts = [
    ...(refusal === undefined ? [] : [`Refused: ${refusal}`]),
    ...changes.map(({ member, from, to }) => `${wordsOf(member)}: ${textOf(from)} → ${textOf(to)}`),
    ...rest.map(([name, value]) => (value === "given" ? wordsOf(name) : `${wordsOf(name)}: ${textOf(value)}`)),
  ];
  return showInvisible(parts.join(" · "));
}

function textOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
