import { useEffect, useState } from "react";
import Check from "../lib/icons/check.ts";
import Copy from "../lib/icons/copy.ts";
import { IconButton } from "./button.tsx";

const copiedMs = 2000;

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = window.setTimeout(() => setCopied(false), copiedMs);
    return () => window.clearTimeout(timer);
  }, [isCopied]);
  return (
    <IconButton
      label={isCopied ? "Copied" : label}
      size="small"
      onPress={() => void copyText(text).then(() => setCopied(true))}
    >
      {isCopied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
    </IconButton>
  );
}

/** Copies a string, even without TLS, where `navigator.clipboard` is missing. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("[role=dialog], [role=alertdialog]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
