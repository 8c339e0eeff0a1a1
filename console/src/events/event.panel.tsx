import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { listWebhookDeliveries, listWebhooks, type OperatedEvent, type Webhook } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import type { FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./events.module.css";

interface EventPanelProps {
  readonly appid: string;
  readonly event: OperatedEvent;
  readonly onFilter: (values: FilterValues) => void;
  readonly onClose: () => void;
}

/** One event: its object in the current state, and the webhooks that received it. */
export function EventPanel({ appid, event, onFilter, onClose }: EventPanelProps) {
  const { id, type, created, objectID, itemID, userID, key, visibility, changed, object, actor, sequence } = event;
  const { isGone, isTooLarge } = event;
  return (
    <Panel title={showInvisible(type)} onClose={onClose}>
      <DetailList
        items={known([
          ["Time", <Time key="created" value={created} isExact />],
          ["About", objectID && <IdChip key="object" id={objectID} />],
          ["Item", itemID && <IdChip key="item" id={itemID} />],
          ["Owner", userID && <IdChip key="user" id={userID} />],
          ["By", actor && (actor.id === undefined ? actor.kind : <IdChip key="actor" id={actor.id} />)],
          ["Key", key === undefined ? undefined : showInvisible(key)],
          ["Visibility", visibility],
          ["Changed", changed === undefined ? undefined : showInvisible(changed.join(", "))],
          ["Event", <IdChip key="event" id={id} />],
          ["Position", sequence.replace(/^0+/, "")],
        ])}
      />
      {object !== undefined && (
        <>
          <h3>As it is now</h3>
          <pre className={styles.object}>{showLines(object)}</pre>
        </>
      )}
      {isGone === true && <p className={styles.note}>It does not exist any more.</p>}
      {isTooLarge === true && <p className={styles.note}>It is larger than an event may hold.</p>}
      <DeliveriesOf appid={appid} eventID={id} />
      <div className={styles.actions}>
        {objectID !== undefined && <Button onPress={() => onFilter({ objectID })}>All about this object</Button>}
        {userID !== undefined && <Button onPress={() => onFilter({ userID })}>All of this owner</Button>}
        <Button onPress={() => onFilter({ type })}>All of this type</Button>
      </div>
    </Panel>
  );
}

/** The members of an event depend on its type. */
function known(items: readonly (readonly [name: string, value: ReactNode])[]) {
  return items.filter(([, value]) => value !== undefined);
}

interface DeliveriesProps {
  readonly appid: string;
  readonly eventID: string;
}

/** Each webhook, with its delivery of the event. */
function DeliveriesOf({ appid, eventID }: DeliveriesProps) {
  const { data } = useQuery({
    queryKey: ["webhooks", appid, "all"],
    queryFn: ({ signal }) => send(listWebhooks(appid, { pageSize: 20 }), { signal }),
    staleTime: 60_000,
  });
  if (data === undefined || data.pageResults.length === 0) return null;
  return (
    <>
      <h3>Webhooks</h3>
      <ul className={styles.deliveries}>
        {data.pageResults.map((webhook) => (
          <DeliveryTo key={webhook.id} appid={appid} eventID={eventID} webhook={webhook} />
        ))}
      </ul>
    </>
  );
}

function DeliveryTo({ appid, eventID, webhook }: DeliveriesProps & { readonly webhook: Webhook }) {
  const { data } = useQuery({
    queryKey: ["webhooks", appid, webhook.id, "of event", eventID],
    queryFn: ({ signal }) => send(listWebhookDeliveries(appid, webhook.id, { eventID, pageSize: 1 }), { signal }),
  });
  const [last] = data?.pageResults ?? [];
  return (
    <li>
      <Link to="/apps/$appid/webhooks/$webhookId" params={{ appid, webhookId: webhook.id }} search={{ eventID }}>
        {showInvisible(webhook.name ?? webhook.url)}
      </Link>
      <span>{data !== undefined && (last === undefined ? "no delivery is kept" : last.state)}</span>
    </li>
  );
}

/** JSON line by line, with visible escapes for invisible characters. */
function showLines(value: unknown): string {
  return (JSON.stringify(value, undefined, 2) ?? "").split("\n").map(showInvisible).join("\n");
}
