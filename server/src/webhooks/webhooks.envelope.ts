import type { PlacedEvent } from "../event-log/log-rows.store.ts";

/** An event as an operator's system sees it. */
interface PresentedEvent {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly objectID?: string;
  readonly sequence: string;
  /** Serialized JSON. */
  readonly object?: string;
}

/** Presents an event with its current object; undefined for a row that is not an event. */
export type PresentEvent = (event: PlacedEvent) => Promise<PresentedEvent | undefined>;

/**
 * Writes the body of an event, for readers of CloudEvents 1.0 and of Standard Webhooks (spec/webhooks#envelope).
 *
 * @param presented the event as webhooks currently see it
 */
export function writeEnvelope(
  event: Pick<PlacedEvent, "application_id" | "at">,
  presented: PresentedEvent,
  serverUrl: string,
): string {
  const { id, type, created: _, objectID, sequence, object, ...rest } = presented;
  const time = new Date(event.at).toISOString();
  const envelope = {
    specversion: "1.0",
    id,
    source: `${serverUrl}/applications/${event.application_id}`,
    type,
    ...(objectID !== undefined && { subject: objectID }),
    time,
    timestamp: time,
    datacontenttype: "application/json",
    sequence,
  };
  const data = JSON.stringify({ ...(objectID !== undefined && { objectID }), ...rest });
  const withObject = object === undefined ? data : `${data.slice(0, -1)}${data === "{}" ? "" : ","}"object":${object}}`;
  return `${JSON.stringify(envelope).slice(0, -1)},"data":${withObject}}`;
}
