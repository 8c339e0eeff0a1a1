import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ApplicationKey, getImpactOfKey } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatBounded, formatNumber, showInvisible } from "../lib/format.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { Problem } from "../ui/fields.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { PanelActions } from "../ui/panel-actions.tsx";
import parts from "../ui/parts.module.css";
import { Time } from "../ui/time.tsx";
import { nameOfKey } from "./key.names.ts";
import styles from "./keys.module.css";

interface KeyPanelProps {
  readonly appid: string;
  readonly keyOfApp: ApplicationKey;
  readonly actions: readonly MenuAction[];
  readonly onClose: () => void;
}

/** A key, and the apps that use it. */
export function KeyPanel({ appid, keyOfApp, actions, onClose }: KeyPanelProps) {
  const { id, created, devices, lastRegistered } = keyOfApp;
  return (
    <Panel title={keyOfApp.label === undefined ? "Unnamed key" : nameOfKey(keyOfApp)} onClose={onClose}>
      <DetailList
        items={[
          ["Id", <IdChip key="id" id={id} />],
          ["Created", <Time key="created" value={created} isExact />],
          ["Last used", lastRegistered && <Time key="last" value={lastRegistered} isExact />],
          [
            "Devices",
            <Link key="devices" to="/apps/$appid/devices" params={{ appid }} search={{ keyId: id }}>
              {formatNumber(devices)}
            </Link>,
          ],
        ]}
      />
      <PanelActions actions={actions} />
      <Versions appid={appid} keyId={id} />
    </Panel>
  );
}

/** The versions of the app on the devices of the last day that registered with the key. */
function Versions({ appid, keyId }: { readonly appid: string; readonly keyId: string }) {
  const { data, error } = useQuery({
    queryKey: ["impact", appid, keyId],
    queryFn: ({ signal }) => send(getImpactOfKey(appid, keyId), { signal }),
    staleTime: 60_000,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return null;
  const { activeLastDay, appVersions } = data;
  return (
    <section className={`${parts.counts} ${styles.versions}`}>
      <h3>Versions of the app, last day</h3>
      <p>
        {activeLastDay.count === 0
          ? "No device with this key was active in the last day."
          : `${formatBounded(activeLastDay.count, activeLastDay.isMore)} active.`}
      </p>
      <ol>
        {appVersions.map(({ appVersion, devices }) => (
          <li key={appVersion ?? ""}>
            {appVersion === undefined ? (
              "none reported"
            ) : (
              <Link to="/apps/$appid/devices" params={{ appid }} search={{ appVersion, keyId }}>
                {showInvisible(appVersion)}
              </Link>
            )}
            <b>{formatNumber(devices)}</b>
          </li>
        ))}
      </ol>
    </section>
  );
}
