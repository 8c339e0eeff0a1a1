import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { openapiQuery } from "../api/openapi.ts";
import { showInvisible } from "../lib/format.ts";
import Plus from "../lib/icons/plus.ts";
import X from "../lib/icons/x.ts";
import { Button } from "../ui/button.tsx";
import { FieldGroup, SelectField } from "../ui/fields.tsx";
import type { SettingInputProps } from "./settings.input.ts";
import styles from "./settings.module.css";
import { linesOf } from "./settings.values.ts";

/** Operations of apps, one to a line of `text`. */
export function Operations({ path, label, hint, text, isReadOnly, onText }: SettingInputProps) {
  const chosen = linesOf(text);
  const change = (next: readonly string[]) => onText(next.join("\n"));
  return (
    <FieldGroup label={label} name={path}>
      <div className={styles.forms}>
        <span className={styles.hint}>{hint}</span>
        {chosen.length === 0 && <p className={styles.hint}>None.</p>}
        {chosen.length > 0 && (
          <ul className={styles.operations} aria-label={label}>
            {chosen.map((operation) => (
              <li key={operation}>
                <code>{showInvisible(operation)}</code>
                {!isReadOnly && (
                  <Button
                    size="small"
                    kind="quiet"
                    aria-label={`Remove ${operation}`}
                    onPress={() => change(chosen.filter((each) => each !== operation))}
                  >
                    <X size={14} aria-hidden /> Remove
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
        {!isReadOnly && <AddOperation chosen={chosen} onAdd={(operation) => change([...chosen, operation])} />}
      </div>
    </FieldGroup>
  );
}

interface AddOperationProps {
  readonly chosen: readonly string[];
  readonly onAdd: (operation: string) => void;
}

/** Offers the operations of apps that this server has. */
export function AddOperation({ chosen, onAdd }: AddOperationProps) {
  const { data } = useQuery(openapiQuery);
  const [picked, setPicked] = useState("");
  const known = Object.entries(data?.paths ?? {}).flatMap(([address, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation["x-caller"] !== undefined && operation["x-caller"] !== "operator")
      .map(([method]) => `${method.toUpperCase()} ${address}`),
  );
  const open = known.filter((operation) => !chosen.includes(operation));
  return (
    <div className={styles.test}>
      <SelectField
        label="Add an operation"
        value={picked}
        options={[
          { value: "", label: "Choose …" },
          ...open.map((operation) => ({ value: operation, label: operation })),
        ]}
        onChange={setPicked}
      />
      <Button
        isDisabled={picked === ""}
        onPress={() => {
          onAdd(picked);
          setPicked("");
        }}
      >
        <Plus size={16} aria-hidden /> Add
      </Button>
    </div>
  );
}
