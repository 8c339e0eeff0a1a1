import { showInvisible } from "../lib/format.ts";
import X from "../lib/icons/x.ts";
import { Button } from "../ui/button.tsx";
import { FieldGroup, TextField } from "../ui/fields.tsx";
import type { SettingInputProps } from "./settings.input.ts";
import styles from "./settings.module.css";
import { AddOperation } from "./settings.operations.tsx";
import { joinRate, type LimitRow, splitRate } from "./settings.values.ts";

interface RateProps {
  readonly rate: string;
  readonly isReadOnly: boolean;
  readonly onRate: (rate: string) => void;
}

/** Two numbers: in the long run, and after a pause. */
export function Rate({ rate, isReadOnly, onRate }: RateProps) {
  const [perSecond, burst] = splitRate(rate);
  const common = { isReadOnly, inputMode: "decimal", autoComplete: "off" } as const;
  return (
    <>
      <TextField
        label="Calls a second"
        value={perSecond}
        onChange={(next) => onRate(joinRate(next, burst))}
        {...common}
      />
      <TextField label="Burst" value={burst} onChange={(next) => onRate(joinRate(perSecond, next))} {...common} />
    </>
  );
}

/** Limits of single operations; `text` has the rows as JSON. */
export function OperationLimits({ path, label, hint, text, isReadOnly, onText }: SettingInputProps) {
  const rows: readonly LimitRow[] = JSON.parse(text);
  const change = (next: readonly LimitRow[]) => onText(JSON.stringify(next));
  return (
    <FieldGroup label={label} name={path}>
      <div className={styles.forms}>
        <span className={styles.hint}>{hint}</span>
        {rows.map(({ operation, rate }) => (
          <fieldset key={operation} className={styles.provider}>
            <legend>
              <code>{showInvisible(operation)}</code>
            </legend>
            <Rate
              rate={rate}
              isReadOnly={isReadOnly}
              onRate={(next) =>
                change(rows.map((row) => (row.operation === operation ? { operation, rate: next } : row)))
              }
            />
            {!isReadOnly && (
              <Button
                size="small"
                kind="quiet"
                aria-label={`Remove ${operation}`}
                onPress={() => change(rows.filter((row) => row.operation !== operation))}
              >
                <X size={14} aria-hidden /> Remove
              </Button>
            )}
          </fieldset>
        ))}
        {rows.length === 0 && <p className={styles.hint}>No operation has a limit of its own.</p>}
        {!isReadOnly && (
          <AddOperation
            chosen={rows.map(({ operation }) => operation)}
            onAdd={(operation) => change([...rows, { operation, rate: "" }])}
          />
        )}
      </div>
    </FieldGroup>
  );
}
