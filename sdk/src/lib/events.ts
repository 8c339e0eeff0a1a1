/** Listeners of an app by type of event. */
export interface Events<E extends { readonly type: string }> {
  /** Returns a function that removes the listener. */
  on<T extends E["type"]>(type: T, listener: (event: E & { readonly type: T }) => void): () => void;
  /** Calls the listeners in a separate microtask. Their errors are reported, not thrown to the caller. */
  emit(event: E): void;
}

export function createEvents<E extends { readonly type: string }>(): Events<E> {
  const listeners = new Set<{ readonly type: string; call(event: E): void }>();
  return {
    on(type, listener) {
      const entry = { type, call: listener as (event: E) => void };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    emit(event) {
      queueMicrotask(() => {
        for (const listener of [...listeners]) {
          if (listener.type === event.type) observe(() => listener.call(event));
        }
      });
    },
  };
}

/** Reports the error of a listener like the runtime does for uncaught errors. */
export function reportThrown(error: unknown): void {
  if (typeof reportError === "function") reportError(error);
  else console.error(error);
}

/** Runs an observer of the app. Its error is reported, not thrown to the caller. */
export function observe(listen: () => void): void {
  try {
    listen();
  } catch (error) {
    reportThrown(error);
  }
}
