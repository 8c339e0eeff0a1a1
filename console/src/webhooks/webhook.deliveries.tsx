import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import {
  type ListWebhookDeliveriesQuery,
  listWebhookDeliveries,
  repeatWebhookDelivery,
  type WebhookDelivery,
} from "../api/admin.ts";
import { refetch, usePages } from "../api/queries.ts";
import { queryOf, send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import Send from "../lib/icons/send.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { dateFilter, rangeSince } from "../ui/date-filter.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { type Filter, FilterChips, type FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Panel, Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { act } from "../ui/toast.tsx";
import { Response } from "./webhook.response.tsx";
import { DeliveryState } from "./webhook.words.tsx";

const columns: readonly Column<WebhookDelivery>[] = [
  { name: "Event", width: "minmax(150px, 2fr)", narrow: "title", render: ({ type }) => showInvisible(type) },
  { name: "State", width: "minmax(180px, 1fr)", narrow: "end", render: ({ state }) => <DeliveryState state={state} /> },
  { name: "Answer", width: "minmax(150px, 1.5fr)", narrow: "line", render: (delivery) => answerOf(delivery) },
  { name: "Took", width: "90px", isNumber: true, render: ({ ms }) => ms !== undefined && `${ms} ms` },
  { name: "Attempts", width: "104px", isNumber: true, render: ({ attempt }) => attempt },
  { name: "Next", width: "120px", render: ({ nextAttempt }) => nextAttempt && <Due at={nextAttempt} /> },
  { name: "Created", width: "120px", render: ({ created }) => <Time value={created} /> },
  { name: "Event’s id", width: "150px", render: ({ eventID }) => <IdChip id={eventID} /> },
];

const filters: readonly Filter[] = [
  {
    name: "state",
    label: "State",
    options: [
      { value: "waiting", label: "Waiting" },
      { value: "delivered", label: "Delivered" },
      { value: "failed", label: "Failed, will be retried" },
      { value: "dead", label: "Dead" },
      { value: "refused", label: "Refused" },
    ],
  },
  { name: "type", label: "Event", placeholder: "checkin.created" },
  { name: "eventID", label: "Event’s id", placeholder: "evt_…" },
  dateFilter("created", "Created"),
];

const savedViews = [{ label: "Dead letters", values: { state: "dead" } }];

interface OfWebhook {
  readonly appid: string;
  readonly webhookId: string;
}

/** The deliveries, and their results. */
export function Deliveries({ appid, webhookId }: OfWebhook) {
  const { panel, tab: _, ...search } = useSearch({ from: "/frame/apps/$appid/webhooks/$webhookId" });
  const navigate = useNavigate({ from: "/apps/$appid/webhooks/$webhookId" });
  const { repeat, repeating } = useRepeat({ appid, webhookId });
  const isEditor = useRole("editor");
  const wire = { ...search, created: rangeSince(search.created) };
  const pages = usePages(["webhooks", appid, webhookId, "deliveries", wire], (page, options) =>
    send(listWebhookDeliveries(appid, webhookId, { ...queryOf<ListWebhookDeliveriesQuery>(wire), ...page }), options),
  );
  const open = pages.rows.find(({ id }) => id === panel);
  const show = (values: FilterValues, replace: boolean) => void navigate({ search: values, replace });
  const actionsOf = (delivery: WebhookDelivery): MenuAction[] => [
    { label: "Send again", icon: Send, run: () => void repeat(delivery) },
  ];
  const chips = { filters, values: search, onChange: (values: FilterValues) => show(values, false) };
  return (
    <>
      <FilterChips {...chips} saved={savedViews} />
      <Split>
        <DataTable
          label="Deliveries"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onPanel={({ id }) => show({ ...search, panel: id }, panel !== undefined)}
          openId={panel}
          actionsOf={isEditor ? actionsOf : undefined}
          empty={
            Object.values(search).some((value) => value !== undefined) ? (
              <NothingFound {...chips} />
            ) : (
              <EmptyState icon={Send} title="Nothing was sent yet">
                Each event that the webhook wants appears here when it is sent.
              </EmptyState>
            )
          }
        />
        {open !== undefined && (
          <DeliveryPanel
            delivery={open}
            onRepeat={isEditor ? repeat : undefined}
            isRepeating={repeating.includes(open.id)}
            onClose={() => show(search, true)}
          />
        )}
      </Split>
    </>
  );
}

interface DeliveryPanelProps {
  readonly delivery: WebhookDelivery;
  readonly onRepeat: ((delivery: WebhookDelivery) => Promise<void>) | undefined;
  readonly isRepeating: boolean;
  readonly onClose: () => void;
}

function DeliveryPanel({ delivery, onRepeat, isRepeating, onClose }: DeliveryPanelProps) {
  const { id, type, state, attempt, ms, response, created, nextAttempt, eventID } = delivery;
  return (
    <Panel title={showInvisible(type)} onClose={onClose}>
      <DetailList
        items={[
          ["State", <DeliveryState key="state" state={state} />],
          ["Answer", answerOf(delivery)],
          ["Took", ms === undefined ? undefined : `${ms} ms`],
          ["Attempts", attempt],
          ["Created", <Time key="created" value={created} isExact />],
          ["Next attempt", nextAttempt && <Time key="next" value={nextAttempt} isExact />],
          ["Event", <IdChip key="event" id={eventID} />],
          ["Delivery", <IdChip key="delivery" id={id} />],
        ]}
      />
      <Response text={response} />
      {onRepeat !== undefined && (
        <div>
          <Button isPending={isRepeating} onPress={() => void onRepeat(delivery)}>
            <Send size={16} aria-hidden /> Send again
          </Button>
        </div>
      )}
    </Panel>
  );
}

/** Sends a delivery again, but not while it is being asked for already: each call sends it once more. */
function useRepeat({ appid, webhookId }: OfWebhook) {
  const queries = useQueryClient();
  const [repeating, setRepeating] = useState<readonly string[]>([]);

  async function repeat({ id, type }: WebhookDelivery): Promise<void> {
    if (repeating.includes(id)) return;
    setRepeating((now) => [...now, id]);
    await act(`Sending ${showInvisible(type)} again.`, async () => {
      await send(repeatWebhookDelivery(appid, webhookId, id));
      await refetch(queries, ["webhooks", appid, webhookId]);
    });
    setRepeating((now) => now.filter((each) => each !== id));
  }

  return { repeat, repeating };
}

/** An attempt whose time has come is on its way. */
function Due({ at }: { readonly at: Date }) {
  return at.getTime() <= Date.now() ? "due" : <Time value={at} />;
}

/** The status of the answer, or the reason why there was none. */
function answerOf({ status, error }: WebhookDelivery): string | undefined {
  if (status !== undefined) return String(status);
  return error === undefined ? undefined : `none: ${showInvisible(error)}`;
}
