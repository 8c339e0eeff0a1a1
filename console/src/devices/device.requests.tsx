import { useNavigate, useSearch } from "@tanstack/react-router";
import { CallHistory } from "../shell/call.history.tsx";
import type { OfDevice } from "./device.facts.tsx";

export function DeviceRequests({ appid, deviceId }: OfDevice) {
  const { panel } = useSearch({ from: "/frame/apps/$appid/devices/$deviceId" });
  const navigate = useNavigate({ from: "/apps/$appid/devices/$deviceId" });
  const show = (id: string | undefined) =>
    void navigate({ search: { tab: "requests", panel: id }, replace: panel !== undefined });
  return <CallHistory appid={appid} of="device" id={deviceId} panel={panel} onPanel={show} />;
}
