import { useNavigate, useSearch } from "@tanstack/react-router";
import { showInvisible } from "../lib/format.ts";
import { Checkbox, SelectField } from "../ui/fields.tsx";
import type { Measure, valueNames } from "./metric.measures.ts";
import { fittingIntervals, type MetricRange } from "./metric.range.ts";
import styles from "./metrics.module.css";

interface MetricViewProps {
  readonly names: ReturnType<typeof valueNames>;
  readonly measures: readonly Measure[];
  readonly measure: Measure;
  readonly range: MetricRange;
}

/** Selects the figures of the chart; each choice is part of the address. */
export function MetricView({ names, measures, measure, range }: MetricViewProps) {
  const { value, groupBy, compare } = useSearch({ from: "/frame/apps/$appid/metrics/$key" });
  const navigate = useNavigate({ from: "/apps/$appid/metrics/$key" });

  function change(changed: Readonly<Record<string, string | undefined>>) {
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  }

  return (
    <div className={styles.view} role="group" aria-label="What is shown">
      <SelectField
        label="Show"
        value={value ?? ""}
        options={[{ value: "", label: "Events" }, ...optionsOf(names.numbers, value)]}
        onChange={(next) => change({ value: next || undefined, measure: undefined })}
      />
      <SelectField
        label="As"
        value={measure.name}
        options={measures.map(({ name, label }) => ({ value: name, label }))}
        onChange={(next) => change({ measure: next === measures[0]?.name ? undefined : next })}
      />
      {(names.groupable.length > 0 || groupBy !== undefined) && (
        <SelectField
          label="Grouped by"
          value={groupBy ?? ""}
          options={[{ value: "", label: "Nothing" }, ...optionsOf(names.groupable, groupBy)]}
          onChange={(next) => change({ groupBy: next || undefined, measure: undefined })}
        />
      )}
      <SelectField
        label="Intervals"
        value={range.interval}
        options={fittingIntervals(range.to - range.from).map(({ name, label }) => ({ value: name, label }))}
        onChange={(next) => change({ interval: next })}
      />
      <Checkbox
        isSelected={compare === "before"}
        onChange={(isSelected) => change({ compare: isSelected ? "before" : undefined })}
      >
        With the period before
      </Checkbox>
    </div>
  );
}

/** @param chosen stays an option in a range that does not have it */
function optionsOf(names: readonly string[], chosen: string | undefined) {
  return [...new Set([...names, ...(chosen === undefined ? [] : [chosen])])].map((name) => ({
    value: name,
    label: showInvisible(name),
  }));
}
