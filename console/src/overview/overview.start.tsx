import { Link } from "@tanstack/react-router";
import Smartphone from "../lib/icons/smartphone.ts";
import { buttonClass } from "../ui/button.tsx";
import { EmptyState } from "../ui/states.tsx";

/** An application that no device has called yet. */
export function OverviewStart({ appid }: { readonly appid: string }) {
  return (
    <EmptyState
      icon={Smartphone}
      title="No device has registered yet"
      action={
        <Link to="/apps/$appid/start" params={{ appid }} className={buttonClass("primary", "regular")}>
          Start
        </Link>
      }
    >
      Three snippets register a device, sign up a user and check in. From then on, calls are counted here.
    </EmptyState>
  );
}
