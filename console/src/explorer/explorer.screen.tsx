import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { openapiQuery } from "../api/openapi.ts";
import FlaskConical from "../lib/icons/flask-conical.ts";
import { Page } from "../ui/page.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../ui/states.tsx";
import { OperationList } from "./explorer.list.tsx";
import styles from "./explorer.module.css";
import { readOperations } from "./explorer.operations.ts";
import { OperationWork } from "./explorer.work.tsx";

/** Every operation of apps, which can be tried as a test device or a test user. */
export function ExplorerScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/explorer" });
  const { operation: id, path, body } = useSearch({ from: "/frame/apps/$appid/explorer" });
  const { data, error, refetch } = useQuery(openapiQuery);
  const operations = useMemo(() => (data === undefined ? [] : readOperations(data)), [data]);
  const open = operations.find((operation) => operation.id === id);
  return (
    <Page title="Explorer" isScrolling={false}>
      {data === undefined && error === null && <LoadingRows />}
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <div className={styles.explorer} data-open={open !== undefined || undefined}>
          <OperationList operations={operations} openId={open?.id} />
          {open === undefined ? (
            <div className={styles.nothing}>
              <EmptyState icon={FlaskConical} title="Choose an operation">
                Calls are sent to this server as a test device or a test user, which are erased after a day and count in
                no statistics, or with a token of yours.
              </EmptyState>
            </div>
          ) : (
            <OperationWork
              key={`${open.id} ${path} ${body}`}
              appid={appid}
              operation={open}
              path={path}
              body={body}
              catalogue={data["x-error-catalogue"]}
            />
          )}
        </div>
      )}
    </Page>
  );
}
