// One question at a time over HTTP, for measures that look at answers byte by byte.

/** The text of an answer. One that took so long that it became an event stream is its last event. */
export async function answerTo(url, headers, body) {
  const given = { 'Content-Type': 'application/json', ...headers };
  const response = await fetch(url, { method: 'POST', headers: given, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
  if (response.headers.get('content-type') === 'application/json') return text;
  return text.slice(text.lastIndexOf('\ndata: ') + 7).trimEnd();
}
