import { showInvisible } from "../lib/format.ts";
import SearchX from "../lib/icons/search-x.ts";
import { Button } from "./button.tsx";
import { type FilterChipsProps, type FilterValues, labelOf } from "./filter-chips.tsx";
import { EmptyState } from "./states.tsx";

/** For a list that has rows, but none by its filters: offers to take away each of them. */
export function NothingFound({ filters, values, onChange, search }: FilterChipsProps) {
  const named = search === undefined ? filters : [{ name: search.name, label: "" }, ...filters];
  const set = named.filter(({ name }) => values[name] !== undefined);
  const without = (gone: readonly { readonly name: string }[]): FilterValues => ({
    ...values,
    ...Object.fromEntries(gone.map(({ name }) => [name, undefined])),
  });
  return (
    <EmptyState
      icon={SearchX}
      title={set.length === 1 ? "Nothing matches this filter" : "Nothing matches these filters together"}
      action={
        <>
          {set.map((filter) => (
            <Button key={filter.name} onPress={() => onChange(without([filter]))}>
              {`Without ${filter.label === "" ? "the text" : filter.label}: ${showInvisible(labelOf(filter, values[filter.name] ?? ""))}`}
            </Button>
          ))}
          {set.length > 1 && <Button onPress={() => onChange(without(set))}>Remove all filters</Button>}
        </>
      }
    />
  );
}
