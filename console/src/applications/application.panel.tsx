import type { ReactNode } from "react";
import type { Application, RemoteApplication } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import { ApplicationState, RemoteState } from "../shell/application.state.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { PanelActions } from "../ui/panel-actions.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { Time } from "../ui/time.tsx";
import { type Activity, counted, errorsOf, formatRate } from "./applications.activity.ts";
import type { ApplicationRow } from "./applications.rows.ts";

interface ApplicationPanelProps {
  readonly row: ApplicationRow;
  /** The name of this region, if there are several. */
  readonly region: string | undefined;
  readonly actions: readonly MenuAction[];
  readonly onClose: () => void;
}

export function ApplicationPanel({ row: { here, elsewhere }, region, actions, onClose }: ApplicationPanelProps) {
  return (
    <Panel
      title={here !== undefined ? showInvisible(here.name) : `An application in ${elsewhere.region}`}
      onClose={onClose}
    >
      {here !== undefined ? (
        <FactsHere application={here} region={region} />
      ) : (
        <FactsElsewhere application={elsewhere} />
      )}
      <PanelActions actions={actions} />
    </Panel>
  );
}

interface FactsHereProps {
  readonly application: Application;
  readonly region: string | undefined;
}

function FactsHere({ application, region }: FactsHereProps) {
  const { id, created, suspended, activity } = application;
  return (
    <DetailList
      items={[
        ["Id", <IdChip key="id" id={id} />],
        ["State", <ApplicationState key="state" application={application} />],
        ...(region === undefined ? [] : [["Region", region] as const]),
        ...(activity === undefined ? [] : factsOf(activity)),
        ["Created", <Time key="created" value={created} isExact />],
        ["Suspended", suspended !== undefined ? <Time key="suspended" value={suspended} isExact /> : "No"],
      ]}
    />
  );
}

/** The columns that are hidden on a phone. */
function factsOf(activity: Activity): readonly (readonly [name: string, value: ReactNode])[] {
  return [
    ["Calls a minute", formatRate(activity.callsPerMinute)],
    ["Last 24 hours", <Sparkline key="hours" label="Calls in the last 24 hours" values={activity.hours} />],
    ["Errors", errorsOf(activity) || undefined],
    ["Devices", counted(activity.devices)],
    ["Users", counted(activity.users)],
  ];
}

function FactsElsewhere({ application }: { readonly application: RemoteApplication }) {
  const { id, region, serviceRoot, changed } = application;
  return (
    <>
      <p>Its name, keys and data are in its region alone, whose console shows them.</p>
      <DetailList
        items={[
          ["Id", <IdChip key="id" id={id} />],
          ["State", <RemoteState key="state" application={application} />],
          ["Region", region],
          ["Address", serviceRoot],
          ["Changed", <Time key="changed" value={changed} isExact />],
        ]}
      />
    </>
  );
}
