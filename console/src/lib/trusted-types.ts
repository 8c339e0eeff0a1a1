interface TrustedTypePolicies {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): unknown;
}

/** Allows libraries to set HTML without markup, but no script and no script URL. */
export function installTrustedTypes(): void {
  const { trustedTypes } = window as Window & { trustedTypes?: TrustedTypePolicies };
  trustedTypes?.createPolicy("default", {
    createHTML(text) {
      if (text.includes("<")) throw new TypeError("The console sets no markup.");
      return text;
    },
  });
}
