import { Link } from "@tanstack/react-router";
import { Tabs, tabClass } from "../ui/page.tsx";

interface TabLinksProps {
  readonly label: string;
  readonly from: "/apps/$appid/users/$userId" | "/apps/$appid/devices/$deviceId" | "/apps/$appid/webhooks/$webhookId";
  /** In order; the address of the first tab names none. */
  readonly labels: Readonly<Record<string, string>>;
  readonly current: string;
}

/** The tabs of a page about one object; the tab is a parameter of its address. */
export function TabLinks({ label, from, labels, current }: TabLinksProps) {
  return (
    <Tabs label={label}>
      {Object.entries(labels).map(([tab, text], index) => (
        <Link
          key={tab}
          from={from}
          search={{ tab: index === 0 ? undefined : tab }}
          replace
          className={tabClass}
          activeOptions={{ exact: true }}
          aria-current={tab === current ? "page" : undefined}
        >
          {text}
        </Link>
      ))}
    </Tabs>
  );
}
