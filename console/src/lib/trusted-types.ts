interface TrustedTypePolicies {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): unknown;
}

/** Lets libraries set a text without markup as HTML, and nothing else: no script and no script's address. */
export function installTrustedTypes(): void {
  const { trustedTypes } = window as Window & { trustedTypes?: TrustedTypePolicies };
  trustedTypes?.createPolicy("default", {
    createHTML(text) {
      if (text.includes("<")) throw new TypeError("The console sets no markup.");
      return text;
    },
  });
}
