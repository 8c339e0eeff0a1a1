import Smartphone from "lucide-react/icons/smartphone";
import { EmptyState } from "../ui/states.tsx";

/** An application that no device has called yet. */
export function OverviewStart({ appid }: { readonly appid: string }) {
  return (
    <EmptyState icon={Smartphone} title="No device has registered yet">
      An app registers its device by POST /devices with appid {appid} and the key of the application. Then its calls are
      counted here.
    </EmptyState>
  );
}
