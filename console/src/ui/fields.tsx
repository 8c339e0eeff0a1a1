import { createContext, type FormEvent, type ReactNode, use, useId, useState } from "react";
import { FieldError } from "react-aria-components/FieldError";
import { Form as AriaForm } from "react-aria-components/Form";
import { Input } from "react-aria-components/Input";
import { Label } from "react-aria-components/Label";
import { Text } from "react-aria-components/Text";
import { TextArea } from "react-aria-components/TextArea";
import { TextField as AriaTextField, type TextFieldProps as AriaTextFieldProps } from "react-aria-components/TextField";
import { CallError, fieldErrors } from "../lib/call-error.ts";
import CircleAlert from "../lib/icons/circle-alert.ts";
import { Busy } from "./busy.ts";
import styles from "./fields.module.css";

interface FormProps {
  /** The caller shows its result; its error is shown at its field, or above the buttons. */
  readonly onSubmit: () => Promise<void>;
  /** The names of the fields; a refusal that names another parameter is shown above the buttons. */
  readonly fields: readonly string[];
  readonly children: (state: { isPending: boolean; problem: ReactNode }) => ReactNode;
}

/**
 * The refusals by field. They stay until the next attempt, because a message that disappears when its field loses the
 * focus would move the button from under the pointer.
 */
const Refusals = createContext<Readonly<Record<string, string>>>({});

/** A form that shows the refusals of the server at their fields. */
export function Form({ onSubmit, fields, children }: FormProps) {
  const [error, setError] = useState<unknown>();
  const [isPending, setPending] = useState(false);
  const setBusy = use(Busy);
  const byField = fieldErrors(error);
  const isAtField = Object.keys(byField).some((name) => fields.includes(name));

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (isPending) return;
    setPending(true);
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit();
    } catch (problem) {
      setError(problem);
    } finally {
      setPending(false);
      setBusy(false);
    }
  }

  const problem = error !== undefined && !isAtField && <Problem error={error} />;
  return (
    // Not "native": then a field that the server refused would block the next attempt.
    <AriaForm className={styles.form} validationBehavior="aria" onSubmit={submit}>
      <Refusals value={byField}>{children({ isPending, problem })}</Refusals>
    </AriaForm>
  );
}

/** A refusal inside a form or a dialog. */
export function Problem({ error }: { readonly error: unknown }) {
  const requestId = error instanceof CallError ? error.requestId : undefined;
  return (
    <p className={styles.problem} role="alert">
      <CircleAlert size={16} aria-hidden />
      <span>
        {error instanceof Error ? error.message : String(error)}
        {requestId !== undefined && <small> ({requestId})</small>}
      </span>
    </p>
  );
}

interface TextFieldProps extends Omit<AriaTextFieldProps, "className" | "children"> {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly placeholder?: string;
  /** Several lines. */
  readonly isLong?: boolean;
  /** The number of lines of a text area. */
  readonly rows?: number;
  /** Monospaced, for ids and JSON. */
  readonly isCode?: boolean;
  /** Shown after the input, such as a unit. */
  readonly suffix?: ReactNode;
}

export function TextField(props: TextFieldProps) {
  const { label, hint, placeholder, isLong = false, rows, isCode = false, suffix, ...rest } = props;
  const refusal = use(Refusals)[rest.name ?? ""];
  const shown = { className: `${styles.input} ${isCode ? styles.code : ""}`, placeholder };
  return (
    <AriaTextField {...rest} isInvalid={refusal !== undefined} className={styles.field}>
      <Label className={styles.label}>{label}</Label>
      {isLong && <TextArea {...shown} rows={rows} />}
      {!isLong && suffix === undefined && <Input {...shown} />}
      {!isLong && suffix !== undefined && (
        <div className={styles.joined}>
          <Input {...shown} />
          {suffix}
        </div>
      )}
      {hint !== undefined && (
        <Text slot="description" className={styles.hint}>
          {hint}
        </Text>
      )}
      <FieldError className={styles.error}>{refusal}</FieldError>
    </AriaTextField>
  );
}

interface FieldGroupProps {
  readonly label: string;
  /** The parameter that consists of the fields. */
  readonly name: string;
  readonly children: ReactNode;
}

/** Several fields of one parameter, side by side. */
export function FieldGroup({ label, name, children }: FieldGroupProps) {
  const refusal = use(Refusals)[name];
  const id = useId();
  return (
    <div className={styles.field} role="group" aria-labelledby={id}>
      <span className={styles.label} id={id}>
        {label}
      </span>
      <div className={styles.group}>{children}</div>
      {refusal !== undefined && (
        <span className={styles.error} role="alert">
          {refusal}
        </span>
      )}
    </div>
  );
}

interface SelectFieldProps<Value extends string> {
  readonly label: string;
  readonly name?: string;
  readonly hint?: ReactNode;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
  readonly isDisabled?: boolean;
}

/** The browser's own select, which works on every phone and for every screen reader. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, name, hint, value, options, onChange, isDisabled } = props;
  return (
    <label className={styles.field}>
      <span className={styles.label}>{label}</span>
      <select
        className={styles.select}
        name={name}
        value={value}
        disabled={isDisabled}
        onChange={(event) => {
          const chosen = options[event.target.selectedIndex];
          if (chosen !== undefined) onChange(chosen.value);
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {hint !== undefined && <span className={styles.hint}>{hint}</span>}
    </label>
  );
}

interface CheckboxProps {
  readonly isSelected: boolean;
  readonly onChange: (isSelected: boolean) => void;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

/** The browser's own, which the sign-in shows without loading another one. */
export function Checkbox({ isSelected, onChange, isDisabled, children }: CheckboxProps) {
  return (
    <label className={styles.check}>
      <input
        type="checkbox"
        checked={isSelected}
        disabled={isDisabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>{children}</span>
    </label>
  );
}
