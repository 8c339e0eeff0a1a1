import type { Application } from "../api/applications.ts";
import { showInvisible } from "../lib/format.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { PanelActions } from "../ui/panel-actions.tsx";
import { Time } from "../ui/time.tsx";

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
      <PanelActions actions={actions} />
    </Panel>
  );
}
