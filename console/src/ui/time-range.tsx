import { type FormEvent, useRef, useState } from "react";
import { Dialog, DialogTrigger } from "react-aria-components/Dialog";
import { Popover } from "react-aria-components/Popover";
import CalendarClock from "../lib/icons/calendar-clock.ts";
import { dateLocale } from "../lib/locales.ts";
import { usePreferences } from "../lib/preferences.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import {
  fixedRangeOf,
  fixedSearch,
  namedRanges,
  type RangeName,
  type RangeSearch,
  type TimeRange,
} from "../lib/time-range.ts";
import { Button } from "./button.tsx";
import { TextField } from "./fields.tsx";
import styles from "./time-range.module.css";

interface TimeRangePickerProps {
  /** The range of the address. */
  readonly search: RangeSearch;
  readonly fallback: RangeName;
  /** The displayed range, see `resolveRange`. */
  readonly range: Pick<TimeRange, "from" | "to">;
  /** Writes the range to the address; the other two parameters of `RangeSearch` are removed. */
  readonly onChange: (search: RangeSearch) => void;
}

/** Chooses the time range of a page; `t` opens it. */
export function TimeRangePicker({ search, fallback, range, onChange }: TimeRangePickerProps) {
  const [isOpen, setOpen] = useState(false);
  const name = useRef<HTMLSpanElement>(null);
  useShortcuts([{ keys: "t", label: "Choose the time range", run: open }]);
  const isFixed = fixedRangeOf(search) !== undefined;
  const current = namedRanges.find(({ name }) => name === (search.range ?? fallback));
  const label = isFixed || current === undefined ? <RangeText {...range} /> : current.label;

  /** On a page that is scrolled, the ranges would open out of sight, where the button is. */
  function open() {
    name.current?.parentElement?.scrollIntoView({ block: "nearest" });
    setOpen(true);
  }

  function choose(next: RangeSearch) {
    setOpen(false);
    onChange(next);
  }

  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button>
        <CalendarClock size={16} aria-hidden />
        <span ref={name} className={styles.unseen}>
          Time range:{" "}
        </span>
        {label}
      </Button>
      <Popover className={styles.popover} placement="bottom end" offset={4}>
        <Dialog className={styles.dialog} aria-label="Time range">
          <div className={styles.named}>
            {namedRanges.map(({ name, label }) => (
              <Button
                key={name}
                kind="quiet"
                size="small"
                aria-pressed={!isFixed && name === current?.name}
                onPress={() => choose({ range: name === fallback ? undefined : name })}
              >
                {label}
              </Button>
            ))}
          </div>
          <FixedRange range={range} onChoose={choose} />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

interface FixedRangeProps {
  readonly range: Pick<TimeRange, "from" | "to">;
  readonly onChoose: (search: RangeSearch) => void;
}

/** Starts with the displayed range; later updates of a moving range do not overwrite the input. */
function FixedRange({ range, onChoose }: FixedRangeProps) {
  const { timeZone } = usePreferences();
  const isUtc = timeZone === "utc";
  const [from, setFrom] = useState(() => toInput(range.from, isUtc));
  const [to, setTo] = useState(() => toInput(range.to, isUtc));
  const [start, end] = [fromInput(from, isUtc), fromInput(to, isUtc)];
  const isValid = start < end;

  function submit(event: FormEvent) {
    event.preventDefault();
    if (isValid) onChoose(fixedSearch(start, end));
  }

  return (
    <form className={styles.fixed} onSubmit={submit}>
      <TextField label={isUtc ? "From (UTC)" : "From"} type="datetime-local" value={from} onChange={setFrom} />
      <TextField label={isUtc ? "To (UTC)" : "To"} type="datetime-local" value={to} onChange={setTo} />
      <Button type="submit" kind="primary" isDisabled={!isValid}>
        Show this range
      </Button>
    </form>
  );
}

/** The first and the last moment of a range, without their common parts. */
function RangeText({ from, to }: Pick<TimeRange, "from" | "to">) {
  const { timeZone } = usePreferences();
  const format = new Intl.DateTimeFormat(dateLocale, {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    ...(timeZone === "utc" && { timeZone: "UTC" }),
  });
  return format.formatRange(from, to);
}

function toInput(time: number, isUtc: boolean): string {
  const shifted = isUtc ? time : time - new Date(time).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 16);
}

/** NaN for a field that is not complete. */
function fromInput(text: string, isUtc: boolean): number {
  return Date.parse(isUtc ? `${text}Z` : text);
}
