import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { getSettings } from "../api/settings.ts";
import { useRole } from "../shell/session.ts";
import { Page, tabClass, tabsClass } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { SettingsForm } from "./settings.form.tsx";
import styles from "./settings.module.css";
import { parts } from "./settings.parts.ts";

/** The settings of an application, in parts that are saved one by one. */
export function SettingsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/settings" });
  const { part: wanted } = useSearch({ from: "/frame/apps/$appid/settings" });
  const isEditor = useRole("editor");
  const queries = useQueryClient();
  const queryKey = ["settings", appid];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => getSettings({ appid }, { signal }),
    // What an operator is typing must not be replaced by what another one saved.
    refetchOnWindowFocus: false,
  });
  const part = parts.find(({ id }) => id === wanted) ?? parts[0];

  return (
    <Page title="Settings">
      <nav className={tabsClass} aria-label="Parts of the settings">
        {parts.map(({ id, title }) => (
          <Link
            key={id}
            to="/apps/$appid/settings"
            params={{ appid }}
            search={{ part: id }}
            className={tabClass}
            aria-current={id === part?.id ? "page" : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      <div className={styles.body}>
        {data === undefined || part === undefined ? (
          error === null ? (
            <LoadingRows />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          )
        ) : (
          <SettingsForm
            key={part.id}
            appid={appid}
            part={part}
            stored={data}
            isEditor={isEditor}
            onStored={(stored) => queries.setQueryData(queryKey, stored)}
          />
        )}
      </div>
    </Page>
  );
}
