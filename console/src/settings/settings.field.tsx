import type { ReactNode } from "react";
import type { EffectiveSettings, Settings } from "../api/settings.ts";
import { formatBytes, formatDuration, formatNumber, showInvisible } from "../lib/format.ts";
import { Checkbox, FieldGroup, SelectField, TextField } from "../ui/fields.tsx";
import { Time } from "../ui/time.tsx";
import { Amount } from "./settings.amount.tsx";
import styles from "./settings.module.css";
import { Operations } from "./settings.operations.tsx";
import type { Field } from "./settings.parts.ts";
import { Providers } from "./settings.providers.tsx";
import { isObject, joinRate, splitRate, valueAt } from "./settings.values.ts";

interface SettingFieldProps {
  readonly field: Field;
  readonly text: string;
  readonly settings: Settings;
  /** Absent until it is known. */
  readonly effective: EffectiveSettings | undefined;
  readonly isReadOnly: boolean;
  readonly onText: (text: string) => void;
  /** Information for the choice of the value. */
  readonly fact?: ReactNode;
}

/** One setting: its value, what counts without one, and who changed it last. */
export function SettingField(props: SettingFieldProps) {
  return (
    <div className={styles.setting}>
      <Input {...props} />
      {props.fact}
      {props.effective !== undefined && (
        <Standing field={props.field} settings={props.settings} effective={props.effective} />
      )}
    </div>
  );
}

function Input({ field: { path, label, hint, kind }, text, isReadOnly, onText }: SettingFieldProps) {
  if (typeof kind !== "string") {
    return (
      <SelectField
        label={label}
        name={path}
        hint={hint}
        value={text}
        options={kind}
        onChange={onText}
        isDisabled={isReadOnly}
      />
    );
  }
  if (kind === "flag") {
    return (
      <Checkbox isSelected={text === "true"} onChange={(is) => onText(is ? "true" : "")} isDisabled={isReadOnly}>
        {label}. <span className={styles.hint}>{hint}</span>
      </Checkbox>
    );
  }
  if (kind === "providers")
    return <Providers path={path} label={label} hint={hint} text={text} isReadOnly={isReadOnly} onText={onText} />;
  const rest = { path, label, hint, text, isReadOnly, onText };
  if (kind === "ms" || kind === "bytes") return <Amount kind={kind} {...rest} />;
  if (kind === "operations") return <Operations {...rest} />;
  if (kind === "rate") return <Rate path={path} label={label} text={text} isReadOnly={isReadOnly} onText={onText} />;
  return (
    <TextField
      label={label}
      name={path}
      hint={hint}
      value={text}
      onChange={onText}
      isReadOnly={isReadOnly}
      isLong={kind === "list" || kind === "json"}
      inputMode={kind === "number" ? "numeric" : undefined}
      isCode={kind === "list" || kind === "json"}
      autoComplete="off"
      spellCheck="false"
    />
  );
}

interface RateProps extends Pick<SettingFieldProps, "text" | "isReadOnly" | "onText"> {
  readonly path: string;
  readonly label: string;
}

/** Two numbers: in the long run, and after a pause. */
function Rate({ path, label, text, isReadOnly, onText }: RateProps) {
  const [perSecond, burst] = splitRate(text);
  const common = { isReadOnly, inputMode: "decimal", autoComplete: "off" } as const;
  return (
    <FieldGroup label={label} name={path}>
      <TextField
        label="Calls a second"
        value={perSecond}
        onChange={(next) => onText(joinRate(next, burst))}
        {...common}
      />
      <TextField label="Burst" value={burst} onChange={(next) => onText(joinRate(perSecond, next))} {...common} />
    </FieldGroup>
  );
}

interface StandingProps {
  readonly field: Field;
  readonly settings: Settings;
  readonly effective: EffectiveSettings;
}

/** Whether the setting is set, by whom it was changed last, and its default. */
function Standing({ field: { path, kind }, settings, effective: { defaults, changed } }: StandingProps) {
  const [member = ""] = path.split(".");
  const value = valueAt(settings, path);
  const isSet = value !== undefined && !(isObject(value) && Object.keys(value).length === 0);
  const standard = typeof kind === "string" ? formatDefault(kind, valueAt(defaults, path)) : undefined;
  const last = isSet || member === path ? changed[member] : undefined;
  if (!isSet && standard === undefined && last === undefined) return null;
  return (
    <p className={styles.standing}>
      {isSet && last === undefined && "Set. "}
      {last !== undefined && (
        <>
          {isSet ? "Set by " : "Changed by "}
          {showInvisible(last.name ?? last.by)} <Time value={last.at} />.{" "}
        </>
      )}
      {standard !== undefined && `Default: ${standard}.`}
    </p>
  );
}

function formatDefault(kind: string, value: unknown): string | undefined {
  if (value === undefined || kind === "json" || kind === "flag" || kind === "providers") return undefined;
  if (kind === "ms") return formatDuration(Number(value));
  if (kind === "bytes") return formatBytes(Number(value));
  if (kind === "number") return formatNumber(Number(value));
  if (kind === "list" || kind === "operations")
    return Array.isArray(value) && value.length > 0 ? value.join(", ") : "none";
  if (kind === "rate") return formatRate(Object(value));
  return showInvisible(String(value));
}

function formatRate({ perSecond, burst }: { readonly perSecond?: number; readonly burst?: number }): string {
  const often = `${formatNumber(perSecond ?? 0)} a second`;
  return burst === undefined ? often : `${often} and ${formatNumber(burst)} at once`;
}
