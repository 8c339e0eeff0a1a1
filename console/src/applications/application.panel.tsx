import type { Application } from "../api/applications.ts";
import { showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./applications.module.css";

interface ApplicationPanelProps {
  readonly application: Application;
  readonly actions: readonly MenuAction[];
  readonly onClose: () => void;
}

export function ApplicationPanel({ application, actions, onClose }: ApplicationPanelProps) {
  const { id, name, created, suspended, movingTo } = application;
  return (
    <Panel title={showInvisible(name)} onClose={onClose}>
      <DetailList
        items={[
          ["Id", <IdChip key="id" id={id} />],
          ["Created", <Time key="created" value={created} isExact />],
          ["Suspended", suspended !== undefined ? <Time key="suspended" value={suspended} isExact /> : "No"],
          ...(movingTo === undefined ? [] : [["Moving to", movingTo] as const]),
        ]}
      />
      <div className={styles.actions}>
        {actions.map(({ label, icon: Icon, run }) => (
          <Button key={label} onPress={run}>
            {Icon !== undefined && <Icon size={16} aria-hidden />} {label}
          </Button>
        ))}
      </div>
    </Panel>
  );
}
