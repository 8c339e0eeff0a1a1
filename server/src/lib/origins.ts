/** Whether the text is the origin of a web page as browsers write it, such as `https://app.example.com`. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
