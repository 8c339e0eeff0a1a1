import type { ReactNode } from "react";
import type { ApplicationSettings, EffectiveSettings } from "../api/admin.ts";
import { formatBytes, formatDuration, formatNumber, showInvisible } from "../lib/format.ts";
import { EventTypes } from "../shell/event-types.tsx";
import { Checkbox, FieldGroup, SelectField, TextField } from "../ui/fields.tsx";
import { Time } from "../ui/time.tsx";
import { Amount } from "./settings.amount.tsx";
import { OperationLimits, Rate } from "./settings.limits.tsx";
import { MailTexts } from "./settings.mail-texts.tsx";
import styles from "./settings.module.css";
import { Operations } from "./settings.operations.tsx";
import type { Field } from "./settings.parts.ts";
import { Providers } from "./settings.providers.tsx";
import { isObject, linesOf, valueAt } from "./settings.values.ts";

interface SettingFieldProps {
  readonly field: Field;
  readonly text: string;
  readonly settings: ApplicationSettings;
  /** Absent until loaded. */
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
  const rest = { path, label, hint, text, isReadOnly, onText };
  if (kind === "providers") return <Providers {...rest} />;
  if (kind === "ms" || kind === "bytes") return <Amount kind={kind} {...rest} />;
  if (kind === "operations") return <Operations {...rest} />;
  if (kind === "operationLimits") return <OperationLimits {...rest} />;
  if (kind === "mailTexts") return <MailTexts {...rest} />;
  if (kind === "eventTypes") {
    return (
      <EventTypes
        label={label}
        name={path}
        hint={hint}
        patterns={linesOf(text)}
        isEmptyAll
        isReadOnly={isReadOnly}
        onChange={(patterns) => onText(patterns.includes("*") ? "" : patterns.join("\n"))}
      />
    );
  }
  if (kind === "rate") {
    return (
      <FieldGroup label={label} name={path}>
        <Rate rate={text} isReadOnly={isReadOnly} onRate={onText} />
      </FieldGroup>
    );
  }
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

interface StandingProps {
  readonly field: Field;
  readonly settings: ApplicationSettings;
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

const withoutDefault: ReadonlySet<string> = new Set(["flag", "providers", "operationLimits", "mailTexts", "json"]);

function formatDefault(kind: string, value: unknown): string | undefined {
  if (value === undefined || withoutDefault.has(kind)) return undefined;
  if (kind === "ms") return formatDuration(Number(value));
  if (kind === "bytes") return formatBytes(Number(value));
  if (kind === "number") return formatNumber(Number(value));
  if (kind === "eventTypes" && Array.isArray(value) && value.includes("*")) return "all";
  if (kind === "list" || kind === "operations" || kind === "eventTypes")
    return Array.isArray(value) && value.length > 0 ? value.join(", ") : "none";
  if (kind === "rate") return formatRate(Object(value));
  return showInvisible(String(value));
}

function formatRate({ perSecond, burst }: { readonly perSecond?: number; readonly burst?: number }): string {
  const often = `${formatNumber(perSecond ?? 0)} a second`;
  return burst === undefined ? often : `${often} and ${formatNumber(burst)} at once`;
}
