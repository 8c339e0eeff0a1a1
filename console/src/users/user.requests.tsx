import { useNavigate, useSearch } from "@tanstack/react-router";
import { CallHistory } from "../shell/call.history.tsx";
import type { OfUser } from "./user.counts.tsx";

export function UserRequests({ appid, userId }: OfUser) {
  const { panel } = useSearch({ from: "/frame/apps/$appid/users/$userId" });
  const navigate = useNavigate({ from: "/apps/$appid/users/$userId" });
  const show = (id: string | undefined) =>
    void navigate({ search: { tab: "requests", panel: id }, replace: panel !== undefined });
  return <CallHistory appid={appid} of="user" id={userId} panel={panel} onPanel={show} />;
}
