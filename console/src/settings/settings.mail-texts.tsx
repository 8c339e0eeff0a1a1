import { FieldGroup, TextField } from "../ui/fields.tsx";
import type { SettingInputProps } from "./settings.input.ts";
import styles from "./settings.module.css";
import { type MailTextRow, mailTexts } from "./settings.values.ts";

/** The texts of mails, each with a subject and a body; `text` has the rows as JSON. */
export function MailTexts({ path, label, hint, text, isReadOnly, onText }: SettingInputProps) {
  const rows: readonly MailTextRow[] = JSON.parse(text);
  const change = (kind: string, next: Partial<MailTextRow>) =>
    onText(JSON.stringify(rows.map((row) => (row.kind === kind ? { ...row, ...next } : row))));
  return (
    <FieldGroup label={label} name={path}>
      <div className={styles.forms}>
        <span className={styles.hint}>{hint}</span>
        {rows.map(({ kind, subject, body }) => (
          <fieldset key={kind} className={`${styles.provider} ${styles.mailText}`}>
            <legend>{mailTexts[kind].title}</legend>
            <TextField
              label="Subject"
              value={subject}
              isReadOnly={isReadOnly}
              autoComplete="off"
              onChange={(next) => change(kind, { subject: next })}
            />
            <TextField
              label="Text"
              hint={`${mailTexts[kind].placeholder} stands for ${mailTexts[kind].meaning}.`}
              value={body}
              isReadOnly={isReadOnly}
              isLong
              rows={4}
              autoComplete="off"
              onChange={(next) => change(kind, { body: next })}
            />
          </fieldset>
        ))}
      </div>
    </FieldGroup>
  );
}
