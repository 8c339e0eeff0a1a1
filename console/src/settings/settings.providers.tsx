import { showInvisible } from "../lib/format.ts";
import Plus from "../lib/icons/plus.ts";
import X from "../lib/icons/x.ts";
import { Button } from "../ui/button.tsx";
import { FieldGroup, TextField } from "../ui/fields.tsx";
import type { SettingInputProps } from "./settings.input.ts";
import styles from "./settings.module.css";
import type { ProviderRow } from "./settings.values.ts";

const fields = [
  { name: "name", label: "Name", placeholder: "Example" },
  { name: "issuer", label: "Issuer", placeholder: "https://accounts.example.com" },
  { name: "audience", label: "Audience", placeholder: "The client id of the app" },
  { name: "jwksUrl", label: "Address of its keys", placeholder: "https://accounts.example.com/keys" },
] as const;

/** OpenID Connect providers, each with four fields; `text` has the rows as JSON. */
export function Providers({ path, label, hint, text, isReadOnly, onText }: SettingInputProps) {
  const rows: readonly ProviderRow[] = JSON.parse(text);
  const change = (next: readonly ProviderRow[]) => onText(JSON.stringify(next));
  return (
    <FieldGroup label={label} name={path}>
      <div className={styles.forms}>
        <span className={styles.hint}>{hint}</span>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no names of their own while they are typed
          <fieldset key={index} className={styles.provider}>
            <legend>{titleOf(row, index)}</legend>
            {fields.map(({ name, label: fieldLabel, placeholder }) => (
              <TextField
                key={name}
                label={fieldLabel}
                placeholder={placeholder}
                value={row[name]}
                isReadOnly={isReadOnly}
                autoComplete="off"
                spellCheck="false"
                onChange={(value) =>
                  change(rows.map((each, other) => (other === index ? { ...each, [name]: value } : each)))
                }
              />
            ))}
            {!isReadOnly && (
              <Button
                size="small"
                kind="quiet"
                aria-label={`Remove ${titleOf(row, index)}`}
                onPress={() => change(rows.filter((_, other) => other !== index))}
              >
                <X size={14} aria-hidden /> Remove
              </Button>
            )}
          </fieldset>
        ))}
        {rows.length === 0 && <p className={styles.hint}>No provider: users sign in with their passwords alone.</p>}
        {!isReadOnly && (
          <div className={styles.buttons}>
            <Button size="small" onPress={() => change([...rows, { name: "", issuer: "", audience: "", jwksUrl: "" }])}>
              <Plus size={14} aria-hidden /> Add a provider
            </Button>
          </div>
        )}
      </div>
    </FieldGroup>
  );
}

function titleOf({ name }: ProviderRow, index: number): string {
  return name === "" ? `Provider ${index + 1}` : showInvisible(name);
}
