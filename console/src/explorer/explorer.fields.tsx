import { Checkbox, SelectField, TextField } from "../ui/fields.tsx";
import styles from "./explorer.module.css";
import { type ExplorerOperation, type Field, type FieldValues, hasBody, jsonOf } from "./explorer.operations.ts";

interface FieldsProps {
  readonly operation: ExplorerOperation;
  readonly values: FieldValues;
  readonly onValues: (values: FieldValues) => void;
  /** The body as JSON, in place of its fields. */
  readonly json: string | undefined;
  readonly onJson: (json: string | undefined) => void;
  readonly onFile: (file: File | undefined) => void;
}

/** The parameters of an operation as a form or, for the body, as JSON. */
export function Fields({ operation, values, onValues, json, onJson, onFile }: FieldsProps) {
  const shown = operation.fields.filter((field) => field.in !== "body" || json === undefined);
  const first = shown.filter((field) => field.isRequired || field.in === "path" || field.in === "body");
  const more = shown.filter((field) => !first.includes(field));
  const input = (field: Field) => (
    <FieldInput
      key={`${field.in} ${field.name}`}
      field={field}
      value={values[field.name] ?? ""}
      onChange={(value) => onValues({ ...values, [field.name]: value })}
    />
  );
  return (
    <div className={styles.fields}>
      {first.map(input)}
      {json !== undefined && <TextField label="Body" isLong isCode value={json} onChange={onJson} />}
      {operation.file !== undefined && (
        <label className={styles.file}>
          File
          <input type="file" onChange={(event) => onFile(event.target.files?.[0])} />
        </label>
      )}
      {hasBody(operation) && (
        <Checkbox
          isSelected={json !== undefined}
          onChange={(isJson) => onJson(isJson ? jsonOf(operation, values) : undefined)}
        >
          Body as JSON
        </Checkbox>
      )}
      {more.length > 0 && (
        <details className={styles.more}>
          <summary>
            {more.length} more {more.length === 1 ? "parameter" : "parameters"}
          </summary>
          <div className={styles.fields}>{more.map(input)}</div>
        </details>
      )}
    </div>
  );
}

interface FieldInputProps {
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const flags = [
  { value: "", label: "–" },
  { value: "true", label: "true" },
  { value: "false", label: "false" },
];

function FieldInput({ field: { name, kind, options, isRequired, hint }, value, onChange }: FieldInputProps) {
  const label = isRequired ? `${name} (required)` : name;
  if (kind === "flag")
    return <SelectField label={label} hint={hint} value={value} options={flags} onChange={onChange} />;
  if (kind === "choice") {
    const choices = [{ value: "", label: "–" }, ...options.map((option) => ({ value: option, label: option }))];
    return <SelectField label={label} hint={hint} value={value} options={choices} onChange={onChange} />;
  }
  return (
    <TextField
      label={label}
      hint={hint}
      isLong={kind === "json"}
      isCode={kind === "json"}
      autoComplete="off"
      value={value}
      onChange={onChange}
    />
  );
}
