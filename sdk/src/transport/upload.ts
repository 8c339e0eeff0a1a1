import { whenAborted } from "../lib/wait.ts";

/** Sends a request by XMLHttpRequest, which reports the progress of an upload in browsers. */
export function sendByXhr(
  url: string,
  {
    method,
    headers,
    body,
    signal,
  }: { method: string; headers: Readonly<Record<string, string>>; body: Blob; signal: AbortSignal },
  onProgress: (done: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onerror = request.onabort = () => reject(new TypeError("the upload has failed"));
    request.onload = () => {
      const answered = new Headers();
      for (const [, name = "", value = ""] of request.getAllResponseHeaders().matchAll(/^(.+?): ?(.*)$/gm))
        answered.append(name, value);
      resolve(new Response(request.responseText, { status: request.status, headers: answered }));
    };
    request.onloadend = whenAborted(signal, () => request.abort());
    request.send(body);
  });
}

/** Reports the bytes that have been read of a body. */
export function countBytes(
  body: Blob | ReadableStream<Uint8Array>,
  onProgress: (done: number) => void,
): ReadableStream {
  let done = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      done += chunk.byteLength;
      onProgress(done);
      controller.enqueue(chunk);
    },
  });
  return (body instanceof Blob ? body.stream() : body).pipeThrough(count);
}
