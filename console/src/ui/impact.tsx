import { formatBounded, formatCount, formatNumber, formatShare, showInvisible } from "../lib/format.ts";

interface Bounded {
  readonly count: number;
  readonly isMore: boolean;
}

/** The server's counts before tokens are revoked. */
interface Impact {
  readonly devices: Bounded;
  readonly userTokens: Bounded;
  readonly activeLastHour: Bounded;
  readonly activeLastDay: Bounded;
  readonly appVersions: readonly { readonly appVersion?: string; readonly devices: number }[];
  readonly signedShare?: number;
}

interface ImpactFactsProps {
  /** Undefined while the server counts. */
  readonly impact: Impact | undefined;
  /** The property that the devices have in common: "registered with this key last". */
  readonly devicesThat: string;
}

const versionsShown = 5;

/** Shows the counts before an action that revokes tokens. */
export function ImpactFacts({ impact, devicesThat }: ImpactFactsProps) {
  if (impact === undefined) return <p role="status">Counting …</p>;
  const { devices, userTokens, activeLastHour, activeLastDay, signedShare } = impact;
  return (
    <>
      <p>
        <b>{counted(devices, "device")}</b> {devicesThat}, with <b>{counted(userTokens, "token")}</b> of users.
      </p>
      {activeLastDay.count > 0 && (
        <p>
          Active: {bounded(activeLastHour)} in the last hour, {bounded(activeLastDay)} in the last day
          {versionsOf(impact)}.
        </p>
      )}
      {signedShare !== undefined && <p>Signed: {formatShare(signedShare)} of the calls in the last 24 hours.</p>}
    </>
  );
}

/** The most frequent versions of the app: ": 1.0 (120), 1.1 (31)". */
function versionsOf({ appVersions }: Impact): string {
  const shown = appVersions.slice(0, versionsShown).map(({ appVersion, devices }) => {
    const name = appVersion === undefined ? "no version" : showInvisible(appVersion);
    return `${name} (${formatNumber(devices)})`;
  });
  if (appVersions.length > versionsShown) shown.push("others");
  return shown.length === 0 ? "" : `: ${shown.join(", ")}`;
}

function counted(number: Bounded, noun: string): string {
  return formatCount(number.count, noun, number.isMore);
}

function bounded({ count, isMore }: Bounded): string {
  return formatBounded(count, isMore);
}
