import { useState } from "react";
import { TextField } from "../ui/fields.tsx";
import type { SettingInputProps } from "./settings.input.ts";
import styles from "./settings.module.css";

interface Unit {
  readonly name: string;
  readonly size: number;
}

/** The units of each kind of amount, the smallest first. A new amount is in the one that is `usual`. */
const unitsOf = {
  ms: {
    units: [
      { name: "milliseconds", size: 1 },
      { name: "seconds", size: 1000 },
      { name: "minutes", size: 60_000 },
      { name: "hours", size: 3_600_000 },
      { name: "days", size: 86_400_000 },
    ],
    usual: "days",
  },
  bytes: {
    units: [
      { name: "bytes", size: 1 },
      { name: "MB", size: 1e6 },
      { name: "GB", size: 1e9 },
      { name: "TB", size: 1e12 },
    ],
    usual: "GB",
  },
} as const satisfies Record<string, { readonly units: readonly Unit[]; readonly usual: string }>;

export type AmountKind = keyof typeof unitsOf;

/** `text` is the amount in the smallest unit, or the input if it is not a number. */
interface AmountProps extends SettingInputProps {
  readonly kind: AmountKind;
}

/** A duration or a size in the unit in which people say it. */
export function Amount({ kind, path, label, hint, text, isReadOnly, onText }: AmountProps) {
  const { units, usual } = unitsOf[kind];
  const [typed, setTyped] = useState(() => split(text, units, usual));
  const shown = join(typed, units) === text ? typed : split(text, units, typed.unit);

  function change(next: Typed) {
    setTyped(next);
    onText(join(next, units));
  }

  return (
    <TextField
      label={label}
      name={path}
      hint={hint}
      value={shown.number}
      onChange={(number) => change({ ...shown, number })}
      isReadOnly={isReadOnly}
      inputMode="decimal"
      autoComplete="off"
      suffix={
        <select
          className={styles.unit}
          aria-label={`${label}, unit`}
          value={shown.unit}
          disabled={isReadOnly}
          onChange={(event) => change({ ...shown, unit: event.target.value })}
        >
          {units.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      }
    />
  );
}

interface Typed {
  readonly number: string;
  readonly unit: string;
}

/** The amount in the largest unit that makes it an integer. */
function split(text: string, units: readonly Unit[], usual: string): Typed {
  const amount = Number(text);
  if (!/^\d+$/.test(text) || amount === 0) return { number: text, unit: usual };
  const fitting = units.findLast(({ size }) => amount % size === 0) ?? units[0];
  return fitting === undefined
    ? { number: text, unit: usual }
    : { number: String(amount / fitting.size), unit: fitting.name };
}

function join({ number, unit }: Typed, units: readonly Unit[]): string {
  const given = number.trim();
  if (!/^\d+(\.\d+)?$/.test(given)) return given;
  const size = units.find(({ name }) => name === unit)?.size ?? 1;
  return String(Math.round(Number(given) * size));
}
