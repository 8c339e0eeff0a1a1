import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type ApplicationKey, readApplicationStatistics } from "../api/admin.ts";
import { effectiveSettingsQuery } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { formatCount, formatNumber, formatShare, showInvisible } from "../lib/format.ts";
import CircleCheckBig from "../lib/icons/circle-check-big.ts";
import CircleDashed from "../lib/icons/circle-dashed.ts";
import Signature from "../lib/icons/signature.ts";
import { Button } from "../ui/button.tsx";
import { SelectField } from "../ui/fields.tsx";
import { Time } from "../ui/time.tsx";
import { nameOfKey } from "./key.names.ts";
import styles from "./keys.module.css";

/** A key, and its registrations in each of the last 24 hours. */
export interface UsedKey extends ApplicationKey {
  readonly hours: readonly number[];
  /** Its part of the registrations of all keys in these hours. */
  readonly share: number | undefined;
}

interface RotationProps {
  /** The active keys. */
  readonly keys: readonly UsedKey[];
  /** The one that is to go, by the address of the page. */
  readonly oldId: string | undefined;
  readonly onOld: (id: string | undefined) => void;
  /** Undefined for operators who may not retire keys. */
  readonly onRetire: ((key: ApplicationKey) => void) | undefined;
}

/**
 * The steps from an old key to a new key. Several keys may be permanent, so the operator chooses the key to retire, which the
 * address of the page names.
 */
export function Rotation({ keys, oldId, onOld, onRetire }: RotationProps) {
  if (keys.length < 2) return null;
  const old = keys.find(({ id }) => id === oldId);
  return (
    <section className={styles.rotation} aria-label="Rotation of keys">
      <SelectField
        label="Key that is to go"
        value={old?.id ?? ""}
        options={[
          { value: "", label: "None: all stay in use" },
          ...keys.map((key) => ({ value: key.id, label: nameOfKey(key) })),
        ]}
        onChange={(id) => onOld(id === "" ? undefined : id)}
      />
      {old !== undefined && <RotationSteps old={old} keys={keys} onRetire={onRetire} />}
    </section>
  );
}

interface RotationStepsProps extends Pick<RotationProps, "keys" | "onRetire"> {
  readonly old: UsedKey;
}

function RotationSteps({ old, keys, onRetire }: RotationStepsProps) {
  const others = keys
    .filter((key) => key !== old)
    .toSorted((one, other) => one.created.getTime() - other.created.getTime());
  const newest = others.at(-1);
  if (newest === undefined) return null;
  const isShipped = newest.lastRegistered !== undefined;
  const hasRunOut = isShipped && old.share === 0;
  return (
    <ol>
      <RotationStep isDone title="New key">
        <bdi>“{nameOfKey(newest)}”</bdi>, <Time value={newest.created} />
      </RotationStep>
      <RotationStep isDone={isShipped} title="Ship it">
        {isShipped ? "Devices register with it." : "No device has registered with it yet."}
      </RotationStep>
      <RotationStep isDone={hasRunOut} title="Watch the old key">
        <bdi>“{nameOfKey(old)}”</bdi> {shareInWords(old.share)}
      </RotationStep>
      <RotationStep isDone={false} title="Retire it">
        {onRetire === undefined ? (
          "An editor can."
        ) : (
          <Button size="small" onPress={() => onRetire(old)}>
            Retire <bdi>“{nameOfKey(old)}”</bdi> …
          </Button>
        )}
      </RotationStep>
    </ol>
  );
}

function shareInWords(share: number | undefined): string {
  if (share === undefined) return "has had no registration in the last 24 hours, nor has any other key.";
  return share === 0
    ? "has had no registration in the last 24 hours."
    : `has ${formatShare(share)} of the registrations of the last 24 hours.`;
}

interface RotationStepProps {
  readonly isDone: boolean;
  readonly title: string;
  readonly children: ReactNode;
}

function RotationStep({ isDone, title, children }: RotationStepProps) {
  return (
    <li data-done={isDone || undefined}>
      {isDone ? <CircleCheckBig size={18} aria-label="Done:" /> : <CircleDashed size={18} aria-label="Open:" />}
      <div>
        <b>{title}</b>
        <p>{children}</p>
      </div>
    </li>
  );
}

/** The calls of the last hour, and how many of them had a right signature. */
function useSignedCalls(appid: string, isEnabled: boolean) {
  const { data } = useQuery({
    queryKey: ["keys", appid, "signatures"],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - hourMs);
      return send(readApplicationStatistics(appid, { interval: "minute", series: "signatures", from }), { signal });
    },
    enabled: isEnabled,
    staleTime: 60_000,
  });
  if (data === undefined) return undefined;
  const sum = (name: string) =>
    data.series.filter((each) => each.name === name).flatMap(({ points }) => points.map(({ value }) => value));
  const [signed, unsigned] = ["signatures.signed", "signatures.unsigned"].map((name) =>
    sum(name).reduce((total, value) => total + value, 0),
  ) as [number, number]; // of two names
  return { signed, calls: signed + unsigned };
}

const hourMs = 3_600_000;

/** Whether requests can be signed, since when, and how many are. */
export function SharedSecret({ appid }: { readonly appid: string }) {
  const { data } = useQuery(effectiveSettingsQuery(appid));
  const signed = useSignedCalls(appid, data?.hasSigningSecret === true);
  if (data === undefined) return null;
  const {
    hasSigningSecret,
    changed: { signingSecret: change },
    values: { signedRequests },
  } = data;
  if (!hasSigningSecret && change === undefined) return null;
  return (
    <p className={styles.secret}>
      <Signature size={16} aria-hidden />
      <span>
        {hasSigningSecret ? "The shared secret of signed requests was set" : "The shared secret was removed"}
        {change !== undefined && (
          <>
            {" "}
            by {showInvisible(change.name ?? change.by)} <Time value={change.at} />
          </>
        )}
        {change === undefined && " before its author was recorded"}.
        {signed !== undefined &&
          (signed.calls === 0
            ? " There was no call in the last hour."
            : ` In the last hour ${formatNumber(signed.signed)} of ${formatCount(signed.calls, "call")} were signed.`)}{" "}
        {hasSigningSecret && (
          <Link to="/apps/$appid/settings" params={{ appid }} search={{ part: "access" }}>
            {signedRequests === "required" ? "Unsigned requests are refused" : "Unsigned requests are answered"}
          </Link>
        )}
      </span>
    </p>
  );
}
