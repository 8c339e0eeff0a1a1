import { useQuery } from "@tanstack/react-query";
import { openapiQuery } from "../api/openapi.ts";
import { SelectField, TextField } from "../ui/fields.tsx";
import type { SettingInputProps } from "./settings.input.ts";

/** Operations of apps, one to a line: chosen from the list of those that this server has, or typed. */
export function Operations({ path, label, hint, text, isReadOnly, onText }: SettingInputProps) {
  const { data } = useQuery({ ...openapiQuery, enabled: !isReadOnly });
  const chosen = text.split("\n").map((line) => line.trim());
  const known = Object.entries(data?.paths ?? {}).flatMap(([address, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation["x-caller"] !== undefined && operation["x-caller"] !== "operator")
      .map(([method]) => `${method.toUpperCase()} ${address}`),
  );
  const open = known.filter((operation) => !chosen.includes(operation));
  return (
    <>
      <TextField
        label={label}
        name={path}
        hint={hint}
        value={text}
        onChange={onText}
        isReadOnly={isReadOnly}
        isLong
        isCode
        autoComplete="off"
        spellCheck="false"
      />
      {open.length > 0 && (
        <SelectField
          label="Add an operation"
          value=""
          options={[
            { value: "", label: "Choose …" },
            ...open.map((operation) => ({ value: operation, label: operation })),
          ]}
          onChange={(operation) => onText([...chosen, operation].filter((line) => line !== "").join("\n"))}
        />
      )}
    </>
  );
}
